"""Asks the real kube-scheduler and Grove's rules the same: may this pod run on any of these nodes?

A family is a few hundred cases, each a small world of its own beside the others in one cluster, so that they are
judged together:

    def test_pods_go_where_kubernetes_lets_them(judge: Judge) -> None:
        judge.agrees("ports", [case(random.Random(number)) for number in range(300)])

How cases are kept apart: in every text of a case, `$` stands for its own name (`ports-17`), which is also its
namespace. Names of nodes and of what is in no namespace must have it, topology keys and selectors over namespaces
should. Its nodes get the label CASE, and its pods, beside what they ask themselves, a nodeSelector for it.

kube-scheduler reads each kind on its own watch, so that a pod may be refused before what it needs was seen. Nodes and
pods are waited for; for all else, a case that disagrees is asked again, some times.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec
import yaml

from grove.api.kinds.schedulerconfig import SchedulerConfiguration
from grove.kube.client import Client
from grove.kube.decoding import Event
from grove.kube.discovery import Discovery
from grove.kube.errors import NotFound
from grove.kube.kubeconfig import connect
from grove.kube.objects import PodView
from grove.kube.resources import NAMESPACES, NODES, PODS, Resource
from grove.kube.watch import Watch
from grove.testing.controlplane import ControlPlane
from tests.cluster.scheduler.ours import Ours

JSON = dict[str, Any]

CASE: Final = "grove.test/case"
FAMILY: Final = "grove.test/family"
WITHIN: Final = 240.0
SILENCE: Final = 120.0
ASKED_AGAIN: Final = 3
SHOWN: Final = 5
LEAST_OF_EACH: Final = 0.15


@dataclass(frozen=True)
class Case:
    """A world. Everything is a manifest as users write it; `apiVersion` and `kind` only of `objects`."""

    nodes: Sequence[JSON]
    """With their status."""
    existing: Sequence[JSON]
    """With `spec.nodeName`. A `status` is written too, and one with `metadata.deletionTimestamp` is being deleted."""
    pod: JSON
    """The one that is judged."""
    objects: Sequence[JSON] = ()
    """What else there is, in the order in which it is created."""
    then: Sequence[JSON] = ()
    """Further pods, each judged when all before it have been, and are where kube-scheduler put them."""


@dataclass(frozen=True)
class Verdict:
    """What was said of a pod."""

    pod: PodView
    node: str = ""
    """Where kube-scheduler put it; empty: nowhere."""
    message: str = ""
    """Why nowhere."""


def container(name: str = "c", **more: Any) -> JSON:
    """A container as short as one can be."""
    return {"name": name, "image": "i", **more}


def node(name: str, labels: Mapping[str, str] | None = None, *, spec: JSON | None = None, **allocatable: Any) -> JSON:
    """A node that is ready, called `$-<name>`."""
    has = {"cpu": "8", "memory": "32Gi", "pods": "110"} | allocatable
    return {
        "metadata": {"name": f"$-{name}", "labels": {"kubernetes.io/hostname": f"$-{name}", **(labels or {})}},
        "spec": spec or {},
        "status": {
            "allocatable": has,
            "capacity": has,
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady", "message": ""}],
        },
    }


def pod(name: str, *, on: str = "", labels: Mapping[str, str] | None = None, **spec: Any) -> JSON:
    """A pod; `on` is the short name of its node."""
    placed = {"nodeName": f"$-{on}"} if on else {}
    return {
        "metadata": {"name": name, "labels": dict(labels or {})},
        "spec": {"containers": [container()], **spec, **placed},
    }


class Judge:
    """One control plane. Each family is judged once."""

    def __init__(self, cluster: ControlPlane) -> None:
        self._cluster = cluster

    def agrees(
        self, family: str, cases: Sequence[Case], *, settings: SchedulerConfiguration | None = None
    ) -> list[Verdict]:
        """Raises with the worlds on which Grove and kube-scheduler disagree; gives what was said of each pod.

        Raises too if nearly all were bound or nearly all refused: such worlds show little.
        """
        found = asyncio.run(self._agrees(family, cases, settings))
        bound = sum(bool(one.node) for one in found)
        if min(bound, len(found) - bound) < len(found) * LEAST_OF_EACH:
            raise AssertionError(f"{bound} of {len(found)} pods of {family} were bound: make the worlds less one-sided")
        return found

    async def _agrees(
        self, family: str, cases: Sequence[Case], settings: SchedulerConfiguration | None
    ) -> list[Verdict]:
        async with Client(connect(str(self._cluster.kubeconfig)), user_agent="judge", max_in_flight=32) as client:
            trial = Trial(client, await client.discover(), family, cases, Ours(settings))
            await trial.prepare()
            try:
                return await trial.judge()
            finally:
                await trial.clear()


class Trial:
    """One family."""

    def __init__(self, client: Client, served: Discovery, family: str, cases: Sequence[Case], ours: Ours) -> None:
        self._client = client
        self._served = served
        self._family = family
        self._ours = ours
        self._cases = [_named(case, f"{family}-{number}", family) for number, case in enumerate(cases)]

    # The worlds

    async def prepare(self) -> None:
        """Creates all worlds, and lets both sides see them."""
        await self._each(self._create_objects)
        await self._all(self._client.create(NODES, one) for case in self._cases for one in case.nodes)
        await self._each(self._create_existing)
        await self._nodes_are_seen()
        for number, case in enumerate(self._cases):
            name = self._name(number)
            for one in (_namespace(name), *case.objects):
                self._ours.learn(await self._read(one, name))
        for resource in (NODES, PODS):
            page = await self._client.list_all(resource, labels=f"{FAMILY}={self._family}")
            for one in page.items:
                self._ours.learn({**one, "kind": resource.kind})

    async def clear(self) -> None:
        """Takes away what would slow the next family down; nothing of it could be seen from there."""
        await self._all(
            self._client.delete_collection(PODS, namespace=self._name(number), grace_period=0)
            for number in range(len(self._cases))
        )
        await self._client.delete_collection(NODES, labels=f"{FAMILY}={self._family}")

    async def _create_objects(self, number: int) -> None:
        name = self._name(number)
        await self._client.create(NAMESPACES, _namespace(name))
        for one in self._cases[number].objects:
            resource = self._resource(one)
            namespace = _namespace_of(one, name) if resource.namespaced else ""
            leaves = "deletionTimestamp" in one["metadata"]
            meta = {key: value for key, value in one["metadata"].items() if key != "deletionTimestamp"}
            await self._client.create(resource, {**one, "metadata": meta}, namespace=namespace)
            if "status" in one:
                await self._patch_status(resource, one, namespace)
            if leaves:  # and stays, if the server gave it a finalizer
                await self._client.delete(resource, meta["name"], namespace=namespace)

    async def _create_existing(self, number: int) -> None:
        for one in self._cases[number].existing:
            namespace = _namespace_of(one, self._name(number))
            leaves = "deletionTimestamp" in one["metadata"]
            meta = {key: value for key, value in one["metadata"].items() if key != "deletionTimestamp"}
            await self._client.create(PODS, {**one, "metadata": meta}, namespace=namespace)
            if "status" in one:
                await self._patch_status(PODS, one, namespace)
            if leaves:  # and stays: there is no kubelet that would end it
                await self._client.delete(PODS, meta["name"], namespace=namespace)

    async def _patch_status(self, resource: Resource, one: JSON, namespace: str) -> None:
        change = {"status": one["status"]}
        await self._client.patch(resource, one["metadata"]["name"], change, namespace=namespace, subresource="status")

    async def _read(self, one: JSON, name: str) -> JSON:
        resource = self._resource(one)
        namespace = _namespace_of(one, name) if resource.namespaced else ""
        found = await self._client.get(resource, one["metadata"]["name"], namespace=namespace)
        return {**found, "kind": one["kind"]}

    async def _nodes_are_seen(self) -> None:
        """A pod that fits only on the node that came last is bound when kube-scheduler has seen all nodes."""
        name = f"{self._family}-last"
        last = _named(Case([node("node")], [], pod("pod")), name, self._family)
        await self._client.create(NAMESPACES, _namespace(name))
        await self._client.create(NODES, last.nodes[0])
        (seen,) = await self._ask({name: last.pod})
        if not seen.node:
            raise RuntimeError(f"kube-scheduler places no pod at all: {seen.message}")
        await self._client.delete(PODS, "pod", namespace=name, grace_period=0)
        await self._client.delete(NODES, last.nodes[0]["metadata"]["name"])

    # The judgement

    async def judge(self) -> list[Verdict]:
        """Round after round, one pod of each case in each."""
        found: list[Verdict] = []
        differing: dict[int, str] = {}
        for turn in range(max(1 + len(case.then) for case in self._cases)):
            pods = {
                number: ([case.pod, *case.then])[turn]
                for number, case in enumerate(self._cases)
                if turn <= len(case.then) and number not in differing
            }
            verdicts = dict(zip(pods, await self._ask_of(pods), strict=True))
            for _ in range(ASKED_AGAIN):
                again = {number: pods[number] for number, one in verdicts.items() if self._differ(number, one)}
                if not again:
                    break
                await self._forget(again)
                verdicts |= zip(again, await self._ask_of(again), strict=True)
            for number, one in verdicts.items():
                if problem := self._differ(number, one):
                    differing[number] = problem
                elif one.node:
                    self._ours.put(one.pod, one.node)
            found += verdicts.values()
        if differing:
            texts = [self._world(number, text) for number, text in [*differing.items()][:SHOWN]]
            count = f"{len(differing)} of {len(self._cases)} cases of {self._family} differ"
            raise AssertionError("\n".join((count, *texts)))
        return found

    def _differ(self, number: int, verdict: Verdict) -> str:
        """What is wrong with our answer; empty: nothing."""
        places = self._ours.places(verdict.pod)
        own = [one["metadata"]["name"] for one in self._cases[number].nodes]
        if strange := places - set(own):
            return f"ours would place it on {sorted(strange)[:3]}, which kube-scheduler did not even look at"
        if verdict.node and verdict.node not in places:
            reasons = self._ours.reasons(verdict.pod, verdict.node)
            return f"kube-scheduler bound it to {verdict.node}; ours says: {', '.join(reasons)}"
        if places and not verdict.node:
            return f"ours would place it on {sorted(places)}; kube-scheduler says: {verdict.message}"
        return ""

    def _world(self, number: int, problem: str) -> str:
        case = dataclasses.asdict(self._cases[number])
        return f"--- # {self._name(number)}: {problem}\n{yaml.safe_dump(case, sort_keys=False)}"

    async def _ask_of(self, pods: Mapping[int, JSON]) -> list[Verdict]:
        return await self._ask({self._name(number): one for number, one in pods.items()})

    async def _ask(self, pods: Mapping[str, JSON]) -> list[Verdict]:
        """What kube-scheduler says of pods, by the namespaces of their cases; it is asked about all at once."""
        selector = f"{FAMILY}={self._family}"
        page = await self._client.list(PODS, labels=selector, limit=1)
        created: dict[str, str] = {}
        verdicts: dict[str, Verdict] = {}

        async def create(name: str, one: JSON) -> None:
            made = await self._client.create(PODS, one, namespace=_namespace_of(one, name))
            created[made["metadata"]["uid"]] = name

        changed = asyncio.Event()

        async def listen(events: Watch[Any]) -> None:
            async for event in events:
                if isinstance(event, Event) and (verdict := _verdict(event.object)):
                    verdicts.setdefault(verdict.pod.metadata.uid or "", verdict)
                    changed.set()

        version = page.resource_version
        async with (
            asyncio.timeout(WITHIN),
            self._client.watch(PODS, labels=selector, resource_version=version, timeout=2 * WITHIN) as events,
            asyncio.TaskGroup() as tasks,
        ):
            listening = tasks.create_task(listen(events))
            await self._all(create(name, one) for name, one in pods.items())
            while silent := created.keys() - verdicts.keys():
                changed.clear()
                try:
                    await asyncio.wait_for(changed.wait(), SILENCE)
                except TimeoutError:
                    names = sorted(created[uid] for uid in silent)
                    raise RuntimeError(f"kube-scheduler says nothing of the pods of {', '.join(names)}") from None
            listening.cancel()
        by_name = {name: verdicts[uid] for uid, name in created.items()}
        return [by_name[name] for name in pods]

    async def _forget(self, pods: Mapping[int, JSON]) -> None:
        for number, one in pods.items():
            namespace, name = _namespace_of(one, self._name(number)), one["metadata"]["name"]
            await self._client.delete(PODS, name, namespace=namespace, grace_period=0)
            try:
                await self._client.get(PODS, name, namespace=namespace)
            except NotFound:
                continue
            raise RuntimeError(f"{namespace}/{name} is still there: a judged pod has no finalizers")

    # Small things

    def _name(self, number: int) -> str:
        return f"{self._family}-{number}"

    def _resource(self, one: JSON) -> Resource:
        found = self._served.find(one["apiVersion"], one["kind"])
        if found is None:
            raise ValueError(f"no {one['kind']} of {one['apiVersion']} is served")
        return found.resource

    async def _each(self, do: Callable[[int], Awaitable[None]]) -> None:
        await self._all(do(number) for number in range(len(self._cases)))

    async def _all(self, jobs: Iterable[Awaitable[Any]]) -> None:
        await asyncio.gather(*jobs)


def _verdict(pod: JSON) -> Verdict | None:
    """What kube-scheduler has made of a pod; None: nothing yet."""
    if node_name := pod["spec"].get("nodeName"):
        return Verdict(_view(pod), node=node_name)
    for condition in pod.get("status", {}).get("conditions") or ():
        if condition["type"] == "PodScheduled" and condition["reason"] != "SchedulerError":
            return Verdict(_view(pod), message=f"{condition['reason']}: {condition.get('message', '')}")
    # It waits until its volumes are bound, for which there is no controller here.
    if node_name := pod.get("status", {}).get("nominatedNodeName"):
        return Verdict(_view(pod), node=node_name)
    return None


def _view(pod: JSON) -> PodView:
    """The pod before it was bound."""
    spec = {key: value for key, value in pod["spec"].items() if key != "nodeName"}
    return msgspec.convert({"metadata": pod["metadata"], "spec": spec}, PodView)


def _named(case: Case, name: str, family: str) -> Case:
    """The case with its name in place of `$`, and kept apart from others."""
    whole = json.loads(json.dumps(dataclasses.asdict(case)).replace("$", name))
    for one in whole["nodes"]:
        one["metadata"].setdefault("labels", {}).update({CASE: name, FAMILY: family})
    for one in (*whole["existing"], whole["pod"], *whole["then"]):
        one["metadata"].setdefault("labels", {})[FAMILY] = family
    for one in (whole["pod"], *whole["then"]):
        one["spec"].setdefault("nodeSelector", {})[CASE] = name
    return Case(**whole)


def _namespace(name: str) -> JSON:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def _namespace_of(one: JSON, default: str) -> str:
    found: str = one["metadata"].get("namespace", default)
    return found
