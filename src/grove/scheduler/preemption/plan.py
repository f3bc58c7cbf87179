"""Whether others go for a gang, and who. Pure: the engine calls `plan` for a gang that found no place.

Nobody goes unless the gang has a place once they are gone, found by the true placement and checked again rule by rule.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final

from grove.scheduler.cluster import Cluster, Hold, Placed
from grove.scheduler.gangs import Gang
from grove.scheduler.placement.budget import Budget
from grove.scheduler.preemption import needs
from grove.scheduler.preemption.bounds import Bounds
from grove.scheduler.preemption.ledger import Ledger
from grove.scheduler.preemption.running import (
    NO_GUARDS,
    NOTHING,
    Cost,
    Guards,
    NoPlan,
    Outcome,
    Plan,
    Policy,
    Running,
)
from grove.scheduler.preemption.search import Best, Search
from grove.scheduler.preemption.trial import Place, Trial, holds_good, remove
from grove.scheduler.preemption.units import Units
from grove.scheduler.verdicts import Victim

LEEWAY: Final = 60.0
"""Seconds that the room is kept beyond the longest time that somebody needs to stop."""

Eligible = Callable[[Running], bool]


def plan(
    cluster: Cluster,
    gang: Gang,
    running: Mapping[str, Running],
    *,
    place: Place,
    budget: Budget,
    now: float,
    policy: Policy = Policy(),  # noqa: B008
    guards: Guards = NO_GUARDS,
    ledger: Ledger | None = None,
    eligible: Eligible | None = None,
    terminating: Iterable[str] | None = None,
) -> Outcome:
    """Who goes for a gang.

    `terminating` are the uids of the pods that are going already, for who keeps them; else all pods are gone through.

    `eligible` tells in place of the priorities who may go: a queue that takes back what is its own goes by shares. It
    is asked of every gang by itself; what is protected, too young or part of the same replica does not go either way.
    """
    case = (ledger or Ledger()).case(gang.key)
    if not gang.preempts:
        return NoPlan("Never", "its preemption policy is Never")
    if now < gang.created + policy.delay:
        return NoPlan("Waiting", "it waits for other room first", gang.created + policy.delay)
    if now < case.not_before:
        return NoPlan("Waiting", "room that was made for it was lost repeatedly", case.not_before)
    need = needs.of(gang)
    if need is None or not need.total():
        return NoPlan("Nobody", "it has no pods to place")
    mark = cluster.mark()
    try:
        planning = _Planning(cluster, gang, need, running, place, budget, now, policy, guards, ledger, eligible)
        if terminating is None:
            terminating = [uid for uid, pod in cluster.pods.items() if pod.terminating]
        return planning.outcome(terminating, case.sunk)
    finally:
        cluster.rollback(mark)


class _Planning:
    """One call of `plan`, on a cluster whose state is given back afterwards."""

    def __init__(
        self,
        cluster: Cluster,
        gang: Gang,
        need: needs.Need,
        running: Mapping[str, Running],
        place: Place,
        budget: Budget,
        now: float,
        policy: Policy,
        guards: Guards,
        ledger: Ledger | None,
        eligible: Eligible | None,
    ) -> None:
        self._cluster = cluster
        self._gang = gang
        self._need = need
        self._running = running
        self._place = place
        self._budget = budget
        self._now = now
        self._policy = policy
        self._guards = guards
        self._ledger = ledger
        self._eligible = eligible or (lambda one: one.priority < gang.priority)
        self._left = budget.left
        self._going: list[Placed] = []
        self._sunk: list[Placed] = []
        """Pods that were to go for the gang before, and do not yet: they are told again."""

    def outcome(self, terminating: Iterable[str], sunk: Collection[str]) -> Outcome:
        cluster, gang, policy = self._cluster, self._gang, self._policy
        going = self._clear_what_goes_anyway(terminating, sunk)
        trial = Trial(cluster, gang, self._place, self._budget)
        if going:
            found = trial.found(())
            if found is not None and holds_good(cluster, gang, found):
                return self._plan(Best((), (), found, -1), NOTHING, proven=True)
        if not any(self._may_go(one) for one in self._running.values()):
            return NoPlan("Nobody", "nobody may go for it", looked=self._looked)
        rows = sorted({row for cls in self._need.total() for row, _ in cls.requests})
        ledger, now = self._ledger, self._now
        units = Units(
            cluster,
            [*self._running.values()],
            self._may_go,
            rows,
            policy=policy,
            guards=self._guards,
            repeats=(lambda key: ledger.repeats(key, now)) if ledger is not None else (lambda _: 0),
            now=now,
            spared=lambda uid: uid not in cluster.pods,
        )
        bounds = Bounds(cluster, self._need, units, self._need.total(), rows, gang.within)
        levels = bounds.levels()
        if not levels:
            return NoPlan("Nobody", "nobody may go for it", looked=self._looked)
        if policy.order == "minGangs":
            levels = levels[-1:]
        search = Search(cluster, gang, self._need, units, bounds, trial, self._budget, rows, policy=policy)
        for strict in (True, False) if self._guards.of and policy.break_budgets else (True,):
            for level in levels:
                best = search.at(level, strict=strict)
                if best is not None and holds_good_without(cluster, gang, best):
                    return self._plan(best, units.cost(best.units), proven=search.proven)
                if best is not None:
                    search.proven = False
                if self._budget.is_spent:
                    break
        if search.proven and not self._budget.is_spent:
            return NoPlan("NotEnough", "it does not fit even if all go who may", looked=self._looked)
        return NoPlan("SearchEnded", "no plan was found before the search ended", looked=self._looked)

    @property
    def _looked(self) -> int:
        return self._left - self._budget.left

    def _clear_what_goes_anyway(self, terminating: Iterable[str], sunk: Collection[str]) -> bool:
        """The room of pods that are going, and what is held for the gang, is there for it. Whether there is any."""
        cluster = self._cluster
        for uid in terminating:
            if uid in cluster.pods:
                self._going.append(cluster.take(uid))
        for uid in sorted(sunk):
            if uid in cluster.pods:
                self._sunk.append(cluster.take(uid))
        return bool(cluster.release(self._gang.key)) or bool(self._going) or bool(self._sunk)

    def _may_go(self, one: Running) -> bool:
        gang, policy = self._gang, self._policy
        return (
            one.preemptible
            and one.key != gang.key
            and one.key != gang.base
            and (one.set_replica is None or one.set_replica != gang.set_replica)
            and (not one.foreign or (policy.foreign_pods and one.priority < gang.priority))
            and self._now - one.started >= policy.min_runtime
            and self._eligible(one)
        )

    def _plan(self, best: Best, cost: Cost, *, proven: bool) -> Plan:
        gang = self._gang
        members = {member.pod.uid: member for unit in best.units for member in unit.pods}
        used = {put.slot for put in best.found.puts}
        again = [pod for pod in self._sunk if pod.slot in used]
        victims = sorted(
            (
                Victim(pod.uid, pod.namespace, pod.name, pod.gang)
                for pod in [*(pod for pod, *_ in members.values()), *again]
            ),
            key=lambda one: (one.gang, one.namespace, one.name),
        )
        until = self._now + LEEWAY + max((member.grace for member in members.values()), default=LEEWAY)
        holds = tuple(
            Hold(gang.key, put.slot, put.pod.cls.requests, kind="preempted", until=until) for put in best.found.puts
        )
        gangs = tuple(sorted({one.key for unit in best.units for one in unit.gangs}))
        return Plan(
            tuple(victims), gangs, best.found, holds, until, cost, proven, self._looked, _why(victims, gangs, cost)
        )


def holds_good_without(cluster: Cluster, gang: Gang, best: Best) -> bool:
    """Whether the plan's placement keeps every rule once its victims are gone."""
    mark = cluster.mark()
    try:
        remove(cluster, best.units)
        return holds_good(cluster, gang, best.found)
    finally:
        cluster.rollback(mark)


def _why(victims: Collection[Victim], gangs: Collection[str], cost: Cost) -> str:
    if not victims:
        return "waits for pods that are going"
    parts = [f"{len(victims)} pod{'s' * (len(victims) != 1)} go"]
    if cost.priority > NOTHING.priority:
        parts[0] = f"{len(victims)} pod{'s' * (len(victims) != 1)} of priority {cost.priority} or less go"
    if gangs:
        shown = ", ".join([*gangs][:3]) + (f" and {len(gangs) - 3} more" if len(gangs) > 3 else "")
        parts.append(f"stops {shown}")
    if cost.violations:
        parts.append(f"{cost.violations} beyond what disruption budgets allow")
    return "; ".join(parts)
