"""Network and GPUs of nodes, and pods that ask for them."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from grove.api.kinds.schedulerconfig import Nodes
from grove.kube.objects import PodView
from grove.scheduler.awareness import Awareness, Wishes
from grove.scheduler.cluster import Cluster
from grove.scheduler.predicates.gpus import Gpus
from tests.unit.scheduler.fleets import node, pod, spec

BANDWIDTH, MEMORY, MODEL = "grove.io/network-bandwidth", "grove.io/gpu-memory", "grove.io/gpu-model"
TIERS = Nodes(network_tiers={"gold": 400, "silver": 100})


def aware() -> Cluster:
    cluster = Cluster(awareness=Awareness(TIERS))
    cluster.obey([Gpus(cluster)])
    gpu = {"nvidia.com/gpu.memory": "81559", "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}
    cluster.node(node("a", {"network-tier": "gold", **gpu}))
    cluster.node(
        node("b", {"network-tier": "silver", "nvidia.com/gpu.memory": "40960", "nvidia.com/gpu.product": "A100"})
    )
    cluster.node(node("c", {"network-tier": "bronze", "nvidia.com/gpu.memory": "lots"}))
    return cluster


def asking(name: str = "p", **wishes: str) -> PodView:
    keys = {"bandwidth": BANDWIDTH, "memory": MEMORY, "model": MODEL}
    one = pod(name, spec(gpus=1))
    return replace(one, metadata=replace(one.metadata, annotations={keys[key]: text for key, text in wishes.items()}))


def capacity(cluster: Cluster, **wishes: str) -> list[int]:
    return cluster.capacity(cluster.classes.of(asking(**wishes))).tolist()  # type: ignore[no-any-return]


def test_bandwidth_is_counted_like_any_resource() -> None:
    cluster = aware()
    assert capacity(cluster, bandwidth="100G") == [4, 1, 0]
    assert capacity(cluster, bandwidth="0") == [8, 8, 8]
    cls = cluster.classes.of(asking(bandwidth="150G"))
    assert cluster.reasons(cls, 1) == ["insufficient grove.io/network-bandwidth"]
    assert [name for row, _ in cls.accelerators for name in [cluster.resources.names[row]]] == ["nvidia.com/gpu"]


def test_memory_is_that_of_each_gpu_of_a_node() -> None:
    cluster = aware()
    assert capacity(cluster, memory="80G") == [8, 0, 0]
    assert capacity(cluster, memory="40Gi") == [8, 8, 0]
    cls = cluster.classes.of(asking(memory="80Gi"))
    assert cluster.reasons(cls, 0) == ["GPUs have too little memory, or no label nvidia.com/gpu.memory"]


def test_one_of_several_models_will_do() -> None:
    cluster = aware()
    assert capacity(cluster, model="A100") == [0, 8, 0]
    assert capacity(cluster, model="A100, NVIDIA-H100-80GB-HBM3") == [8, 8, 0]
    assert capacity(cluster, model="A100", memory="80G") == [0, 0, 0]
    cls = cluster.classes.of(asking(model="B200"))
    assert cluster.reasons(cls, 0) == ["GPUs are not B200, by the label nvidia.com/gpu.product"]


def test_nodes_that_change_are_looked_at_anew() -> None:
    cluster = aware()
    wanted = {"bandwidth": "100G", "memory": "140G"}
    assert capacity(cluster, **wanted) == [0, 0, 0]
    cluster.node(node("c", {"network-tier": "silver", "nvidia.com/gpu.memory": "143771"}))
    assert capacity(cluster, **wanted) == [0, 0, 1]


def test_pods_with_other_wishes_are_of_other_classes() -> None:
    cluster = aware()
    classes = {cluster.classes.of(asking(bandwidth=text)) for text in ("1G", "2G", "1G", "1000M")}
    assert len(classes) == 2
    assert cluster.classes.of(asking()) is cluster.classes.of(pod("q", spec(gpus=1)))


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        ({}, None),
        ({"other": "1"}, None),
        ({BANDWIDTH: " 100G ", MEMORY: "80Gi"}, Wishes(100 * 10**9, 80 << 30)),
        ({MODEL: "b, a,,b"}, Wishes(models=("a", "b"))),
    ],
)
def test_annotations_are_read(annotations: dict[str, str], expected: Wishes | None) -> None:
    assert Awareness().wishes(annotations) == expected


def test_what_cannot_be_read_is_said() -> None:
    wishes = Awareness().wishes({BANDWIDTH: "fast", MEMORY: "-1"})
    assert wishes is not None
    assert wishes.fault == (
        'annotation grove.io/network-bandwidth: "fast" is not a quantity: write a number with an optional suffix, as '
        "in 500m, 2 or 4Gi; annotation grove.io/gpu-memory: -1 is less than nothing: use 0 or more"
    )
    assert aware().classes.of(asking(bandwidth="fast")).fault.startswith("annotation grove.io/network-bandwidth")
