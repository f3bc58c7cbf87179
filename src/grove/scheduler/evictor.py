"""Evicts pods for a gang of higher priority, as the engine has planned.

The plan is written on the gang first. Victims go by the Eviction API, which honours disruption budgets: where one
forbids it, it is asked again until the time of the plan is up. Gangs and pods say by whom they were disrupted, and the
pods that will come in their place say where.
"""

from __future__ import annotations

import asyncio
import datetime
import logging
import random
from collections import Counter
from typing import Final, NamedTuple

from msgspec.structs import replace

from grove.api import conditions, statuses
from grove.api.conditions import timestamp
from grove.api.fields import JSON
from grove.api.kinds.meta import Condition
from grove.api.kinds.podgang import PodGangStatus
from grove.kube.cachedclient import CachedClient
from grove.kube.client import Client
from grove.kube.clock import Clock
from grove.kube.errors import Conflict, KubeError, NotFound, TooManyRequests
from grove.kube.events import Recorder
from grove.kube.fence import NotLeaderError
from grove.kube.objects import PodView
from grove.kube.regarding import regarding
from grove.kube.resources import PODS
from grove.runtime.backoff import Backoff
from grove.scheduler import record
from grove.scheduler.gangs import Pending
from grove.scheduler.gangstatus import DISRUPTED
from grove.scheduler.gangwrites import annotate, is_refusal, write_status
from grove.scheduler.hands import Head
from grove.scheduler.kinds import POD_GANGS, PREEMPTION
from grove.scheduler.record import Target
from grove.scheduler.registry import is_lone
from grove.scheduler.verdicts import Evict, Victim
from grove.scheduler.world import World

log = logging.getLogger(__name__)

PREEMPTED: Final = "PreemptionByScheduler"
AGAIN: Final = Backoff(first=0.5, longest=10.0, jitter=0.5)


class Statistics(NamedTuple):
    """What was evicted so far."""

    plans: int
    gangs: int
    pods: int
    failed: int


