"""HorizontalPodAutoscalers, and which differences are none."""

import pytest

from grove.operator.podcliqueset import autoscalers
from tests.unit.operator.podcliqueset.builders import JSON, Stage, clique, group, pcs

CPU: JSON = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "AverageValue", "averageValue": "0.5"}}}


def scaled(config: JSON) -> Stage:
    stage = Stage(pcs(clique("a", 2, autoScalingConfig=config)))
    stage.settle()
    return stage


def planned(stage: Stage) -> list[JSON]:
    return [one.change for one in autoscalers.plan(stage.tree, stage.snapshot().autoscalers).patches]


def test_an_autoscaler_names_its_target_and_its_bounds() -> None:
    stage = scaled({"maxReplicas": 5, "metrics": [CPU]})
    body = stage.autoscalers["demo-0-a"]
    assert body["spec"] == {
        "scaleTargetRef": {"apiVersion": "grove.io/v1alpha1", "kind": "PodClique", "name": "demo-0-a"},
        "minReplicas": 2,
        "maxReplicas": 5,
        "metrics": [CPU],
    }
    assert body["metadata"]["labels"]["app.kubernetes.io/component"] == "pcs-hpa"


def test_members_of_scaling_groups_have_none_of_their_own() -> None:
    cliques = [clique("a", autoScalingConfig={"maxReplicas": 3})]
    stage = Stage(pcs(*cliques, groups=[group("g", ["a"], scaleConfig={"maxReplicas": 4})], replicas=2))
    stage.settle()
    assert set(stage.autoscalers) == {"demo-0-g", "demo-1-g"}


def test_amounts_that_the_server_writes_differently_are_no_difference() -> None:
    stage = scaled({"maxReplicas": 5, "metrics": [CPU]})
    stage.autoscalers["demo-0-a"]["spec"]["metrics"][0]["resource"]["target"]["averageValue"] = "500m"
    assert planned(stage) == []


def test_what_the_server_fills_in_is_no_difference() -> None:
    stage = scaled({"maxReplicas": 5})
    stage.autoscalers["demo-0-a"]["spec"] |= {"metrics": autoscalers.SERVER_METRICS, "behavior": {"scaleUp": {}}}
    assert planned(stage) == []


def test_metrics_that_are_dropped_are_taken_back() -> None:
    stage = scaled({"maxReplicas": 5, "metrics": [CPU]})
    stage.pcs = pcs(clique("a", 2, autoScalingConfig={"maxReplicas": 5}))
    assert planned(stage) == [{"spec": {"metrics": None}}]


@pytest.mark.parametrize(
    ("field", "value", "wanted"),
    [("minReplicas", 1, 2), ("maxReplicas", 9, 5), ("scaleTargetRef", {"kind": "Deployment"}, None)],
)
def test_what_somebody_changed_is_put_right(field: str, value: object, wanted: object) -> None:
    stage = scaled({"maxReplicas": 5, "metrics": [CPU]})
    right = stage.autoscalers["demo-0-a"]["spec"][field]
    stage.autoscalers["demo-0-a"]["spec"][field] = value
    assert planned(stage) == [{"spec": {field: wanted or right}}]


def test_an_autoscaler_goes_with_the_wish_for_it() -> None:
    stage = scaled({"maxReplicas": 5})
    stage.pcs = pcs(clique("a", 2))
    assert [one.name for one in autoscalers.plan(stage.tree, stage.snapshot().autoscalers).deletes] == ["demo-0-a"]


@pytest.mark.parametrize(
    ("wanted", "held", "same"),
    [
        ({"a": 1}, {"a": 1, "b": 2}, True),
        ({"a": 1, "b": None}, {"a": 1}, True),
        ({"a": 1}, {}, False),
        ([1, 2], [1], False),
        ("1", 1, True),
        ("1k", "1000", True),
        ("text", "other", False),
        ({"a": 1}, [1], False),
    ],
)
def test_what_is_held_may_say_more_but_not_less(wanted: object, held: object, same: bool) -> None:
    assert autoscalers.is_same(wanted, held) is same
