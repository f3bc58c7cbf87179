"""Pods as they are sent to the API server."""

from typing import Any

from grove.api import labels
from grove.api.fields import JSON
from grove.api.kinds.podcliqueset import PodCliqueSet
from grove.operator.backends.backend import Backend
from grove.operator.backends.grove import GroveScheduler
from grove.operator.backends.kubernetes import PlainScheduler
from grove.operator.podclique import podbuild, waiter
from grove.operator.podclique.plan import NewPod
from grove.operator.podclique.replacement import REPLACEMENTS
from grove.operator.podclique.settings import PodSettings
from grove.operator.tree import CliquePlace, Tree
from grove.operator.views import PodCliqueView
from tests.unit.operator.builders import clique, pcs, template_clique

SETTINGS = PodSettings(waiter_image="grove-initc:1", waiter_resources={"limits": {"cpu": "1"}})
GROVE, PLAIN = GroveScheduler("grove-scheduler"), PlainScheduler("default-scheduler")
PLACE = CliquePlace(0, "worker")
FOURTH = NewPod(name="demo-0-worker-abcde", index=3)


def built(
    held: PodCliqueView | None = None,
    found: PodCliqueSet | None = None,
    *,
    new: NewPod = FOURTH,
    backend: Backend = GROVE,
    settings: PodSettings = SETTINGS,
) -> JSON:
    tree = Tree(found or pcs(), {})
    common = podbuild.blueprint(tree, PLACE, held or clique(), backend=backend, settings=settings)
    return podbuild.pod(common, new)


def behind(*, startup: str = "CliqueStartupTypeInOrder", **router: Any) -> PodCliqueSet:
    """A set in which workers wait for routers."""
    cliques = (template_clique("router", **router), template_clique("worker"))
    return pcs("demo", *cliques, template={"cliqueStartupType": startup})


def test_a_pod_belongs_to_its_podclique_and_says_where_it_stands() -> None:
    pod = built()
    metadata = pod["metadata"]
    assert (metadata["name"], metadata["generateName"], metadata["namespace"]) == (
        "demo-0-worker-abcde",
        "demo-0-worker-",
        "ns",
    )
    assert metadata["labels"] == {
        **(clique().metadata.labels or {}),
        labels.POD_CLIQUE: "demo-0-worker",
        labels.POD_CLIQUE_POD_INDEX: "3",
    }
    owner = metadata["ownerReferences"][0]
    assert (owner["kind"], owner["uid"], owner["controller"]) == ("PodClique", "uid-demo-0-worker", True)
    assert (pod["spec"]["hostname"], pod["spec"]["subdomain"]) == ("demo-0-worker-3", "demo-0")


def test_annotations_of_the_template_are_passed_on_and_others_not() -> None:
    notes = {
        "mine": "yes",
        "grove.io/template-replicas": "2",
        "grove.io/template-keys": "{}",
        "kubectl.kubernetes.io/last-applied-configuration": "{}",
    }
    held = clique(metadata={"annotations": notes})
    assert built(held)["metadata"]["annotations"] == {"mine": "yes"}
    again = NewPod(name="x", index=0, replacements=2)
    assert built(held, new=again)["metadata"]["annotations"] == {"mine": "yes", REPLACEMENTS: "2"}
    assert built(new=again)["metadata"]["annotations"] == {REPLACEMENTS: "2"}
    assert "annotations" not in built()["metadata"]


def test_pods_are_told_the_domain_of_their_cluster() -> None:
    pod = built(clique(), settings=PodSettings(waiter_image="grove-initc:1", cluster_domain="lab.example"))
    env = {one["name"]: one.get("value") for one in pod["spec"]["containers"][0]["env"]}
    assert env["GROVE_HEADLESS_SERVICE"] == "demo-0.ns.svc.lab.example"


def test_groves_variables_come_first_in_all_containers_and_the_users_of_their_names_go() -> None:
    own = [{"name": "MINE", "value": "$(GROVE_PCLQ_NAME)"}, {"name": "GROVE_PCS_NAME", "value": "wrong"}]
    spec = {"initContainers": [{"name": "prepare"}], "containers": [{"name": "main", "env": own}]}
    pod = built(clique(pod_spec=spec))
    env = pod["spec"]["containers"][0]["env"]
    assert [one["name"] for one in env] == [
        "GROVE_PCS_NAME",
        "GROVE_PCS_INDEX",
        "GROVE_PCLQ_NAME",
        "GROVE_HEADLESS_SERVICE",
        "GROVE_PCLQ_POD_INDEX",
        "MINE",
    ]
    assert [one.get("value") for one in env[:4]] == ["demo", "0", "demo-0-worker", "demo-0.ns.svc.cluster.local"]
    assert env[4]["valueFrom"]["fieldRef"]["fieldPath"] == "metadata.labels['grove.io/podclique-pod-index']"
    assert pod["spec"]["initContainers"][0]["env"] == env[:5]


