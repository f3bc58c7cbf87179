"""Pods run where the devices of their claims can be used, or where they can get some."""

from __future__ import annotations

from typing import Any

import pytest

from grove.scheduler.devices import DeviceId
from tests.unit.scheduler.claims import GPUS, World, exactly, gpu, owned_by, pod

H100 = {"cel": {"expression": f'device.attributes["{GPUS}"].model == "h100"'}}


@pytest.fixture
def world() -> World:
    """Two nodes with devices of three models, and one with none."""
    world = World("a", "a", "b")
    world.device_class("gpu", f'device.driver == "{GPUS}"')
    world.gpus("n0", gpu("d0"), gpu("d1"), gpu("d2", "a100"))
    world.gpus("n1", gpu("d0", "a100"), gpu("d1", "a100"))
    return world


def own(world: World, name: str, *requests: dict[str, Any], **more: Any) -> Any:
    """A pod with a claim that was made for it."""
    world.device_claim(f"{name}-gpus", *requests, metadata=owned_by(name), **more)
    return pod(name, made={"gpus": f"{name}-gpus"})


def test_a_node_takes_as_many_pods_as_it_has_devices_for(world: World) -> None:
    one = own(world, "p", exactly(1))
    assert world.room_for(one) == [3, 2, 0]
    assert world.room_for(own(world, "q", exactly(2))) == [1, 1, 0]
    assert world.room_for(own(world, "r", exactly(1, selectors=[H100]))) == [2, 0, 0]
    assert world.why(one, 2) == 'not enough devices are free for claim "gpus"'


def test_pods_of_one_template_are_of_one_class(world: World) -> None:
    assert world.cls(own(world, "p", exactly())) is world.cls(own(world, "q", exactly()))
    assert world.cls(own(world, "p", exactly())) is not world.cls(own(world, "q", exactly(2)))


def test_pods_of_a_gang_do_not_get_one_device_twice(world: World) -> None:
    pods = [own(world, f"p{at}", exactly()) for at in range(3)]
    mark = world.cluster.mark()
    world.put(pods[0], 0)
    assert world.room_for(pods[1]) == [2, 2, 0]
    world.put(pods[1], 1)
    assert world.room_for(pods[2]) == [2, 1, 0]
    promised = world.surroundings.promises.devices
    assert [*promised] == [DeviceId(GPUS, "n0", "d0"), DeviceId(GPUS, "n1", "d0")]
    world.cluster.rollback(mark)
    assert world.room_for(pods[2]) == [3, 2, 0]
    assert not promised


def test_devices_of_other_claims_are_taken_until_these_go(world: World) -> None:
    one = own(world, "p", exactly())
    world.room_for(one)
    result = {"request": "r", "driver": GPUS, "pool": "n1", "device": "d0"}
    world.device_claim("other", exactly(), status={"allocation": {"devices": {"results": [result]}}})
    assert world.room_for(one) == [3, 1, 0]
    admin = {**result, "device": "d1", "adminAccess": True}
    world.device_claim("admin", exactly(), status={"allocation": {"devices": {"results": [admin]}}})
    assert world.room_for(one) == [3, 1, 0], "who looks after devices does not take them"
    world.surroundings.resource_claims.drop("other", "default")
    assert world.room_for(one) == [3, 2, 0]


def test_a_claim_that_has_its_devices_is_used_where_they_are(world: World) -> None:
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}
    allocation = {"nodeSelector": {"nodeSelectorTerms": [term]}}
    world.device_claim("c", exactly(), status={"allocation": allocation})
    assert world.room_for(pod("p", uses=["c"])) == [0, 10, 0]
    assert world.why(pod("p", uses=["c"])) == 'the devices of claim "c" cannot be used there'


def test_a_claim_has_at_most_256_users(world: World) -> None:
    users = [{"resource": "pods", "name": f"u{at}", "uid": f"u{at}"} for at in range(254)]
    world.device_claim("c", exactly(), status={"allocation": {}, "reservedFor": users})
    assert world.room_for(pod("p", uses=["c"])) == [2, 2, 2]
    placed = [world.put(pod(f"p{at}", uses=["c"]), at) for at in range(2)]
    assert world.room_for(pod("q", uses=["c"])) == [0, 0, 0]
    assert "256 users" in world.why(pod("q", uses=["c"]))
    world.cluster.take(placed[0].uid)
    assert world.room_for(pod("q", uses=["c"])) == [1, 1, 1]


