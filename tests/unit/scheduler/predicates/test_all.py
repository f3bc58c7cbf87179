"""All rules together."""

from grove.api.kinds.schedulerconfig import Nodes, SchedulerConfiguration
from grove.scheduler.cluster import Cluster
from grove.scheduler.predicates.all import rules
from grove.scheduler.surroundings import Surroundings
from tests.unit.scheduler.predicates.worlds import a_class, node, places, why


def test_a_node_must_please_every_rule_and_all_its_objections_are_told() -> None:
    cluster = Cluster()
    settings = SchedulerConfiguration(nodes=Nodes(owned_node_selector={"pool": "grove"}))
    cluster.obey(rules(cluster, Surroundings(), settings))
    cluster.node(node("good", {"pool": "grove"}))
    cluster.node(node("bad", {"pool": "other"}, status={"conditions": []}, unschedulable=True))
    cls = a_class(cluster, os={"name": "linux"})
    assert places(cluster, cls) == ["good"]
    assert why(cluster, cls) == ["", "not a node of this scheduler: see ownedNodeSelector, not ready, unschedulable"]


def test_every_rule_has_a_name_of_its_own() -> None:
    cluster = Cluster()
    names = [rule.name for rule in rules(cluster, Surroundings(), SchedulerConfiguration())]
    assert all(names)
    assert len({*names}) == len(names)