def test_our_gate_is_added_to_the_users_where_the_scheduler_needs_it() -> None:
    held = clique(pod_spec={"containers": [], "schedulingGates": [{"name": "kueue"}]})
    gates = built(held, backend=PLAIN)["spec"]["schedulingGates"]
    assert gates == [{"name": "kueue"}, {"name": labels.SCHEDULING_GATE}]
    assert built(held, backend=GROVE)["spec"]["schedulingGates"] == [{"name": "kueue"}]


def test_the_backend_has_the_last_word() -> None:
    assert (
        built(clique(pod_spec={"containers": [], "schedulerName": "x"}))["spec"]["schedulerName"] == "grove-scheduler"
    )


def test_without_a_service_there_is_no_subdomain() -> None:
    config = {"publishNotReadyAddresses": True, "enabled": False}
    spec = built(found=pcs(template={"headlessServiceConfig": config}))["spec"]
    assert "subdomain" not in spec
    assert spec["hostname"] == "demo-0-worker-3"


def test_pods_of_one_blueprint_do_not_share_what_differs() -> None:
    common = podbuild.blueprint(Tree(pcs(), {}), PLACE, clique(), backend=GROVE, settings=SETTINGS)
    first, second = (podbuild.pod(common, NewPod(name=f"pod-{index}", index=index)) for index in range(2))
    assert [one["spec"]["hostname"] for one in (first, second)] == ["demo-0-worker-0", "demo-0-worker-1"]
    assert first["metadata"]["labels"] != second["metadata"]["labels"]


def test_a_podclique_with_a_long_name_has_no_prefix_that_the_api_server_would_cut() -> None:
    assert "generateName" not in built(clique("x" * 59))["metadata"]


# Waiting for others


def test_who_waits_for_nobody_has_no_waiter() -> None:
    assert "initContainers" not in built(found=behind(startup="CliqueStartupTypeAnyOrder"))["spec"]


def test_a_waiter_names_the_parents_and_how_many_of_their_pods_must_be_ready() -> None:
    found = built(found=behind(replicas=3, minAvailable=2))["spec"]["initContainers"]
    assert [one["name"] for one in found] == [waiter.NAME]
    assert found[0]["args"] == ["--podcliques=demo-0-router:2"]
    assert (found[0]["image"], found[0]["imagePullPolicy"]) == ("grove-initc:1", "IfNotPresent")
    assert found[0]["resources"] == {"limits": {"cpu": "1"}}


def test_a_parent_of_which_no_pod_is_needed_is_not_waited_for() -> None:
    assert "initContainers" not in built(found=behind(minAvailable=0, replicas=0))["spec"]


def test_a_waiter_stands_last_or_first() -> None:
    held = clique(pod_spec={"containers": [], "initContainers": [{"name": "own"}]})
    first = PodSettings(waiter_image="grove-initc:1", waiter_position="first")
    for settings, expected in ((SETTINGS, ["own", waiter.NAME]), (first, [waiter.NAME, "own"])):
        spec = built(held, behind(), settings=settings)["spec"]
        assert [one["name"] for one in spec["initContainers"]] == expected


def test_a_waiter_passes_the_restricted_pod_security_standard() -> None:
    context = built(found=behind())["spec"]["initContainers"][0]["securityContext"]
    assert context["runAsNonRoot"] is True
    assert context["runAsUser"] > 0
    assert context["allowPrivilegeEscalation"] is False
    assert context["capabilities"] == {"drop": ["ALL"]}
    assert context["seccompProfile"] == {"type": "RuntimeDefault"}


def test_only_the_waiter_sees_its_token_and_the_users_volumes_stay() -> None:
    spec = {"containers": [{"name": "main"}], "volumes": [{"name": "own", "emptyDir": {}}]}
    found = built(clique(pod_spec=spec), behind())["spec"]
    assert [one["name"] for one in found["volumes"]] == ["own", waiter.TOKEN_VOLUME, waiter.POD_INFO_VOLUME]
    assert "volumeMounts" not in found["containers"][0]
    token = found["volumes"][1]["projected"]["sources"][0]["serviceAccountToken"]
    assert token == {"path": "token", "expirationSeconds": 3607}
    mounts = found["initContainers"][0]["volumeMounts"]
    assert {one["mountPath"] for one in mounts} == {waiter.TOKEN_PATH, waiter.POD_INFO_PATH}
    assert all(one["readOnly"] for one in mounts)