def test_pods_that_share_a_claim_share_its_devices(world: World) -> None:
    world.device_claim("c", exactly(2))
    placed = [world.put(pod("p", uses=["c"]), 0)]
    assert world.room_for(pod("q", uses=["c"])) == [10, 0, 0]
    assert world.why(pod("q", uses=["c"]), 1) == 'the devices of claim "c" cannot be used there'
    placed.append(world.put(pod("q", uses=["c"]), 0))
    assert len(world.surroundings.promises.devices) == 2
    for one in placed:
        world.cluster.take(one.uid)
    assert not world.surroundings.promises.devices
    assert world.room_for(pod("q", uses=["c"])) == [10, 10, 0]


def test_of_several_wishes_the_first_that_can_be_had_is_granted(world: World) -> None:
    wishes = [
        {"name": "many", "deviceClassName": "gpu", "count": 3, "selectors": [H100]},
        {"name": "some", "deviceClassName": "gpu", "count": 2, "selectors": [H100]},
        {"name": "any", "deviceClassName": "gpu", "count": 2},
    ]
    one = own(world, "p", {"name": "r", "firstAvailable": wishes})
    assert world.room_for(one) == [1, 1, 0]
    for slot, wish in ((0, "r/some"), (1, "r/any")):
        mark = world.cluster.mark()
        world.put(one, slot)
        (promise,) = world.surroundings.promises.allocations.values()
        assert [result.request for result in promise.results] == [wish, wish]
        world.cluster.rollback(mark)


def test_all_devices_are_those_of_the_node_none_of_them_taken(world: World) -> None:
    one = own(world, "p", exactly(0, allocationMode="All", selectors=[H100]))
    assert world.room_for(one) == [1, 0, 0]
    world.put(own(world, "q", exactly()), 0)
    assert world.room_for(one) == [0, 0, 0]


def test_devices_of_several_requests_have_an_attribute_in_common(world: World) -> None:
    world.gpus("n0", *(gpu(f"d{at}", attributes={"rail": {"int": at % 2}}) for at in range(3)))
    same = [{"matchAttribute": f"{GPUS}/rail"}]
    two = (exactly(name="a"), exactly(name="b"))
    assert world.room_for(own(world, "p", *two, constraints=same)) == [1, 0, 0]
    assert world.room_for(own(world, "q", exactly(3), constraints=same)) == [0, 0, 0]
    world.put(own(world, "p", *two, constraints=same), 0)
    assert [device.name for device in world.surroundings.promises.devices] == ["d0", "d2"]


def test_tainted_devices_go_to_claims_that_tolerate_them(world: World) -> None:
    taint = {"key": "health", "value": "bad", "effect": "NoExecute"}
    world.gpus("n1", gpu("d0", taints=[taint]), gpu("d1", taints=[{**taint, "effect": "None"}]))
    tolerant = exactly(tolerations=[{"key": "health", "operator": "Exists"}])
    assert world.room_for(own(world, "p", exactly())) == [3, 1, 0]
    assert world.room_for(own(world, "q", tolerant)) == [3, 2, 0]
    assert world.room_for(own(world, "r", exactly(tolerations=[{"key": "health", "value": "worse"}]))) == [3, 1, 0]


def test_only_whole_pools_of_the_newest_generation_count(world: World) -> None:
    one = own(world, "p", exactly())
    world.gpus("n1", gpu("d0"), slices=2, generation=2, name="newer")
    assert world.room_for(one) == [3, 0, 0]
    assert world.why(one, 1) == f"device pool {GPUS}/n1 is being changed"
    world.gpus("n1", gpu("d1"), slices=2, generation=2, name="newer-too")
    assert world.room_for(one) == [3, 2, 0]
    world.gpus("n1", gpu("d0"), slices=2, generation=2, name="newer-too")
    assert world.why(one, 1) == f"device pool {GPUS}/n1 has two devices of one name"


def test_devices_that_several_nodes_reach_are_given_once(world: World) -> None:
    world.device_class("fabric", f'device.attributes["{GPUS}"].model == "switch"')
    world.gpus("", gpu("s0", "switch"), gpu("s1", "switch"), pool="fabric")
    pods = [own(world, f"p{at}", exactly(of="fabric")) for at in range(2)]
    assert world.room_for(pods[0]) == [2, 2, 2]
    world.put(pods[0], 2)
    assert world.room_for(pods[1]) == [1, 1, 1]


