"""Scaling at all three levels, by users and by templates."""

from typing import Any

from grove.api import labels
from grove.testing.waiting import eventually
from tests.cluster.operator.manifests import clique, pods_of, served, workload
from tests.cluster.operator.workloads import (
    CLIQUES,
    GANGS,
    GROUPS,
    PATIENCE,
    Workloads,
    changed,
    is_ready,
    label,
    name_of,
)

JSON = dict[str, Any]


def test_a_clique_that_is_scaled_in_loses_its_newest_pods_and_keeps_low_indices(workloads: Workloads) -> None:
    workloads.apply(workload("in", [clique("worker", 2, least=1)]))
    old = workloads.ready("in", {"in-0-worker": 2})
    workloads.scale("pclq", "in-0-worker", 5)
    workloads.ready("in", {"in-0-worker": 5})
    workloads.scale("pclq", "in-0-worker", 2)
    left = workloads.ready("in", {"in-0-worker": 2})
    assert {name_of(pod) for pod in left} == {name_of(pod) for pod in old}
    assert sorted(label(pod, labels.POD_CLIQUE_POD_INDEX) for pod in left) == ["0", "1"]


def test_a_scaling_group_loses_its_highest_copies_and_their_gangs(workloads: Workloads) -> None:
    workloads.apply(served("copies", copies=3))
    workloads.ready("copies", pods_of("copies", copies=3))
    assert workloads.names(GANGS, "copies") == ["copies-0", "copies-0-model-0", "copies-0-model-1"]
    workloads.scale("pcsg", "copies-0-model", 1)
    workloads.ready("copies", pods_of("copies", copies=1))
    eventually(lambda: workloads.names(GANGS, "copies"), lambda names: names == ["copies-0"], timeout=PATIENCE)


def test_a_set_loses_its_highest_replicas_with_everything_in_them(workloads: Workloads) -> None:
    workloads.apply(served("sets", replicas=3))
    workloads.ready("sets", pods_of("sets", replicas=3))
    workloads.scale("pcs", "sets", 1)
    workloads.ready("sets", pods_of("sets"))
    eventually(
        lambda: (workloads.names("services", "sets"), workloads.names(GROUPS, "sets"), workloads.names(GANGS, "sets")),
        lambda found: found == (["sets-0"], ["sets-0-model"], ["sets-0", "sets-0-model-0"]),
        timeout=PATIENCE,
    )


def test_a_set_can_be_scaled_to_zero_and_back(workloads: Workloads) -> None:
    workloads.apply(served("zero"))
    workloads.ready("zero", pods_of("zero"))
    workloads.scale("pcs", "zero", 0)
    workloads.ready("zero", {})
    eventually(lambda: workloads.names(CLIQUES, "zero"), lambda names: not names, timeout=PATIENCE)
    workloads.scale("pcs", "zero", 1)
    workloads.ready("zero", pods_of("zero"))


def test_a_template_count_reaches_objects_that_nobody_has_scaled(workloads: Workloads) -> None:
    pcs = served("counts", replicas=2)
    workloads.apply(pcs)
    workloads.ready("counts", pods_of("counts", replicas=2))
    workloads.scale("pclq", "counts-1-router", 3)
    workloads.scale("pcsg", "counts-1-model", 1)
    scaled = pods_of("counts", replicas=1) | {
        "counts-1-router": 3,
        "counts-1-model-0-leader": 1,
        "counts-1-model-0-worker": 2,
    }
    before = workloads.ready("counts", scaled)

    def more(tree: JSON) -> None:
        tree["spec"]["template"]["cliques"][0]["spec"]["replicas"] = 4
        tree["spec"]["template"]["podCliqueScalingGroups"][0]["replicas"] = 3

    workloads.apply(changed(pcs, more))
    after = workloads.ready(
        "counts",
        pods_of("counts", copies=3, routers=4)
        | {"counts-1-router": 3, "counts-1-model-0-leader": 1, "counts-1-model-0-worker": 2},
    )
    assert {name_of(pod) for pod in before} < {name_of(pod) for pod in after}


def test_an_autoscaler_is_made_and_scales_by_the_scale_subresource(workloads: Workloads) -> None:
    pcs = workload("auto", [clique("worker", 2, least=1)])
    pcs["spec"]["template"]["cliques"][0]["spec"]["autoScalingConfig"] = {"minReplicas": 2, "maxReplicas": 5}
    workloads.apply(pcs)
    workloads.ready("auto", {"auto-0-worker": 2})
    [hpa] = workloads.all("horizontalpodautoscalers", "auto")
    assert hpa["spec"]["scaleTargetRef"] == {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "PodClique",
        "name": "auto-0-worker",
    }
    assert (hpa["spec"]["minReplicas"], hpa["spec"]["maxReplicas"]) == (2, 5)
    scale = workloads.when(CLIQUES, "auto-0-worker/scale", lambda one: one["status"].get("selector"))
    chosen = workloads.kubectl.run("get", "pods", "-l", scale["status"]["selector"], "-o", "name").stdout.split()
    assert len(chosen) == 2


def test_pods_keep_their_names_for_each_other(workloads: Workloads) -> None:
    """Host names by index, in the subdomain of the replica's headless Service."""
    workloads.apply(served("names"))
    pods = workloads.ready("names", pods_of("names"))
    assert all(is_ready(pod) for pod in pods)
    workers = sorted(
        pod["spec"]["hostname"] for pod in pods if label(pod, labels.POD_CLIQUE) == "names-0-model-1-worker"
    )
    assert workers == ["names-0-model-1-worker-0", "names-0-model-1-worker-1"]
    assert {pod["spec"]["subdomain"] for pod in pods} == {"names-0"}
    service = workloads.get("services", "names-0")
    assert service is not None
    assert service["spec"]["clusterIP"] == "None"
