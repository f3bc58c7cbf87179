"""The PodClique controller on a real control plane, with simulated nodes; the test plays the other controllers."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

from grove.api import labels
from grove.api.kinds import catalog
from grove.api.kinds.podcliqueset import PodCliqueSet
from grove.api.policy import Policy
from grove.kube.cachedclient import Caches
from grove.kube.client import Client
from grove.kube.events import Recorder
from grove.kube.eventstore import ClientEvents
from grove.kube.kubeconfig import connect
from grove.operator.backends.registry import Backends
from grove.operator.podclique.reconcile import PodCliqueReconciler
from grove.operator.podclique.settings import PodSettings
from grove.operator.podclique.sources import sources
from grove.operator.tree import CliquePlace, Tree
from grove.operator.world import World
from grove.operator.writer import Writer
from grove.runtime.clock import SystemClock
from grove.runtime.controller import Controller
from grove.testing.controlplane import ControlPlane
from grove.testing.kubectl import Kubectl
from grove.testing.waiting import eventually
from tests.cluster.nodes.conftest import Start
from tests.cluster.nodes.fleet import PATIENCE, Fleet, Pods, condition, status_of
from tests.cluster.objects import MERGE, Objects

JSON = dict[str, Any]

RESTRICTED: JSON = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}


@pytest.fixture(scope="module")
def fleet(start: Start) -> Fleet:
    return start("podcliques", "--count", "2").started()


class Operator:
    """The controller in a thread of its own."""

    def __init__(self, cluster: ControlPlane) -> None:
        self._cluster = cluster
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._run(),))
        self._ended: asyncio.Event = asyncio.Event()

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join(PATIENCE)
        self._loop.close()

    async def _run(self) -> None:
        clock, rng = SystemClock(), random.Random(1)
        async with Client(connect(str(self._cluster.kubeconfig)), field_manager="grove-operator") as client:
            caches = Caches(client, clock=clock, rng=rng)
            world = World(caches)
            recorder = Recorder(ClientEvents(client), component="operator", instance="test", clock=clock, rng=rng)
            reconcile = PodCliqueReconciler(
                world=world,
                writer=Writer(client, caches),
                recorder=recorder,
                clock=clock,
                backends=Backends(Policy(default_scheduler="default-scheduler")),
                settings=PodSettings(
                    waiter_image="grove-initc:test", waiter_resources={"requests": {"cpu": "10m", "memory": "64Mi"}}
                ),
            )
            controller = Controller("podclique", reconcile, sources(world), clock=clock, rng=rng, workers=4)
            tasks = [asyncio.ensure_future(part.run()) for part in (caches, recorder, controller)]
            await self._ended.wait()
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)


class Others:
    """What the controllers of sets and gangs do."""

    def __init__(self, cluster: ControlPlane, objects: Objects, namespace: str, fleet: str) -> None:
        self.cluster = cluster
        self.objects = objects
        self.namespace = namespace
        containers = [{"name": "main", "image": "main:v1", "securityContext": RESTRICTED}]
        pod: JSON = {
            "containers": containers,
            "nodeSelector": {"simulate.grove.io/fleet": fleet},
            "terminationGracePeriodSeconds": 1,
        }
        self.pod = pod
        cliques = [
            {"name": "router", "spec": {"roleName": "router", "replicas": 1, "minAvailable": 1, "podSpec": pod}},
            {"name": "worker", "spec": {"roleName": "worker", "replicas": 3, "minAvailable": 2, "podSpec": pod}},
        ]
        template = {"cliques": cliques, "cliqueStartupType": "CliqueStartupTypeInOrder"}
        body = {"metadata": {"name": "demo"}, "spec": {"replicas": 1, "template": template}}
        body |= {"apiVersion": "grove.io/v1alpha1", "kind": "PodCliqueSet"}
        self.set = objects.create(catalog.POD_CLIQUE_SET, body)
        self.tree = Tree(msgspec.convert(self.set, PodCliqueSet), {})
        self.patch(catalog.POD_CLIQUE_SET, "demo", {"status": {"currentGenerationHash": "one"}}, "status")

    def make_clique(self, name: str) -> str:
        place = CliquePlace(0, name)
        full = self.tree.clique_name(place)
        owner = {"apiVersion": "grove.io/v1alpha1", "kind": "PodCliqueSet", "name": "demo", "controller": True}
        metadata = {
            "name": full,
            "labels": self.tree.clique_labels(place),
            "annotations": self.tree.clique_annotations(place),
            "finalizers": [labels.POD_CLIQUE_FINALIZER],
            "ownerReferences": [{**owner, "uid": self.set["metadata"]["uid"]}],
        }
        body = {"metadata": metadata, "spec": self.tree.clique_spec(place)}
        self.objects.create(catalog.POD_CLIQUE, body | {"apiVersion": "grove.io/v1alpha1", "kind": "PodClique"})
        return full

    def patch(self, kind: catalog.Kind, name: str, change: JSON, subresource: str = "") -> None:
        path = self.objects.path(kind, name, subresource)
        status, answer = self.cluster.request("PATCH", path, change, content_type=MERGE)
        assert status == 200, answer

    def pods(self, clique: str = "") -> list[JSON]:
        chosen = f"{labels.POD_CLIQUE}={clique}" if clique else labels.POD_CLIQUE
        path = f"/api/v1/namespaces/{self.namespace}/pods?labelSelector={chosen}"
        found: list[JSON] = self.cluster.request("GET", path)[1]["items"]
        return found

    def live(self, clique: str) -> list[JSON]:
        return [one for one in self.pods(clique) if "deletionTimestamp" not in one["metadata"]]

    def make_gang(self) -> None:
        groups = [
            {
                "name": clique,
                "minReplicas": least,
                "podReferences": [
                    {"namespace": self.namespace, "name": one["metadata"]["name"]} for one in self.live(clique)
                ],
            }
            for clique, least in (("demo-0-router", 1), ("demo-0-worker", 2))
        ]
        status, _ = self.cluster.request("GET", self.objects.path(catalog.POD_GANG, "demo-0"))
        if status == 200:
            self.patch(catalog.POD_GANG, "demo-0", {"spec": {"podgroups": groups}})
            return
        body = {"metadata": {"name": "demo-0"}, "spec": {"podgroups": groups}}
        self.objects.create(catalog.POD_GANG, body | {"apiVersion": "scheduler.grove.io/v1alpha1", "kind": "PodGang"})
        initialized = {
            "type": "Initialized",
            "status": "True",
            "reason": "PodGangPodsCreated",
            "message": "",
            "lastTransitionTime": "2030-01-01T00:00:00Z",
        }
        self.patch(catalog.POD_GANG, "demo-0", {"status": {"phase": "Pending", "conditions": [initialized]}}, "status")

    def let_waiters_ask(self) -> None:
        rbac = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{self.namespace}"
        rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]}]
        self.cluster.create(f"{rbac}/roles", {"metadata": {"name": "waiter"}, "rules": rules})
        subject = {"kind": "ServiceAccount", "name": "default", "namespace": self.namespace}
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "waiter"}
        binding = {"metadata": {"name": "waiter"}, "subjects": [subject], "roleRef": role}
        self.cluster.create(f"{rbac}/rolebindings", binding)

    def when_clique(self, name: str, until: Callable[[JSON], object]) -> JSON:
        return eventually(
            lambda: self.objects.get(catalog.POD_CLIQUE, name),
            lambda found: "status" in found and until(found["status"]),
            timeout=PATIENCE,
            message=f"PodClique {name} is not as it should be",
        )


@pytest.fixture
def operator(cluster: ControlPlane, grove_crds: None) -> Iterator[Operator]:
    running = Operator(cluster)
    running.start()
    yield running
    running.stop()


@pytest.fixture
def others(cluster: ControlPlane, objects: Objects, namespace: str, fleet: Fleet) -> Others:
    enforce = {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}
    status, answer = cluster.request("PATCH", f"/api/v1/namespaces/{namespace}", enforce, content_type=MERGE)
    assert status == 200, answer
    return Others(cluster, objects, namespace, fleet.name)


def test_the_life_of_two_podcliques(operator: Operator, others: Others, pods: Pods, kubectl: Kubectl) -> None:
    others.let_waiters_ask()
    router, worker = others.make_clique("router"), others.make_clique("worker")

    # They come up, behind our gate and in order.
    eventually(lambda: len(others.pods()), lambda count: count == 4, timeout=PATIENCE)
    assert all(one["spec"]["schedulingGates"] == [{"name": labels.SCHEDULING_GATE}] for one in others.pods())
    others.make_gang()
    for one in others.pods(worker):
        ready = pods.ready(one["metadata"]["name"])
        assert status_of(ready, "grove-initc")["state"]["terminated"]["exitCode"] == 0
        assert ready["spec"]["hostname"].startswith(f"{worker}-")
    told = others.when_clique(worker, lambda status: status.get("readyReplicas") == 3)["status"]
    assert (told["phase"], told["currentPodCliqueSetGenerationHash"]) == ("Running", "one")
    assert "updateProgress" not in told

    # A pod that fails is replaced, with its index.
    lost = others.live(worker)[1]
    path = f"{pods.path}/{lost['metadata']['name']}/status"
    assert others.cluster.request("PATCH", path, {"status": {"phase": "Failed"}}, content_type=MERGE)[0] == 200
    index = labels.POD_CLIQUE_POD_INDEX
    fresh = eventually(
        lambda: [
            one for one in others.live(worker) if "grove.io/replacements" in one["metadata"].get("annotations", {})
        ],
        timeout=PATIENCE,
        message="the failed pod is not replaced",
    )
    assert fresh[0]["metadata"]["labels"][index] == lost["metadata"]["labels"][index]
    others.make_gang()
    others.when_clique(worker, lambda status: status.get("readyReplicas") == 3)

    # Scaling in takes the youngest.
    kubectl.run("scale", "pclq", worker, "--replicas=2")
    eventually(lambda: len(others.live(worker)) == 2, timeout=PATIENCE)
    others.when_clique(worker, lambda status: status.get("replicas") == 2)

    # A changed template goes round pod by pod.
    containers = [{**others.pod["containers"][0], "image": "main:v2"}]
    template = {"spec": {"podSpec": {"containers": containers}}}
    others.patch(catalog.POD_CLIQUE, worker, {"metadata": {"labels": {labels.POD_TEMPLATE_HASH: "two"}}, **template})

    def is_updated(status: JSON) -> bool:
        others.make_gang()
        return bool(status.get("updateProgress", {}).get("updateEndedAt"))

    told = others.when_clique(worker, is_updated)["status"]
    assert (told["updatedReplicas"], told["phase"]) == (2, "Running")
    assert {one["spec"]["containers"][0]["image"] for one in others.live(worker)} == {"main:v2"}

    # What goes takes its pods along.
    kubectl.run("delete", "pclq", worker, router, "--wait=true")
    eventually(lambda: not others.pods(), timeout=PATIENCE, message="pods stay")
    events = kubectl.run("get", "events", "-o", "jsonpath={.items[*].reason}").stdout
    assert "PodDeleteSuccessful" in events
    assert condition(told | {"status": told}, "UpdateInProgress") == "False"
