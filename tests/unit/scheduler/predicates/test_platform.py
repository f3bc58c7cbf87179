"""Pods go to nodes that can run them."""

from __future__ import annotations

from grove.scheduler.cluster import Cluster
from grove.scheduler.predicates.platform import Platform
from tests.unit.scheduler.predicates.worlds import a_class, node, places, under, why

OS = "kubernetes.io/os"


def two() -> Cluster:
    able = {
        "features": {"supplementalGroupsPolicy": True},
        "declaredFeatures": ["RestartAllContainersOnContainerExits"],
    }
    return under(Platform, node("old", {OS: "windows"}), node("new", {OS: "linux"}, status=able))


def test_a_pod_goes_to_a_node_of_its_operating_system() -> None:
    cluster = two()
    assert places(cluster, a_class(cluster)) == ["old", "new"]
    assert places(cluster, a_class(cluster, os={"name": "linux"})) == ["new"]
    assert places(cluster, a_class(cluster, os={"name": "windows"})) == ["old"]
    assert why(cluster, a_class(cluster, os={"name": "linux"})) == ["operating system is windows, not linux", ""]


def test_a_node_that_does_not_say_its_system_may_have_any() -> None:
    cluster = under(Platform, node("a"))
    assert places(cluster, a_class(cluster, os={"name": "windows"})) == ["a"]


def test_strict_groups_need_a_runtime_that_knows_them() -> None:
    cluster = two()
    strict = a_class(cluster, securityContext={"supplementalGroupsPolicy": "Strict"})
    assert places(cluster, strict) == ["new"]
    assert why(cluster, strict) == ["node cannot do supplementalGroupsPolicy", ""]
    assert places(cluster, a_class(cluster, securityContext={"supplementalGroupsPolicy": "Merge"})) == ["old", "new"]


def test_a_pod_that_restarts_whole_needs_a_node_that_declares_it() -> None:
    cluster = two()

    def restarting(action: str) -> list[str]:
        rules = [{"action": action, "exitCodes": {"operator": "In", "values": [1]}}]
        return places(cluster, a_class(cluster, containers=[{"name": "c", "restartPolicyRules": rules}]))

    assert restarting("RestartAllContainers") == ["new"]
    assert restarting("Restart") == ["old", "new"]


def test_user_namespaces_in_the_hosts_network_need_a_node_that_declares_them() -> None:
    cluster = two()
    cls = a_class(cluster, hostNetwork=True, hostUsers=False)
    assert places(cluster, cls) == []
    cluster.node(node("new", {OS: "linux"}, status={"declaredFeatures": ["UserNamespacesHostNetworkSupport"]}))
    assert places(cluster, cls) == ["new"]
    cluster.node_gone("new")
    assert places(cluster, cls) == []
    assert places(cluster, a_class(cluster, hostNetwork=True)) == ["old"]
    assert places(cluster, a_class(cluster, hostUsers=False)) == ["old"]
