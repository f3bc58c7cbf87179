"""Puts pods onto nodes as the engine has decided: written down first, then prepared, looked at again, and all at once.

    binder.carry_out(decision)        # returns at once
    await binder.run()                # works until it is cancelled

What becomes of each pod is told to the engine. A killed process leaves either nothing or a record by which the next
leader carries on (`record.py`). The pods of a gang's first group come last: a leader is never there before its workers.
"""

from __future__ import annotations

import asyncio
import datetime
import logging
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import msgspec

from grove.kube.cachedclient import CachedClient
from grove.kube.client import Client
from grove.kube.clock import Clock
from grove.kube.durations import Durations, DurationStatistics
from grove.kube.errors import Conflict, KubeError, NotFound
from grove.kube.fence import NotLeaderError
from grove.kube.objects import PodView
from grove.kube.resources import PODS
from grove.runtime.backoff import Backoff
from grove.scheduler import outcomes, record
from grove.scheduler.gangs import Pending
from grove.scheduler.gangwrites import annotate, is_refusal
from grove.scheduler.hands import Head
from grove.scheduler.kinds import DECISION
from grove.scheduler.outcomes import Again, BindFailure, Bound
from grove.scheduler.preparer import NotPrepared, Preparer
from grove.scheduler.record import Target
from grove.scheduler.verdicts import Bind
from grove.scheduler.world import World

log = logging.getLogger(__name__)

Put = tuple[Pending, str]
AGAIN: Final = Backoff(first=0.2, longest=5.0, jitter=0.5)


class Statistics(NamedTuple):
    """What was bound so far, and what is under way."""

    bound: int
    failed: Counter[str]
    """By reason."""
    under_way: int
    records: int
    seconds: DurationStatistics
    """From the decision to the last of its pods."""


