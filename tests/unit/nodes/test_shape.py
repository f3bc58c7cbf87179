import ipaddress
import itertools

import pytest

from grove.api import grammar
from grove.kube.objects import Taint
from grove.nodes import shape, topology
from grove.nodes.shape import Accelerator, Ranges, Shape
from grove.nodes.unusable import Unusable

RESOURCES: dict[str, str | int] = {"cpu": "128", "memory": "2Ti", "pods": "110"}


def shaped(**rest: object) -> Shape:
    return Shape(**({"resources": RESOURCES} | rest))  # type: ignore[arg-type]


def test_names_are_those_of_the_tutorial() -> None:
    assert [plan.name for plan in shape.nodes(shaped(count=2))] == ["fake-node-001", "fake-node-002"]


def test_names_are_as_long_as_the_last_one() -> None:
    names = [plan.name for plan in shape.nodes(shaped(count=1000, prefix="n"))]
    assert (names[0], names[-1]) == ("n-0001", "n-1000")
    assert names == sorted(names)


def test_nodes_have_the_labels_of_real_ones() -> None:
    [plan] = shape.nodes(shaped(gpus=8, accelerator=shape.accelerator("h100", ""), labels={"team": "blue"}))
    assert plan.labels == {
        "kubernetes.io/hostname": "fake-node-001",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/os": "linux",
        "node.kubernetes.io/instance-type": "simulated-h100-x8",
        "simulate.grove.io/fleet": "default",
        "nvidia.com/gpu.count": "8",
        "nvidia.com/gpu.present": "true",
        "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3",
        "nvidia.com/gpu.memory": "81559",
        "team": "blue",
    }


def test_every_known_model_makes_labels() -> None:
    for model in shape.MODELS:
        [plan] = shape.nodes(shaped(gpus=1, accelerator=shape.accelerator(model, "")))
        assert all(grammar.is_label_value(value) for value in plan.labels.values())


def test_a_model_that_is_not_known_has_the_memory_that_is_said() -> None:
    assert shape.accelerator("x1", "") == Accelerator("x1", "x1", None)
    assert shape.accelerator("x1", "80Gi") == Accelerator("x1", "x1", 81920)
    assert shape.accelerator("", "") is None


def test_no_two_nodes_or_pods_share_an_address() -> None:
    plans = shape.nodes(shaped(count=3000, prefix="n"))
    assert len({plan.address for plan in plans}) == 3000
    networks = sorted(ipaddress.ip_network(plan.pods) for plan in plans)
    assert not any(one.overlaps(other) for one, other in itertools.pairwise(networks))
    assert all(one.num_addresses == 256 for one in networks)


@pytest.mark.parametrize(("pods", "prefix"), [(110, 24), (254, 24), (256, 23), (1000, 22)])
def test_a_node_has_addresses_for_all_its_pods(pods: int, prefix: int) -> None:
    found = shape.ranges("198.18.0.0/15", "10.128.0.0/9", pods)
    assert found.prefix == prefix
    assert ipaddress.ip_network(found.of_pods(7)).num_addresses > pods


def test_ranges_may_be_of_the_sixth_version() -> None:
    found = shape.ranges("fd00::/64", "fd01::/96", 110)
    assert ipaddress.ip_network(found.of_pods(1)) == ipaddress.ip_network("fd01::100/120")


def test_the_number_of_a_node_is_in_its_address() -> None:
    ranges = Ranges()
    assert [ranges.number(ranges.of_node(number)) for number in (0, 1, 5000)] == [0, 1, 5000]
    assert ranges.number("192.0.2.1") is None


def test_the_summary_says_what_there_is() -> None:
    row = topology.levels("zones=2,blocks=2,racks=5", {})
    wanted = shaped(count=40, levels=row, gpus=8, accelerator=shape.accelerator("h100", ""))
    assert shape.summary(wanted) == "40 nodes ready: 2 zones, 4 blocks, 20 racks, 320 GPUs (h100)"
    assert shape.summary(shaped(count=1)) == "1 node ready"
    few = shaped(count=2, levels=topology.levels("facilities=2,switches=1", {}), gpus=1)
    assert shape.summary(few) == "2 nodes ready: 2 facilities, 2 switches, 2 GPUs"


def test_a_taint_is_written_as_for_kubectl() -> None:
    assert shape.taint("fake-node=true:NoSchedule") == Taint(key="fake-node", value="true", effect="NoSchedule")
    assert shape.taint("gone:NoExecute") == Taint(key="gone", value="", effect="NoExecute")


@pytest.mark.parametrize(
    "text", ["fake-node=true", "a=b:Never", "=b:NoSchedule", "a b=c:NoSchedule", "a=b c:NoSchedule"]
)
def test_what_is_no_taint_is_told(text: str) -> None:
    with pytest.raises(Unusable, match=r"^--taint ") as caught:
        shape.taint(text)
    assert caught.value.remedy


@pytest.mark.parametrize("text", ["nic", "nic=", "a b=1", "nic=many", "nic=-1"])
def test_what_is_no_resource_is_told(text: str) -> None:
    with pytest.raises(Unusable, match=r"^--resource "):
        shape.resources([text])


@pytest.mark.parametrize("text", ["team", "a b=c", "team=b c"])
def test_what_is_no_label_is_told(text: str) -> None:
    with pytest.raises(Unusable, match=r"^--label "):
        shape.labels([text])


@pytest.mark.parametrize("text", ["10.0.0.1/8", "all", "10.0.0.0/40"])
def test_what_is_no_range_is_told(text: str) -> None:
    with pytest.raises(Unusable, match=r"^--pod-cidr "):
        shape.ranges("198.18.0.0/15", text, 110)
    with pytest.raises(Unusable, match=r"^--node-cidr "):
        shape.ranges(text, "10.128.0.0/9", 110)


@pytest.mark.parametrize(
    ("rest", "option"),
    [
        ({"count": 0}, "--count"),
        ({"count": 3, "ranges": Ranges(pods="10.0.0.0/23")}, "--count"),
        ({"fleet": ""}, "--fleet"),
        ({"fleet": "a b"}, "--fleet"),
        ({"prefix": "Node"}, "--name"),
        ({"prefix": "a.b"}, "--name"),
        ({"prefix": "a" * 60}, "--name"),
        ({"count": 3, "levels": topology.levels("racks=4", {})}, "--topology"),
    ],
)
def test_what_is_no_fleet_is_told(rest: dict[str, object], option: str) -> None:
    with pytest.raises(Unusable, match=f"^{option} ") as caught:
        shape.nodes(shaped(**rest))
    assert caught.value.remedy


def test_a_model_that_makes_no_label_is_told() -> None:
    with pytest.raises(Unusable, match="--gpu-model"):
        shape.accelerator("h 100", "")
    with pytest.raises(Unusable, match="--gpu-memory"):
        shape.accelerator("h100", "much")