@pytest.mark.parametrize(
    ("request_", "why"),
    [
        ({"adminAccess": True}, "administrative access"),
        ({"capacity": {"requests": {"memory": "1Gi"}}}, "a part of a device's capacity"),
        ({"allocationMode": "Most"}, "devices in mode Most"),
        ({"selectors": [{}]}, "devices by a selector of a new kind"),
    ],
)
def test_what_is_not_known_is_refused_by_name(world: World, request_: dict[str, Any], why: str) -> None:
    one = own(world, "p", exactly(**request_))
    assert world.room_for(one) == [0, 0, 0]
    assert world.why(one) == f'the resource claim "gpus" asks for {why}, which Grove does not know'


def test_distinct_attributes_are_refused_by_name(world: World) -> None:
    one = own(world, "p", exactly(), constraints=[{"distinctAttribute": f"{GPUS}/model"}])
    assert "asks for devices with distinct attributes, which Grove does not know" in world.why(one)


@pytest.mark.parametrize(
    ("device", "why"),
    [
        ({"consumesCounters": [{"counterSet": "c", "counters": {}}]}, "devices that share counters"),
        ({"bindingConditions": ["Ready"]}, "devices with binding conditions"),
        ({"allowMultipleAllocations": True}, "devices that are allocated in parts"),
    ],
)
def test_devices_that_are_not_known_are_not_given(world: World, device: dict[str, Any], why: str) -> None:
    world.gpus("n1", gpu("d0", **device))
    one = own(world, "p", exactly())
    assert world.room_for(one) == [3, 0, 0]
    assert world.why(one, 1) == f"what fits are {why}, which Grove does not know"


def test_an_expression_that_is_not_understood_refuses_the_pod_and_is_shown(world: World) -> None:
    expression = f'device.attributes["{GPUS}"].model.matches("h.*")'
    one = own(world, "p", exactly(selectors=[{"cel": {"expression": expression}}]))
    assert world.room_for(one) == [0, 0, 0]
    assert world.why(one) == (
        f"the expression `{expression}` has the function `matches` of 1 arguments, which Grove does not know"
    )


def test_an_expression_that_fails_for_a_device_refuses_its_node(world: World) -> None:
    world.gpus("n1", gpu("d0", attributes={"rail": {"int": 1}}))
    expression = f'device.attributes["{GPUS}"].rail == 1'
    one = own(world, "p", exactly(selectors=[{"cel": {"expression": expression}}]))
    assert world.room_for(one) == [0, 1, 0]
    assert world.why(one) == f"an expression fails for a device of {GPUS}: there is no `rail`"


def test_a_pod_waits_for_its_claims(world: World) -> None:
    assert world.why(pod("p", uses=["c"])) == 'the resource claim "c" does not exist'
    assert world.why(pod("p", made={"gpus": ""})) == 'the resource claim "gpus" was not made of its template yet'
    world.device_claim("p-gpus", exactly())
    assert "was not made for the pod" in world.why(pod("p", made={"gpus": "p-gpus"}))
    world.device_claim("c", exactly(), metadata={"deletionTimestamp": "now"})
    assert world.why(pod("p", uses=["c"])) == 'the resource claim "c" is being deleted'
    world.device_claim("c", exactly(of="tpu"))
    assert world.why(pod("p", uses=["c"])) == "device class tpu does not exist"
    waits = {"request": "r", "driver": GPUS, "pool": "n0", "device": "d0", "bindingConditions": ["Ready"]}
    world.device_claim("c", exactly(), status={"allocation": {"devices": {"results": [waits]}}})
    assert "binding conditions" in world.why(pod("p", uses=["c"]))


def test_a_search_that_takes_too_many_steps_is_given_up(world: World) -> None:
    devices = [gpu(f"d{at}", f"m{at}", attributes={"rail": {"int": at}}) for at in range(24)]
    world.gpus("n2", *devices)
    wide = [{"matchAttribute": f"{GPUS}/rail", "requests": ["last"]}]
    requests = [exactly(5, name="a"), exactly(5, name="b"), exactly(2, name="last")]
    one = own(world, "p", *requests, constraints=wide)
    assert world.room_for(one) == [0, 0, 0]
    assert world.why(one, 2) == 'the search for devices for claim "gpus" was given up'
