"""Plans of preemption that are under way: who goes for whom, and the room that is kept meanwhile. Called by the engine.

A plan ends when its gang has a place, when it was not carried out, or when its time is up; the room is kept until then.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from grove.scheduler.cluster import Cluster
from grove.scheduler.crews import Crews
from grove.scheduler.gangs import Gang
from grove.scheduler.placement.budget import Budget
from grove.scheduler.preemption.ledger import Ledger
from grove.scheduler.preemption.plan import Eligible, plan
from grove.scheduler.preemption.running import NoPlan, Outcome, Policy
from grove.scheduler.preemption.trial import Place
from grove.scheduler.reservations import give_up
from grove.scheduler.verdicts import Evict


class UnderWay(NamedTuple):
    """A plan that is being carried out."""

    victims: frozenset[str]
    """Uids of those that are still there."""
    until: float
    why: str


class Preempting:
    """See the top of the module."""

    def __init__(
        self, cluster: Cluster, crews: Crews, *, place: Place, policy: Policy, steps: int, enabled: bool = True
    ) -> None:
        self._cluster: Final = cluster
        self._crews: Final = crews
        self._place: Final = place
        self._policy: Final = policy
        self._steps: Final = steps
        self._enabled: Final = enabled
        self._plans: dict[str, UnderWay] = {}
        self._gang_of: dict[str, str] = {}
        """By victim the gang that it goes for."""
        self._again: dict[str, float] = {}
        self.ledger: Final = Ledger()

    def under_way(self, key: str) -> UnderWay | None:
        """What goes for a gang; None: nothing."""
        return self._plans.get(key)

    def look(self, gang: Gang, now: float, *, eligible: Eligible | None = None) -> Outcome:
        """Who could go for a gang that has no place. Nothing is changed."""
        if not self._enabled:
            return NoPlan("Never", "preemption is switched off")
        running = self._crews.running()
        return plan(
            self._cluster,
            gang,
            running,
            place=self._place,
            budget=Budget(self._steps),
            now=now,
            policy=self._policy,
            guards=self._crews.guards(running),
            ledger=self.ledger,
            eligible=eligible,
            terminating=[*self._crews.going],
        )

    def carry_out(self, gang: Gang, found: Outcome, now: float) -> Evict | NoPlan:
        """Takes a plan for done: the room is kept for the gang from now on."""
        if isinstance(found, NoPlan):
            if found.again is not None:
                self._again[gang.key] = found.again
            return found
        self.end(gang.key)
        self._again.pop(gang.key, None)
        for hold in found.holds:
            self._cluster.hold(hold)
        victims = frozenset(one.uid for one in found.victims)
        self._plans[gang.key] = UnderWay(victims, found.until, found.why)
        self._gang_of.update(dict.fromkeys(victims, gang.key))
        if victims:
            self.ledger.planned(gang.key, victims, found.gangs, now)
        names = self._cluster.names
        puts = tuple((put.pod, names[put.slot]) for put in found.found.puts)
        return Evict(gang, found.victims, puts, found.until, found.why)

    def again(self, key: str) -> float | None:
        """When to plan for a gang again, if time alone can change the answer."""
        return self._again.get(key)

    @property
    def plans(self) -> Mapping[str, UnderWay]:
        """By gang what goes for it."""
        return self._plans

    @property
    def pauses(self) -> Mapping[str, float]:
        """By gang when to plan for it again."""
        return self._again

    def remember(self, key: str, plan: UnderWay) -> None:
        """A plan that somebody else had begun; the room that is kept for it is told apart."""
        self._plans[key] = plan
        self._gang_of.update(dict.fromkeys(plan.victims, key))

    def pause(self, key: str, until: float) -> None:
        """No plan is made for a gang before that."""
        self._again[key] = until

    def gone(self, uid: str) -> str:
        """A pod is gone; gives the gang that it went for, once it was the last one."""
        key = self._gang_of.pop(uid, "")
        known = self._plans.get(key)
        if known is None:
            return ""
        left = known.victims - {uid}
        self._plans[key] = known._replace(victims=left)
        return "" if left else key

    def is_victim(self, uid: str) -> bool:
        """Whether a pod goes for a gang."""
        return uid in self._gang_of

    def failed(self, uid: str) -> str:
        """A victim stays; gives the gang that it was to go for, whose plan has ended with that."""
        key = self._gang_of.get(uid, "")
        if key:
            self.ledger.stays(key, uid)
            self.end(key)
        return key

    def end(self, key: str) -> None:
        """A gang's plan has ended, and with it the room that was kept."""
        known = self._plans.pop(key, None)
        if known is not None:
            for uid in known.victims:
                self._gang_of.pop(uid, None)
        give_up(self._cluster, key, "preempted")

    def placed(self, key: str) -> None:
        """A gang has its place, or does not want one any more."""
        self.end(key)
        self._again.pop(key, None)
        self.ledger.placed(key)

    def expire(self, now: float) -> list[str]:
        """The gangs whose plan has run out of time; their room is free."""
        found = [key for key, one in self._plans.items() if one.until <= now]
        for key in found:
            self.end(key)
        self.ledger.expire(now)
        return found

    def next_expiry(self) -> float | None:
        return min((one.until for one in self._plans.values()), default=None)
