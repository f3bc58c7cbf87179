"""What a PodCliqueSet is made of: the examples of the tutorial and of the architecture page, by name."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from grove.api import labels
from grove.operator.tree import (
    TEMPLATE_REPLICAS,
    CliquePlace,
    Copies,
    GangPlace,
    GroupPlace,
    Tree,
    least,
    with_environment,
)
from tests.unit.operator.podcliqueset.builders import clique, decoded, group, pcs

EXAMPLES = Path("examples")


def example(name: str, copies: Copies | None = None) -> Tree:
    return Tree(decoded(yaml.safe_load((EXAMPLES / f"{name}.yaml").read_text())), copies or {})


def cliques(tree: Tree) -> list[str]:
    return [tree.clique_name(place) for gang in tree.gangs() for place in tree.gang_cliques(gang)]


def pods(tree: Tree) -> int:
    places = [place for gang in tree.gangs() for place in tree.gang_cliques(gang)]
    return sum(tree.cliques[place.clique].spec.replicas for place in places)


@pytest.mark.parametrize(
    ("name", "count", "names"),
    [
        ("single-node-aggregated", 2, ["single-node-aggregated-0-model-worker"]),
        ("single-node-disaggregated", 5, ["single-node-disaggregated-0-prefill", "single-node-disaggregated-0-decode"]),
        (
            "multi-node-disaggregated",
            13,
            [
                "multinode-disaggregated-0-prefill-0-pleader",
                "multinode-disaggregated-0-prefill-0-pworker",
                "multinode-disaggregated-0-decode-0-dleader",
                "multinode-disaggregated-0-decode-0-dworker",
                "multinode-disaggregated-0-prefill-1-pleader",
                "multinode-disaggregated-0-prefill-1-pworker",
            ],
        ),
        (
            "complete-inference-pipeline",
            11,
            [
                "comp-inf-ppln-0-frontend",
                "comp-inf-ppln-0-vision-encoder",
                "comp-inf-ppln-0-prefill-0-pleader",
                "comp-inf-ppln-0-prefill-0-pworker",
                "comp-inf-ppln-0-decode-cluster-0-dleader",
                "comp-inf-ppln-0-decode-cluster-0-dworker",
            ],
        ),
    ],
)
def test_the_sets_of_the_tutorial_have_its_names_and_numbers_of_pods(name: str, count: int, names: list[str]) -> None:
    tree = example(name)
    assert cliques(tree) == names
    assert pods(tree) == count


def test_the_second_set_of_the_tutorial_with_nodes_has_eight_pods() -> None:
    assert pods(example("multi-node-aggregated")) == 8


def test_a_base_gang_lists_cliques_before_groups_and_scaled_gangs_count_from_zero() -> None:
    tree = example("simple1", {(0, "sga"): 3})
    names = [
        (tree.gang_name(gang), [tree.clique_name(place) for place in tree.gang_cliques(gang)]) for gang in tree.gangs()
    ]
    assert names == [
        ("simple1-0", ["simple1-0-pca", "simple1-0-pcd", "simple1-0-sga-0-pcb", "simple1-0-sga-0-pcc"]),
        ("simple1-0-sga-0", ["simple1-0-sga-1-pcb", "simple1-0-sga-1-pcc"]),
        ("simple1-0-sga-1", ["simple1-0-sga-2-pcb", "simple1-0-sga-2-pcc"]),
    ]
    labels_of = tree.clique_labels(CliquePlace(0, "pcb", "sga", 2))
    assert labels_of[labels.POD_GANG] == "simple1-0-sga-1"
    assert labels_of[labels.BASE_POD_GANG] == "simple1-0"


def test_a_group_that_is_scaled_below_its_minimum_keeps_the_rest_of_the_base_gang() -> None:
    tree = example("simple1", {(0, "sga"): 0})
    assert cliques(tree) == ["simple1-0-pca", "simple1-0-pcd"]


def test_only_gangs_that_are_to_exist_are_had() -> None:
    tree = example("simple1", {(0, "sga"): 2})
    assert tree.has_gang(GangPlace(0))
    assert tree.has_gang(GangPlace(0, "sga", 1))
    for place in (GangPlace(1), GangPlace(-1), GangPlace(0, "sga", 0), GangPlace(0, "sga", 2), GangPlace(0, "x", 1)):
        assert not tree.has_gang(place)


def test_labels_of_the_operator_win_over_those_of_the_template() -> None:
    template = clique("a", labels={"app": "x", labels.PART_OF: "mine"}, roleName="not a label!")
    found = Tree(pcs(template), {}).clique_labels(CliquePlace(0, "a"))
    assert (found["app"], found[labels.PART_OF], found[labels.NAME]) == ("x", "demo", "demo-0-a")
    assert found[labels.COMPONENT] == "pcs-podclique"
    assert found[labels.POD_CLIQUE_SET_REPLICA_INDEX] == "0"
    assert labels.ROLE not in found
    assert labels.BASE_POD_GANG not in found


def test_the_role_is_a_label_where_it_can_be_one() -> None:
    assert Tree(pcs(clique("a", roleName="leader")), {}).clique_labels(CliquePlace(0, "a"))[labels.ROLE] == "leader"


def test_members_carry_their_group_and_copy() -> None:
    tree = Tree(pcs(clique("a"), groups=[group("g", ["a"])]), {})
    found = tree.clique_labels(CliquePlace(0, "a", "g", 0))
    assert (found[labels.SCALING_GROUP], found[labels.SCALING_GROUP_REPLICA_INDEX]) == ("demo-0-g", "0")
    assert found[labels.COMPONENT] == "pcsg-podclique"


def test_the_name_of_the_topology_stays_at_the_template() -> None:
    tree = Tree(pcs(clique("a", annotations={labels.TOPOLOGY_NAME: "t", "note": "x"})), {})
    assert tree.clique_annotations(CliquePlace(0, "a")) == {"note": "x", TEMPLATE_REPLICAS: "1"}


def test_a_group_inherits_the_network_domain_of_its_set_unless_it_says_its_own() -> None:
    tree = Tree(
        pcs(
            clique("a"),
            clique("b"),
            groups=[group("g", ["a"]), group("h", ["b"], annotations={labels.MNNVL_GROUP: "own"})],
            annotations={labels.MNNVL_GROUP: "whole"},
        ),
        {},
    )
    assert tree.group_annotations(GroupPlace(0, "g"))[labels.MNNVL_GROUP] == "whole"
    assert tree.group_annotations(GroupPlace(0, "h"))[labels.MNNVL_GROUP] == "own"


def test_the_spec_of_a_podclique_names_its_parents_in_full() -> None:
    tree = example("simple1")
    spec = tree.clique_spec(CliquePlace(0, "pcd"))
    assert spec["startsAfter"] == ["simple1-0-sga-0-pcb", "simple1-0-sga-0-pcc"]
    assert (spec["replicas"], spec["minAvailable"], spec["roleName"]) == (2, 2, "pcd")
    assert "autoScalingConfig" not in spec
    assert tree.clique_spec(CliquePlace(0, "pca"))["autoScalingConfig"]["maxReplicas"] == 5


def test_the_priority_of_the_set_is_that_of_pods_that_state_none() -> None:
    tree = Tree(pcs(clique("a"), clique("b", pod={"priorityClassName": "own"}), priorityClassName="high"), {})
    assert tree.pod_spec(CliquePlace(0, "a"))["priorityClassName"] == "high"
    assert tree.pod_spec(CliquePlace(0, "b"))["priorityClassName"] == "own"
    assert "priorityClassName" not in Tree(pcs(clique("a")), {}).pod_spec(CliquePlace(0, "a"))


def test_containers_of_members_know_their_group_first_and_users_may_build_on_it() -> None:
    variables = [{"name": "GROVE_PCSG_INDEX", "value": "mine"}, {"name": "MODE", "value": "$(GROVE_PCSG_NAME)"}]
    containers = [{"name": "main", "image": "i", "env": variables}]
    pod = {"containers": containers, "initContainers": [{"name": "first", "image": "i"}]}
    tree = Tree(pcs(clique("a", 3, pod=pod), clique("b", 2), groups=[group("g", ["a", "b"])]), {})
    found = tree.pod_spec(CliquePlace(0, "a", "g", 0))
    names = [one["name"] for one in found["containers"][0]["env"]]
    assert names == ["GROVE_PCSG_NAME", "GROVE_PCSG_TEMPLATE_NUM_PODS", "GROVE_PCSG_INDEX", "MODE"]
    assert found["containers"][0]["env"][1]["value"] == "5"
    assert len(found["initContainers"][0]["env"]) == 3
    assert tree.cliques["a"].spec.pod_spec["containers"][0]["env"] == variables  # the template is left alone


def test_a_pod_spec_without_init_containers_gets_none() -> None:
    assert with_environment({"containers": [{"name": "a"}]}, []) == {"containers": [{"name": "a", "env": []}]}


def test_the_minimum_is_all_pods_where_nobody_has_filled_it_in() -> None:
    tree = Tree(pcs(clique("a", 3, minAvailable=2)), {})
    assert least(tree.cliques["a"].spec) == 2


def test_a_group_exists_as_often_as_its_template_says_until_it_is_there() -> None:
    tree = Tree(pcs(clique("a"), groups=[group("g", ["a"], replicas=4, minAvailable=2)], replicas=2), {(1, "g"): 7})
    assert (tree.copies(0, "g"), tree.copies(1, "g")) == (4, 7)
    assert tree.group_spec(GroupPlace(0, "g")) == {"replicas": 4, "minAvailable": 2, "cliqueNames": ["a"]}


def test_names_that_would_be_too_long_are_shortened_and_stay_apart() -> None:
    cliques = [clique("parameter-server"), clique("parameter-servant")]
    groups = [group("training-infrastructure", ["parameter-server", "parameter-servant"])]
    tree = Tree(pcs(*cliques, groups=groups, name="distributed-training-of-models"), {})
    names = {tree.clique_name(place) for place in tree.member_places(0, "training-infrastructure", 0)}
    assert len(names) == 2
    assert all(len(name) <= 59 for name in names)
