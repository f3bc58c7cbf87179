"""Who waits for whom."""

from __future__ import annotations

from typing import Any

from grove.operator import startup
from grove.operator.tree import CliquePlace, Copies, Tree
from tests.unit.operator.podcliqueset.builders import clique, group, pcs

IN_ORDER, EXPLICIT = "CliqueStartupTypeInOrder", "CliqueStartupTypeExplicit"


def training(kind: str, copies: Copies | None = None) -> Tree:
    """The overview's set: a coordinator, and a group of workers and a parameter server."""
    cliques = [
        clique("coordinator", startsAfter=["parameter-server"]),
        clique("worker", 4, minAvailable=3, startsAfter=["coordinator"]),
        clique("parameter-server"),
    ]
    groups = [group("workers", ["worker", "parameter-server"], replicas=2)]
    return Tree(pcs(*cliques, groups=groups, name="training", cliqueStartupType=kind), copies or {})


def waits_for(tree: Tree, clique: str, **place: Any) -> list[str]:
    return [tree.clique_name(one) for one in startup.parents(tree, CliquePlace(0, clique, **place))]


def test_in_any_order_nobody_waits_whatever_is_stated() -> None:
    tree = training("CliqueStartupTypeAnyOrder")
    assert startup.waits(tree) == []
    assert waits_for(tree, "coordinator") == []


def test_explicitly_as_the_overview_says() -> None:
    tree = training(EXPLICIT)
    assert waits_for(tree, "coordinator") == ["training-0-workers-0-parameter-server"]
    assert waits_for(tree, "worker", group="workers", copy=0) == ["training-0-coordinator"]
    assert waits_for(tree, "worker", group="workers", copy=1) == []
    assert startup.waits(tree) == ["coordinator", "worker"]


def test_in_order_each_waits_for_the_one_before_it() -> None:
    tree = training(IN_ORDER)
    assert waits_for(tree, "coordinator") == []
    assert waits_for(tree, "worker", group="workers", copy=0) == ["training-0-coordinator"]
    assert waits_for(tree, "parameter-server", group="workers", copy=0) == ["training-0-workers-0-worker"]
    assert startup.waits(tree) == ["worker", "parameter-server"]


def test_in_a_scaled_gang_only_members_of_the_same_copy_are_waited_for() -> None:
    tree = training(IN_ORDER, {(0, "workers"): 3})
    assert waits_for(tree, "worker", group="workers", copy=2) == []
    assert waits_for(tree, "parameter-server", group="workers", copy=2) == ["training-0-workers-2-worker"]


def test_in_the_base_gang_all_its_copies_of_a_parent_are_waited_for() -> None:
    cliques = [clique("a"), clique("b", startsAfter=["a"]), clique("c", startsAfter=["a", "b"])]
    groups = [group("g", ["a", "b"], replicas=4, minAvailable=2)]
    tree = Tree(pcs(*cliques, groups=groups, cliqueStartupType=EXPLICIT), {})
    assert waits_for(tree, "b", group="g", copy=1) == ["demo-0-g-0-a", "demo-0-g-1-a"]
    assert waits_for(tree, "c") == ["demo-0-g-0-a", "demo-0-g-1-a", "demo-0-g-0-b", "demo-0-g-1-b"]


def test_copies_that_are_not_to_exist_are_not_waited_for() -> None:
    cliques = [clique("a"), clique("b")]
    tree = Tree(
        pcs(*cliques, groups=[group("g", ["a"], replicas=2, minAvailable=2)], cliqueStartupType=IN_ORDER),
        {(0, "g"): 0},
    )
    assert waits_for(tree, "b") == []
