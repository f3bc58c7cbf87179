"""Start order: the containers of a clique start when its parents are ready, by Grove's real waiter."""

from typing import Any

from tests.cluster.operator.manifests import clique, group, workload
from tests.cluster.operator.workloads import Workloads, condition, label

JSON = dict[str, Any]

SLOW = {"simulate.grove.io/ready-delay": "2s"}


def started(pod: JSON) -> str:
    """When the main container started."""
    [status] = pod["status"]["containerStatuses"]
    at: str = status["state"]["running"]["startedAt"]
    return at


def ready_since(pod: JSON) -> str:
    at: str = next(one["lastTransitionTime"] for one in pod["status"]["conditions"] if one["type"] == "Ready")
    return at


def by_clique(pods: list[JSON]) -> dict[str, list[JSON]]:
    found: dict[str, list[JSON]] = {}
    for pod in pods:
        found.setdefault(label(pod, "grove.io/clique"), []).append(pod)
    return found


def test_in_order_each_clique_waits_for_the_one_before(workloads: Workloads) -> None:
    cliques = [clique("first", 2), clique("second", 2), clique("third", 1)]
    for one in cliques:
        one["annotations"] = SLOW
    workloads.apply(workload("ordered", cliques, template={"cliqueStartupType": "CliqueStartupTypeInOrder"}))
    pods = by_clique(workloads.ready("ordered", {"ordered-0-first": 2, "ordered-0-second": 2, "ordered-0-third": 1}))
    for parent, child in (("first", "second"), ("second", "third")):
        last = max(map(ready_since, pods[parent]))
        assert all(started(pod) >= last for pod in pods[child])
    assert not any("initContainers" in pod["spec"] for pod in pods["first"])
    assert [one["name"] for pod in pods["third"] for one in pod["spec"]["initContainers"]] == ["grove-initc"]


def test_explicit_order_reaches_across_scaling_groups(workloads: Workloads) -> None:
    cliques = [clique("store", 1), clique("leader", 1, after=("store",)), clique("worker", 2, after=("leader",))]
    for one in cliques:
        one["annotations"] = SLOW
    template = {"cliqueStartupType": "CliqueStartupTypeExplicit"}
    workloads.apply(workload("explicit", cliques, groups=[group("model", ["leader", "worker"], 2)], template=template))
    pods = workloads.ready(
        "explicit",
        {"explicit-0-store": 1}
        | {f"explicit-0-model-{copy}-leader": 1 for copy in (0, 1)}
        | {f"explicit-0-model-{copy}-worker": 2 for copy in (0, 1)},
    )
    at = {label(pod, "grove.io/podclique"): pod for pod in pods}
    assert started(at["explicit-0-model-0-leader"]) >= ready_since(at["explicit-0-store"])
    for copy in (0, 1):
        leader, worker = at[f"explicit-0-model-{copy}-leader"], at[f"explicit-0-model-{copy}-worker"]
        assert started(worker) >= ready_since(leader)


def test_parents_need_only_their_minimum(workloads: Workloads) -> None:
    cliques = [clique("parent", 3, least=1), clique("child", 1, after=("parent",))]
    # Of the three, only the one with the lowest index is ever ready: its name is not known before it is there.
    cliques[0]["annotations"] = {"simulate.grove.io/ready-delay": "1s"}
    workloads.apply(workload("least", cliques, template={"cliqueStartupType": "CliqueStartupTypeExplicit"}))
    [child] = [
        pod
        for pod in workloads.ready("least", {"least-0-parent": 3, "least-0-child": 1})
        if "child" in label(pod, "grove.io/clique")
    ]
    [waiter] = child["spec"]["initContainers"]
    assert "--podcliques=least-0-parent:1" in waiter["args"]
    assert condition(child, "Ready") == "True"


def test_waiters_run_where_pods_must_be_restricted(workloads: Workloads) -> None:
    """A namespace that enforces the restricted standard takes them in, with pods that fit it themselves."""
    restricted = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    pod: JSON = {"securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}}
    cliques = [clique("first", 1, **pod), clique("second", 1, **pod)]
    for one in cliques:
        one["spec"]["podSpec"]["containers"][0]["securityContext"] = restricted
    status, answer = workloads.cluster.request(
        "PATCH",
        f"/api/v1/namespaces/{workloads.namespace}",
        {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}},
        content_type="application/merge-patch+json",
    )
    assert status == 200, answer
    workloads.apply(workload("tight", cliques, template={"cliqueStartupType": "CliqueStartupTypeInOrder"}))
    workloads.ready("tight", {"tight-0-first": 1, "tight-0-second": 1})
