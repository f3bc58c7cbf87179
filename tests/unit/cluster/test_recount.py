"""The recount sees what is missing, what is too many, and what says something untrue."""

from typing import Any

from tests.cluster.operator.recount import Recount
from tests.cluster.operator.wishes import Clique, Wish

JSON = dict[str, Any]


def owned(kind: str, uid: str) -> list[JSON]:
    return [{"kind": kind, "uid": uid, "controller": True}]


def world() -> dict[str, list[JSON]]:
    """A set of one pod, as it should be."""
    marks = {"app.kubernetes.io/managed-by": "grove-operator", "app.kubernetes.io/part-of": "s"}
    place = {"grove.io/podcliqueset": "s", "grove.io/podcliqueset-replica-index": "0"}
    clique = marks | place | {"app.kubernetes.io/name": "s-0-w", "app.kubernetes.io/component": "pcs-podclique"}
    clique |= {
        "grove.io/clique": "w",
        "grove.io/role": "w",
        "grove.io/podgang": "s-0",
        "grove.io/pod-template-hash": "h",
    }
    yes = [{"type": type, "status": "True"} for type in ("Initialized", "Scheduled", "Ready", "Available")]
    no = [{"type": type, "status": "False"} for type in ("UpdateInProgress", "Degraded", "MinAvailableBreached")]
    counts = dict.fromkeys(("replicas", "readyReplicas", "scheduledReplicas", "updatedReplicas"), 1)
    containers = [{"name": "main", "image": "main:v1"}]
    return {
        "podcliquesets": [
            {
                "metadata": {"name": "s", "uid": "1", "generation": 1},
                "status": {
                    **dict.fromkeys(("replicas", "availableReplicas", "updatedReplicas"), 1),
                    "observedGeneration": 1,
                    "phase": "Available",
                    "podGangStatuses": [{"name": "s-0", "phase": "Running"}],
                    "conditions": yes + no,
                },
            }
        ],
        "podcliquescalinggroups": [],
        "podcliques": [
            {
                "metadata": {
                    "name": "s-0-w",
                    "uid": "2",
                    "generation": 1,
                    "labels": clique,
                    "ownerReferences": owned("PodCliqueSet", "1"),
                    "finalizers": ["grove.io/podclique.grove.io"],
                },
                "spec": {"roleName": "w", "replicas": 1, "minAvailable": 1, "podSpec": {"containers": containers}},
                "status": {
                    **counts,
                    "observedGeneration": 1,
                    "scheduleGatedReplicas": 0,
                    "phase": "Running",
                    "currentPodTemplateHash": "h",
                    "conditions": [{"type": "PodCliqueScheduled", "status": "True"}, *no],
                },
            }
        ],
        "podgangs": [
            {
                "metadata": {
                    "name": "s-0",
                    "labels": marks | place | {"app.kubernetes.io/component": "podgang"},
                    "ownerReferences": owned("PodCliqueSet", "1"),
                },
                "spec": {"podgroups": [{"name": "s-0-w", "minReplicas": 1, "podReferences": [{"name": "s-0-w-x"}]}]},
                "status": {"phase": "Running", "conditions": yes},
            }
        ],
        "pods": [
            {
                "metadata": {
                    "name": "s-0-w-x",
                    "uid": "3",
                    "labels": clique | {"grove.io/podclique": "s-0-w", "grove.io/podclique-pod-index": "0"},
                    "ownerReferences": owned("PodClique", "2"),
                },
                "spec": {"nodeName": "n", "hostname": "s-0-w-0", "subdomain": "s-0", "containers": containers},
                "status": {"phase": "Running", "conditions": yes},
            }
        ],
        "services": [{"metadata": {"name": "s-0", "labels": marks, "ownerReferences": owned("PodCliqueSet", "1")}}],
        "roles": [],
        "rolebindings": [],
        "horizontalpodautoscalers": [],
    }


def found(objects: dict[str, list[JSON]]) -> list[str]:
    return Recount([Wish("s", [Clique("w", 1, 1)])], objects.__getitem__).first()


def test_what_is_as_it_should_be_is_not_complained_about() -> None:
    assert found(world()) == []


def test_what_is_missing_and_what_is_too_many_are_named() -> None:
    objects = world()
    objects["services"][0]["metadata"]["name"] = "s-1"
    assert found(objects) == ["services/s-0 is missing", "services/s-1 is too many"]
    objects = world()
    objects["pods"] = []
    assert found(objects) == ["s-0-w has 0 pods, not 1"]


def test_an_untrue_status_is_seen() -> None:
    objects = world()
    objects["podcliques"][0]["status"]["readyReplicas"] = 2
    assert found(objects) == ["status of PodClique s-0-w: readyReplicas is 2, not 1"]


def test_a_pod_in_no_gang_is_seen() -> None:
    objects = world()
    objects["podgangs"][0]["spec"]["podgroups"][0]["podReferences"] = []
    [problem] = found(objects)
    assert problem.startswith("gang s-0 consists of ")


def test_a_wrong_label_and_a_wrong_owner_are_seen() -> None:
    objects = world()
    del objects["pods"][0]["metadata"]["labels"]["grove.io/podgang"]
    objects["pods"][0]["metadata"]["ownerReferences"] = owned("PodClique", "9")
    assert found(objects) == [
        "pod s-0-w-x has the label grove.io/podgang=None, not s-0",
        "pod s-0-w-x is owned by [('PodClique', '9', True)], not by PodClique 2",
    ]


def test_an_older_pod_is_seen_unless_it_may_be_one() -> None:
    objects = world()
    objects["pods"][0]["metadata"]["labels"]["grove.io/pod-template-hash"] = "older"
    assert found(objects) == ["pod s-0-w-x is of an older template"]
    spared = Recount([Wish("s", [Clique("w", 1, 1)])], objects.__getitem__, frozenset({"3"})).first()
    assert spared == ["status of PodClique s-0-w: updatedReplicas is 1, not 0"]
