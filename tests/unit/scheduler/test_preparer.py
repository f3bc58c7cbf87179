"""Volumes are had before the first pod of a gang is bound, and given back where that comes to nothing."""

from __future__ import annotations

from grove.api.kinds.schedulerconfig import SchedulerConfiguration
from grove.kube.errors import Conflict
from grove.kube.resources import NODES, PERSISTENT_VOLUME_CLAIMS, PODS, STORAGE_CLASSES, Resource
from grove.scheduler import assembly
from grove.scheduler.preparer import LONGEST
from tests.unit.scheduler.apiserver import Scheduler, SchedulerServer, play

SELECTED = "volume.kubernetes.io/selected-node"
CLAIMS = PERSISTENT_VOLUME_CLAIMS


def stage(server: SchedulerServer) -> Scheduler:
    """A node, a storage class whose volumes somebody makes, and a pod that wants one."""
    server.add_node("a")
    server.edit(NODES, "a", {"metadata": {"labels": {"kubernetes.io/hostname": "a"}}})
    server.put(
        STORAGE_CLASSES,
        {"metadata": {"name": "made"}, "provisioner": "example.com/x", "volumeBindingMode": "WaitForFirstConsumer"},
    )
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "made",
        "resources": {"requests": {"storage": "1Gi"}},
    }
    server.put(CLAIMS, {"metadata": {"name": "data", "namespace": "default"}, "spec": spec, "status": {}})
    server.add_pod("p", volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}])
    return Scheduler(server, mind=assembly.engine(SchedulerConfiguration())).start()


def selected(server: SchedulerServer) -> str:
    found: str = server.one(CLAIMS, "data")["metadata"].get("annotations", {}).get(SELECTED, "")
    return found


def test_a_pod_is_bound_when_its_volume_is_there() -> None:
    async def story(server: SchedulerServer) -> None:
        scheduler = stage(server)
        await server.clock.sleep(30)
        assert selected(server) == "a"
        assert server.where() == {}
        assert scheduler.term.binder.under_way == 0  # nobody is kept from being decided
        bound = {"metadata": {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}}}
        server.put(
            Resource("", "v1", "persistentvolumes", "PersistentVolume", namespaced=False),
            {"metadata": {"name": "v"}, "spec": {"storageClassName": "made"}, "status": {"phase": "Bound"}},
        )
        change = {**bound, "spec": {"volumeName": "v"}, "status": {"phase": "Bound"}}
        server.edit(CLAIMS, "data", change, "default")
        await server.clock.sleep(5)
        assert server.where() == {"p": "a"}
        await scheduler.kill()

    play(story)


def test_a_volume_that_does_not_come_is_given_up_in_the_end() -> None:
    async def story(server: SchedulerServer) -> None:
        scheduler = stage(server)
        await server.clock.sleep(1)
        assert selected(server) == "a"
        await server.clock.sleep(LONGEST)
        assert scheduler.term.binder.statistics().failed["NotPrepared"] == 1
        assert server.where() == {}
        await scheduler.kill()

    play(story)


def test_somebody_who_was_there_first_is_let_be() -> None:
    async def story(server: SchedulerServer) -> None:
        refusals: list[str] = []

        def fault(verb: str, resource: Resource, name: str) -> None:
            if resource == CLAIMS and len(refusals) < 3:
                refusals.append(name)
                raise Conflict("changed", code=409)

        server.fault = fault
        scheduler = stage(server)
        await server.clock.sleep(30)
        assert len(refusals) == 3
        assert selected(server) == "a"  # tried again
        assert server.where() == {}
        assert server.count(resource=PODS.plural, subresource="binding") == 0
        await scheduler.kill()

    play(story)
