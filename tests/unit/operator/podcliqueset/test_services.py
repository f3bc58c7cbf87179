"""The headless Services of a set."""

from grove.operator.podcliqueset import services
from grove.operator.tree import Tree
from tests.unit.operator.podcliqueset.builders import Stage, clique, pcs


def test_a_service_finds_the_pods_of_its_replica_and_nothing_else() -> None:
    first, second = services.wanted(Tree(pcs(clique("a"), replicas=2), {}))
    assert [one["metadata"]["name"] for one in (first, second)] == ["demo-0", "demo-1"]
    assert second["spec"] == {
        "selector": {
            "app.kubernetes.io/managed-by": "grove-operator",
            "app.kubernetes.io/part-of": "demo",
            "grove.io/podcliqueset-replica-index": "1",
        },
        "clusterIP": "None",
        "publishNotReadyAddresses": True,
    }
    assert second["metadata"]["labels"]["app.kubernetes.io/component"] == "pcs-headless-service"
    (owner,) = second["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"], owner["controller"]) == ("PodCliqueSet", "uid-demo", True)


def test_a_set_may_do_without_services_and_loses_those_it_has() -> None:
    stage = Stage(pcs(clique("a"), replicas=2))
    stage.settle()
    stage.pcs = pcs(clique("a"), replicas=2, headlessServiceConfig={"enabled": False})
    found = services.plan(stage.tree, stage.snapshot().services)
    assert len(found.deletes) == 2
    assert not found.creates


def test_a_service_that_somebody_changed_is_put_right_in_the_fields_that_differ() -> None:
    stage = Stage(pcs(clique("a")))
    stage.settle()
    held = stage.services["demo-0"]["spec"]
    held["selector"]["more"] = "narrow"
    held["publishNotReadyAddresses"] = False
    held["ipFamilies"] = ["IPv4"]  # what the API server fills in
    (patch,) = services.plan(stage.tree, stage.snapshot().services).patches
    assert patch.change["spec"]["publishNotReadyAddresses"] is True
    assert patch.change["spec"]["selector"]["more"] is None
    assert "ipFamilies" not in patch.change["spec"]


def test_the_wish_not_to_publish_pods_that_are_not_ready_reaches_services_that_exist() -> None:
    stage = Stage(pcs(clique("a")))
    stage.settle()
    stage.pcs = pcs(clique("a"), headlessServiceConfig={"publishNotReadyAddresses": False})
    (patch,) = services.plan(stage.tree, stage.snapshot().services).patches
    assert patch.change == {"spec": {"publishNotReadyAddresses": False}}
