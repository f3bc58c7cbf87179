"""What a scheduler does while it leads: the engine's loop, and all that carry out or tell what it decides."""

from __future__ import annotations

import asyncio
import logging
import random
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

from grove.api.kinds.podgang import PodGang
from grove.kube.cachedclient import CachedClient
from grove.kube.clock import Clock
from grove.kube.durations import Durations, DurationStatistics
from grove.kube.events import Recorder
from grove.kube.fence import Fence
from grove.kube.fence import Term as Office
from grove.kube.objects import PodView
from grove.kube.store import Change
from grove.runtime.controller import Controller
from grove.runtime.followed import Followed
from grove.runtime.manager import Runnable
from grove.runtime.program import Clients, Part
from grove.scheduler import record
from grove.scheduler.binder import Binder
from grove.scheduler.evictor import Evictor
from grove.scheduler.kinds import DECISION
from grove.scheduler.live import Live, Mind
from grove.scheduler.preparer import Preparer
from grove.scheduler.queuewriter import QueueWriter
from grove.scheduler.registry import lone_key
from grove.scheduler.rejections import Rejections
from grove.scheduler.sayings import Sayings
from grove.scheduler.statistics import EngineStatistics
from grove.scheduler.statuswriter import StatusWriter
from grove.scheduler.takeback import Takeback
from grove.scheduler.teller import Teller
from grove.scheduler.verdicts import Bind, Decision, Evict, Refuse
from grove.scheduler.world import World, key_of

log = logging.getLogger(__name__)

STATUS_WORKERS: Final = 16
TELLER_WORKERS: Final = 4
TAKEBACK_WORKERS: Final = 4
WAITS: Final = (0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0, 14400.0)
"""Bounds of the histogram of waits, in seconds."""


class Term:
    """See the top of the module. Everything is new for each term."""

    def __init__(
        self,
        *,
        world: World,
        mind: Mind,
        clients: Clients,
        fence: Fence,
        recorder: Recorder,
        patience: float,
        clock: Clock,
        rng: random.Random,
    ) -> None:
        """`patience`: seconds that a gang may be half bound."""
        self._world = world
        self._mind = mind
        self._clock = clock
        work, aside = clients.work.fenced(fence), clients.aside.fenced(fence)
        number = fence.number if isinstance(fence, Office) else 0
        self.sayings = Sayings()
        self.decisions: Counter[str] = Counter()
        """By what they were: placed, extended, preempting, or the reason of a refusal."""
        self._waits = Durations(WAITS)
        self.live = Live(
            world=world,
            mind=mind,
            carry=self._carry,
            recover=self._recover,
            under_way=lambda: self.binder.under_way,
            clock=clock,
        )
        preparer = Preparer(
            world=world,
            head=self.live,
            surroundings=mind.surroundings,
            client=CachedClient(work, world.caches),
            clock=clock,
        )
        self.binder = Binder(
            world=world,
            head=self.live,
            client=work,
            preparer=preparer,
            term=number,
            patience=patience,
            clock=clock,
            rng=rng,
        )
        self.evictor = Evictor(
            world=world, head=self.live, client=work, recorder=recorder, term=number, clock=clock, rng=rng
        )
        self.rejections = Rejections(aside, is_ours=world.is_our_pod, tell=self.live.rejected)
        writes = CachedClient(aside, world.caches)
        self.statuses = StatusWriter(world=world, sayings=self.sayings, client=writes, recorder=recorder, clock=clock)
        self.queues = QueueWriter(world=world, head=self.live, queues=mind.queues, client=writes, clock=clock)
        self.takeback = Takeback(
            world=world, sayings=self.sayings, client=writes, recorder=recorder, patience=patience, clock=clock
        )
        teller = Teller(world=world, sayings=self.sayings, client=writes, recorder=recorder, clock=clock)
        gangs, pods = Followed(world.gangs, world.keys_of_gang), Followed(world.pods, world.keys_of_pod)
        done = Followed(world.done, world.keys_of_pod)
        self.controllers = (
            Controller(
                "podgang-status",
                self.statuses,
                [gangs, pods, done, self.sayings],
                clock=clock,
                rng=rng,
                workers=STATUS_WORKERS,
            ),
            Controller("verdicts", teller, [self.sayings], clock=clock, rng=rng, workers=TELLER_WORKERS),
            Controller(
                "takeback",
                self.takeback,
                [gangs, pods, self.sayings],
                clock=clock,
                rng=rng,
                workers=TAKEBACK_WORKERS,
            ),
        )

    def runnables(self) -> Sequence[Runnable]:
        return (
            self.live,
            self.binder,
            self.evictor,
            self.rejections,
            self.queues,
            *self.controllers,
            Part("farewells", self._bury),
        )

    def engine(self) -> EngineStatistics:
        return self._mind.statistics()

    @property
    def waits(self) -> DurationStatistics:
        """How long gangs waited from their creation until they had a place."""
        return self._waits.statistics()

    def _carry(self, decision: Decision) -> None:
        match decision:
            case Bind():
                self.decisions["placed" if decision.first else "extended"] += 1
                if decision.first and decision.gang.created:
                    self._waits.add(max(0.0, self._clock.wall().timestamp() - decision.gang.created))
                self.sayings.placed(decision.gang.key, decision.score if decision.first else None)
                self.binder.carry_out(decision)
            case Evict():
                self.decisions["preempting"] += 1
                self.evictor.carry_out(decision)
            case Refuse():
                self.decisions[decision.reason] += 1
                self.sayings.refused(decision)

    def _recover(self) -> None:
        """Carries on with what an earlier leader had begun, before anything else is decided."""
        now = self._clock.wall()
        for gang in sorted(self._world.gangs, key=lambda one: key_of(one.metadata)):
            found = record.read((gang.metadata.annotations or {}).get(DECISION))
            if found is None:
                continue
            targets = record.unfinished(found, lambda namespace, name: self._world.pods.get(name, namespace), now)
            if not targets:
                continue
            key = key_of(gang.metadata)
            bind = self._mind.resume(key, [(one.uid, one.node) for one in targets])
            fields = {"gang": key, "pods": len(targets), "term": found.term}
            if bind is None:
                log.info("unfinished decision given up", extra=fields)
            else:
                log.info("unfinished decision carried on", extra=fields)
                self.sayings.placed(key, found.score)
                self.binder.carry_out(bind._replace(score=found.score), record.until(found))

    async def _bury(self) -> None:
        """Forgets what was said of gangs and pods that are no more."""

        def gang(change: Change[PodGang]) -> None:
            if change.new is None and change.old is not None:
                self.sayings.forget([key_of(change.old.metadata)])

        def pod(change: Change[PodView]) -> None:
            if change.new is None and change.old is not None:
                meta = change.old.metadata
                self.sayings.forget([lone_key(meta.namespace or "", meta.name)])

        leave: list[Callable[[], None]] = [self._world.gangs.follow(gang), self._world.pods.follow(pod)]
        leave.append(self._world.pods.follow(self.rejections.look_at))
        try:
            await asyncio.Event().wait()
        finally:
            for one in leave:
                one()
