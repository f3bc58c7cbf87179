from typing import Any

import msgspec
import pytest

from grove.kube.objects import Taint
from grove.nodes import nodestatus, shape
from grove.nodes.objects import NodeRecord
from grove.nodes.shape import NodePlan, Shape
from tests.unit.nodes.apiserver import merged, strategic

NOW = 1_900_000_000.0
LATER = NOW + 500
RESOURCES: dict[str, str | int] = {"cpu": "4", "memory": "16Gi", "pods": "110"}
TAINT = Taint(key="fake-node", value="true", effect="NoSchedule")


def plan_of(**rest: Any) -> NodePlan:
    return shape.nodes(Shape(**({"resources": RESOURCES} | rest)))[0]


def record(body: dict[str, Any]) -> NodeRecord:
    return msgspec.convert(body, NodeRecord, strict=False)


def difference(node: NodeRecord, plan: NodePlan | None, **rest: Any) -> dict[str, Any] | None:
    told: dict[str, Any] = {"address": "198.18.9.9", "now": LATER, "is_due": False, "failing": None} | rest
    failing = told.pop("failing")
    return nodestatus.difference(node, plan, failing, **told)


def test_a_new_node_has_nothing_more_to_say() -> None:
    plan = plan_of(taints=(TAINT,))
    node = record(nodestatus.new_node(plan, NOW))
    assert nodestatus.is_ready(node)
    assert difference(node, plan) is None
    assert nodestatus.declared(node, plan) is None


def test_what_is_due_is_said_without_a_change_of_time() -> None:
    plan = plan_of()
    body = nodestatus.new_node(plan, NOW)
    change = difference(record(body), plan, is_due=True)
    assert change is not None
    assert set(change["status"]) == {"conditions"}
    before, after = body["status"]["conditions"], change["status"]["conditions"]
    assert [one["lastTransitionTime"] for one in after] == [one["lastTransitionTime"] for one in before]
    assert all(one["lastHeartbeatTime"] > before[0]["lastHeartbeatTime"] for one in after)


@pytest.mark.parametrize("failing", ["dead", "unreachable", None])
def test_only_a_node_that_says_so_is_not_ready(failing: Any) -> None:
    plan = plan_of()
    assert difference(record(nodestatus.new_node(plan, NOW)), plan, failing=failing) is None


def test_saying_it_once_is_enough() -> None:
    plan = plan_of()
    body = nodestatus.new_node(plan, NOW)
    change = difference(record(body), plan, failing="not-ready")
    assert change is not None
    unready = strategic(body, change)
    ready = next(one for one in unready["status"]["conditions"] if one["type"] == "Ready")
    assert (ready["status"], ready["reason"]) == ("False", "KubeletNotReady")
    assert ready["lastTransitionTime"] == ready["lastHeartbeatTime"]
    assert difference(record(unready), plan, failing="not-ready") is None
    back = difference(record(unready), plan)
    assert back is not None
    assert nodestatus.is_ready(record(strategic(unready, back)))


def test_other_resources_are_said_and_those_of_others_left() -> None:
    body = nodestatus.new_node(plan_of(), NOW)
    body["status"]["allocatable"] = {"cpu": "4000m", "memory": "16Gi", "pods": "110", "example.com/theirs": "1"}
    assert difference(record(body), plan_of()) is None
    larger = plan_of(resources={"cpu": "5", "memory": "16Gi", "pods": "110"})
    change = difference(record(body), larger)
    assert change is not None
    assert strategic(body, change)["status"]["allocatable"] == {
        "cpu": "5",
        "memory": "16Gi",
        "pods": "110",
        "example.com/theirs": "1",
    }


def test_a_node_of_any_origin_keeps_what_it_has_and_gets_what_it_lacks() -> None:
    bare = record({"metadata": {"name": "theirs"}, "status": {"allocatable": {"cpu": "1"}}})
    change = difference(bare, None)
    assert change is not None
    assert set(change["status"]) == {"addresses", "conditions"}
    assert change["status"]["addresses"][0]["address"] == "198.18.9.9"
    addressed = strategic({"metadata": {"name": "theirs"}, "status": {}}, change)
    assert difference(record(addressed), None) is None


def test_labels_and_taints_that_are_missing_are_added_to_those_of_others() -> None:
    body = nodestatus.new_node(plan_of(), NOW)
    body["metadata"] |= {"resourceVersion": "7"}
    body["metadata"]["labels"] |= {"mine": "yes"}
    theirs = {"key": "theirs", "value": "", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"}
    body["spec"] = {"taints": [theirs]}
    wanted = plan_of(taints=(TAINT,), labels={"team": "blue"})
    change = nodestatus.declared(record(body), wanted)
    assert change == {
        "metadata": {"labels": {"team": "blue"}, "resourceVersion": "7"},
        "spec": {"taints": [theirs, {"key": "fake-node", "value": "true", "effect": "NoSchedule"}]},
    }
    assert nodestatus.declared(record(merged(body, change)), wanted) is None


def test_a_taint_with_another_value_is_put_right() -> None:
    body = nodestatus.new_node(plan_of(taints=(Taint(key="fake-node", value="no", effect="NoSchedule"),)), NOW)
    change = nodestatus.declared(record(body), plan_of(taints=(TAINT,)))
    assert change is not None
    assert change["spec"]["taints"] == [{"key": "fake-node", "value": "true", "effect": "NoSchedule"}]
