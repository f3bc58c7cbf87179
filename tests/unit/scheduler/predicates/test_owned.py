"""The nodes that the configuration gives to this scheduler."""

from grove.scheduler.predicates.owned import Owned
from tests.unit.scheduler.predicates.worlds import a_class, node, places, under, why


def test_only_nodes_of_this_scheduler_are_used() -> None:
    cluster = under(lambda cluster: Owned(cluster, {"pool": "grove"}), node("a", {"pool": "grove"}), node("b"))
    cls = a_class(cluster)
    assert places(cluster, cls) == ["a"]
    assert why(cluster, cls) == ["", "not a node of this scheduler: see ownedNodeSelector"]
    cluster.node(node("b", {"pool": "grove"}))
    assert places(cluster, cls) == ["a", "b"]


def test_without_a_selector_all_are() -> None:
    cluster = under(lambda cluster: Owned(cluster, {}), node("a"), node("b"))
    assert places(cluster, a_class(cluster)) == ["a", "b"]
