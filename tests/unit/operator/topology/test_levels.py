"""What topology constraints mean on nodes, and when a set says that they mean nothing."""

from typing import Any

import pytest

from grove.api import codec
from grove.api.kinds.podcliqueset import PodCliqueSetTemplate
from grove.api.kinds.podgang import GangTopologyConstraint, PackConstraint
from grove.api.kinds.topology import ClusterTopologyBinding, TopologyConstraint
from grove.operator.topology import levels

JSON = dict[str, Any]

BINDINGS = {
    "gpus": codec.decode(
        {
            "metadata": {"name": "gpus"},
            "spec": {"levels": [{"domain": "zone", "key": "example.com/zone"}, {"domain": "host", "key": "host-key"}]},
        },
        ClusterTopologyBinding,
    )
}
KEYS = {"zone": "example.com/zone", "host": "host-key"}


def template(own: JSON | None = None, group: JSON | None = None, clique: JSON | None = None) -> PodCliqueSetTemplate:
    def stated(constraint: JSON | None) -> JSON:
        return {} if constraint is None else {"topologyConstraint": constraint}

    pods = {"replicas": 1, "podSpec": {"containers": []}}
    tree = {
        "cliques": [{"name": "a", "spec": pods}, {"name": "b", "spec": pods, **stated(clique)}],
        "podCliqueScalingGroups": [{"name": "g", "cliqueNames": ["b"], **stated(group)}],
        **stated(own),
    }
    return codec.decode(tree, PodCliqueSetTemplate)


def named(domain: str, name: str = "gpus") -> JSON:
    return {"topologyName": name, "pack": {"required": domain}}


@pytest.mark.parametrize(
    ("set_", "enabled", "expected"),
    [
        (template(), False, None),
        (
            template(clique=named("zone")),
            False,
            (
                "Unknown",
                "TopologyAwareSchedulingDisabled",
                "Topology constraints are defined but Topology Aware Scheduling is disabled",
            ),
        ),
        (template(), True, ("False", "AllClusterTopologyLevelsAvailable", "No topology constraints defined")),
        (
            template(group={"pack": {"required": "zone"}}),
            True,
            ("Unknown", "TopologyNameMissing", "PodCliqueSet topology constraints must include topologyName"),
        ),
        (
            template(named("zone", "gone")),
            True,
            ("Unknown", "ClusterTopologyNotFound", "ClusterTopologyBinding resource not found"),
        ),
        (
            template(named("zone"), {"pack": {"required": "row", "preferred": "host"}}, {"packDomain": "bank"}),
            True,
            ("True", "ClusterTopologyLevelsUnavailable", "Unavailable topology domains: [bank row]"),
        ),
        (
            template(named("zone"), clique={"pack": {"preferred": "host"}}),
            True,
            ("False", "AllClusterTopologyLevelsAvailable", "All topology levels are available"),
        ),
    ],
)
def test_the_condition_says_whether_the_levels_are_there(
    set_: PodCliqueSetTemplate, enabled: bool, expected: tuple[str, str, str] | None
) -> None:
    assert levels.condition(set_, BINDINGS, enabled) == expected


def test_the_first_name_counts_from_the_outside_to_the_inside() -> None:
    assert levels.binding_name(template()) == ""
    assert levels.binding_name(template({"pack": {"required": "zone"}}, None, named("host", "inner"))) == "inner"
    assert levels.binding_name(template(None, named("zone", "group"), named("host", "clique"))) == "group"
    assert levels.binding_name(template(named("zone", "set"), named("zone", "group"))) == "set"


def test_there_are_no_keys_without_a_binding_or_while_it_is_off() -> None:
    assert levels.keys(template(named("zone")), BINDINGS, True) == KEYS
    assert levels.keys(template(named("zone")), BINDINGS, False) == {}
    assert levels.keys(template(named("zone", "gone")), BINDINGS, True) == {}
    assert levels.keys(template(), BINDINGS, True) == {}


@pytest.mark.parametrize(
    ("constraint", "required", "preferred"),
    [
        ({"pack": {"required": "zone", "preferred": "host"}}, "example.com/zone", "host-key"),
        ({"pack": {"preferred": "host"}}, None, "host-key"),
        ({"packDomain": "zone"}, "example.com/zone", None),
        ({"pack": {"required": "row", "preferred": "host"}}, None, "host-key"),
    ],
)
def test_a_constraint_is_translated_as_far_as_the_levels_are_there(
    constraint: JSON, required: str | None, preferred: str | None
) -> None:
    found = levels.translated(codec.decode(constraint, TopologyConstraint), KEYS)
    assert found == GangTopologyConstraint(pack_constraint=PackConstraint(required=required, preferred=preferred))


def test_nothing_is_left_of_a_constraint_without_levels() -> None:
    assert levels.translated(None, KEYS) is None
    assert levels.translated(codec.decode({"packDomain": "row"}, TopologyConstraint), KEYS) is None