class Binder:
    """See the top of the module."""

    def __init__(
        self,
        *,
        world: World,
        head: Head,
        client: Client,
        term: int,
        patience: float,
        clock: Clock,
        rng: random.Random,
        preparer: Preparer,
    ) -> None:
        """`patience`: seconds that a pod is tried for, and a gang may be half bound."""
        self.name = "binder"
        self._world = world
        self._head = head
        self._client = client
        self._writes = CachedClient(client, world.caches)
        self._term = term
        self._patience = patience
        self._clock = clock
        self._rng = rng
        self._preparer = preparer
        self._waiting: asyncio.Queue[tuple[Bind, datetime.datetime | None]] = asyncio.Queue()
        self._under_way = 0
        self._bound = self._records = 0
        self._failed: Counter[str] = Counter()
        self._seconds = Durations()

    @property
    def under_way(self) -> int:
        """Pods that are decided and not yet where they are to go."""
        return self._under_way

    def statistics(self) -> Statistics:
        return Statistics(
            self._bound, Counter(self._failed), self._under_way, self._records, self._seconds.statistics()
        )

    def carry_out(self, decision: Bind, until: datetime.datetime | None = None) -> None:
        """`until`: of a decision that an earlier leader had begun to carry out."""
        self._under_way += len(decision.puts)
        self._waiting.put_nowait((decision, until))

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            while True:
                decision, until = await self._waiting.get()
                group.create_task(self._carry_out(decision, until))

    async def _carry_out(self, decision: Bind, until: datetime.datetime | None) -> None:
        began, left = self._clock.monotonic(), len(decision.puts)
        try:
            why = await self._ready(decision, until)
            if why is None:
                deadline = self._clock.monotonic() + self._patience
                for wave in self._waves(decision):
                    await asyncio.gather(*(self._bind(put, deadline) for put in wave))
            else:
                for pod, _ in decision.puts:
                    self._fail(pod, why)
        except NotLeaderError as error:
            log.info("decision left to the next leader", extra={"gang": decision.gang.key, "error": str(error)})
        finally:
            self._under_way -= left
            self._seconds.add(self._clock.monotonic() - began)

    # Before anything is bound

    async def _ready(self, decision: Bind, until: datetime.datetime | None) -> BindFailure | None:
        """Why nothing is to be bound; None if it can begin."""
        if decision.gang.missing > 1:
            why = await self._record(decision, until)
            if why is not None:
                return why
        # Volumes may take minutes: who waits for them does not keep others from being decided.
        waiting = len(decision.puts) if self._preparer.is_needed(decision) else 0
        self._under_way -= waiting
        try:
            steps = await self._preparer.prepare(decision)
        except NotPrepared as error:
            return BindFailure("NotPrepared", str(error))
        finally:
            self._under_way += waiting
        unfit = self._head.unfit([pod.uid for pod, _ in decision.puts])
        if unfit:
            await self._preparer.undo(steps)
            count = f"{len(unfit)} of {len(decision.puts)}"
            return BindFailure("Changed", f"{count} pods cannot go to their nodes any more")
        return None

    async def _record(self, decision: Bind, until: datetime.datetime | None) -> BindFailure | None:
        """Writes down what is about to be done: the gang is below its minimum while only some of it is bound."""
        now = self._clock.wall()
        made = record.make(
            (Target(pod.namespace, pod.name, pod.uid, node) for pod, node in decision.puts),
            term=self._term,
            now=now,
            until=until or now + datetime.timedelta(seconds=self._patience),
            score=decision.score,
            domains=[f"{one.key}={one.domain}" for one in decision.domains if one.key],
        )
        why = await annotate(self._writes, decision.gang.key, decision.gang.uid, {DECISION: record.text(made)})
        self._records += why is None
        return why

    def _waves(self, decision: Bind) -> Iterable[Sequence[Put]]:
        """The first group last; within each, what is hardest to place first."""
        view = self._world.gang(decision.gang.key)
        leaders = "" if view is None or len(view.spec.podgroups) < 2 else view.spec.podgroups[0].name
        leading = {pod.uid for one in decision.gang.groups() if one.name == leaders for pod in one.waiting}
        ordered = sorted(decision.puts, key=lambda put: -sum(amount for _, amount in put[0].cls.accelerators))
        followers = [put for put in ordered if put[0].uid not in leading]
        for wave in (followers, [put for put in ordered if put[0].uid in leading]):
            if wave:
                yield wave

    # One pod

    async def _bind(self, put: Put, deadline: float) -> None:
        pod, node = put
        failures = 0
        while True:
            found = await self._try(pod, node)
            if isinstance(found, Bound):
                self._bound += 1
                self._head.bound(pod.uid)
                return
            if isinstance(found, BindFailure):
                self._fail(pod, found)
                return
            failures += 1
            pause = AGAIN.delay(failures, self._rng)
            if self._clock.monotonic() + pause > deadline:
                self._fail(pod, BindFailure("Unreachable", f"not bound within {self._patience:g} s"))
                return
            await self._clock.sleep(pause)

    async def _try(self, pod: Pending, node: str) -> outcomes.Outcome:
        try:
            await self._client.create(
                PODS,
                _binding(pod, node),
                namespace=pod.namespace,
                name=pod.name,
                subresource="binding",
                type=msgspec.Raw,
            )
        except NotFound:
            return BindFailure("Gone")
        except Conflict as error:
            return await self._look(pod, node, error, refused=True)
        except KubeError as error:
            if is_refusal(error):
                return BindFailure("Refused", str(error))
            return await self._look(pod, node, error, refused=False)
        return Bound()

    async def _look(self, pod: Pending, node: str, error: KubeError, *, refused: bool) -> outcomes.Outcome:
        """What the API server has of a pod, whatever it answered."""
        try:
            live = await self._client.get(PODS, pod.name, namespace=pod.namespace, type=PodView)
        except NotFound:
            live = None
        except KubeError:
            return Again()
        found = outcomes.judge(live, pod.uid, node, refused=refused)
        return BindFailure("Refused", str(error)) if found == BindFailure("Refused") else found

    def _fail(self, pod: Pending, why: BindFailure) -> None:
        self._failed[why.reason] += 1
        log.info(
            "pod not bound",
            extra={"pod": f"{pod.namespace}/{pod.name}", "reason": why.reason, "problem": why.message},
        )
        self._head.bind_failed(pod.uid, why)


def _binding(pod: Pending, node: str) -> bytes:
    body = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": pod.name, "uid": pod.uid},
        "target": {"apiVersion": "v1", "kind": "Node", "name": node},
    }
    return _encode(body)


_encode: Final = msgspec.json.Encoder().encode