class Evictor:
    """See the top of the module."""

    def __init__(
        self,
        *,
        world: World,
        head: Head,
        client: Client,
        recorder: Recorder,
        term: int,
        clock: Clock,
        rng: random.Random,
    ) -> None:
        self.name = "evictor"
        self._world = world
        self._head = head
        self._client = client
        self._writes = CachedClient(client, world.caches)
        self._recorder = recorder
        self._term = term
        self._clock = clock
        self._rng = rng
        self._waiting: asyncio.Queue[Evict] = asyncio.Queue()
        self._counts: Counter[str] = Counter()

    def carry_out(self, plan: Evict) -> None:
        self._waiting.put_nowait(plan)

    def statistics(self) -> Statistics:
        found = self._counts
        return Statistics(found["plans"], found["gangs"], found["pods"], found["failed"])

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            while True:
                group.create_task(self._carry_out(await self._waiting.get()))

    async def _carry_out(self, plan: Evict) -> None:
        self._counts["plans"] += 1
        try:
            if not is_lone(plan.gang.key):
                why = await self._record(plan)
                if why:
                    for victim in plan.victims:
                        self._fail(victim, why)
                    return
            gangs = sorted({one.gang for one in plan.victims if one.gang and not is_lone(one.gang)})
            self._counts["gangs"] += len(gangs)
            await asyncio.gather(*(self._mark_gang(key, plan) for key in gangs))
            await asyncio.gather(*(self._evict(one, plan) for one in plan.victims))
            await asyncio.gather(*(self._nominate(pod, node) for pod, node in plan.puts))
        except NotLeaderError as error:
            log.info("plan left to the next leader", extra={"gang": plan.gang.key, "error": str(error)})

    async def _record(self, plan: Evict) -> str:
        """Writes down who goes for whom; gives why that was not done."""
        made = record.make(
            (Target(pod.namespace, pod.name, pod.uid, node) for pod, node in plan.puts),
            term=self._term,
            now=self._clock.wall(),
            until=datetime.datetime.fromtimestamp(plan.until, datetime.UTC),
            victims=[f"{one.namespace}/{one.name}" for one in plan.victims],
        )
        failure = await annotate(self._writes, plan.gang.key, plan.gang.uid, {PREEMPTION: record.text(made)})
        return "" if failure is None else f"{failure.reason}: {failure.message}"

    # Victims

    async def _mark_gang(self, key: str, plan: Evict) -> None:
        """Says on a gang that it is disrupted. What fails is passed over: it is said of the pods too."""
        for _ in range(3):
            gang = self._world.gang(key)
            if gang is None:
                return
            held = gang.status or PodGangStatus(phase="Pending")
            listed = conditions.put(held.conditions, DISRUPTED, "True", PREEMPTED, _why(plan), now=self._clock.wall())
            patch = statuses.patch(gang.status, _with(held, listed))
            if patch is None:
                return
            try:
                await write_status(self._writes, gang, patch)
            except Conflict:
                continue
            except KubeError as error:
                log.info("gang not marked", extra={"gang": key, "error": str(error)})
            else:
                self._recorder.record(regarding(POD_GANGS, gang.metadata), "Warning", PREEMPTED, _why(plan))
            return

    async def _evict(self, victim: Victim, plan: Evict) -> None:
        failures = 0
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": victim.name, "namespace": victim.namespace},
            "deleteOptions": {"preconditions": {"uid": victim.uid}},
        }
        while True:
            try:
                await self._client.create(
                    PODS, body, namespace=victim.namespace, name=victim.name, subresource="eviction"
                )
            except (NotFound, Conflict):
                break  # it has gone, or gone and come back as another
            except KubeError as error:
                failures += 1
                pause = AGAIN.delay(failures, self._rng)
                if is_refusal(error) or self._clock.wall().timestamp() + pause > plan.until:
                    self._fail(victim, str(error))
                    return
                if isinstance(error, TooManyRequests) and failures == 1:
                    log.info("eviction waits for a disruption budget", extra={"pod": _name(victim)})
                await self._clock.sleep(pause)
            else:
                await self._mark_pod(victim, plan)
                break
        self._counts["pods"] += 1
        self._head.evicted(victim.uid)

    async def _mark_pod(self, victim: Victim, plan: Evict) -> None:
        """Afterwards: the Eviction API names itself as the reason."""
        condition = {
            "type": DISRUPTED,
            "status": "True",
            "reason": PREEMPTED,
            "message": _why(plan),
            "lastTransitionTime": timestamp(self._clock.wall()),
        }
        change = {"metadata": {"uid": victim.uid}, "status": {"conditions": [condition]}}
        await self._patch_pod(victim.namespace, victim.name, change)
        held = self._world.pods.by_uid(victim.uid)
        if held is not None:
            self._recorder.record(regarding(PODS, held.metadata), "Warning", PREEMPTED, _why(plan))

    async def _nominate(self, pod: Pending, node: str) -> None:
        change = {"metadata": {"uid": pod.uid}, "status": {"nominatedNodeName": node}}
        await self._patch_pod(pod.namespace, pod.name, change)

    async def _patch_pod(self, namespace: str, name: str, change: JSON) -> None:
        """What others may read; nothing of ours depends on it."""
        try:
            await self._writes.patch(
                PODS, name, change, namespace=namespace, subresource="status", form="strategic", type=PodView
            )
        except KubeError as error:
            log.debug("pod not marked", extra={"pod": f"{namespace}/{name}", "error": str(error)})

    def _fail(self, victim: Victim, why: str) -> None:
        self._counts["failed"] += 1
        log.info("pod not evicted", extra={"pod": _name(victim), "problem": why})
        self._head.evict_failed(victim.uid, why)


def _why(plan: Evict) -> str:
    return f"makes room for {plan.gang.key}: {plan.why}" if plan.why else f"makes room for {plan.gang.key}"


def _name(victim: Victim) -> str:
    return f"{victim.namespace}/{victim.name}"


def _with(held: PodGangStatus, listed: tuple[Condition, ...]) -> PodGangStatus:
    return replace(held, conditions=listed)
