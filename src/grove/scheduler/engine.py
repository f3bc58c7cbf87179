"""The scheduler's mind: told what there is and what became of its decisions, it says what is to be done.

    engine.node(view); engine.pod(view); engine.gang(view)
    for decision in engine.decide(now):
        ...

Nothing here reads a clock or waits, and equal histories give equal decisions: the live loop, dry runs, replay and
benchmarks use the same engine. What it has decided it takes for done (a pod is assumed to be on its node) until it is
told otherwise. One thread owns an engine.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from math import inf
from typing import Final, NamedTuple, TypeAlias

from grove.api import labels
from grove.kube.objects import PodView
from grove.scheduler import demands, explain, model, reservations
from grove.scheduler.cluster import Cluster, Hold, Placed
from grove.scheduler.explain import Explanation, Said
from grove.scheduler.gangs import Gang
from grove.scheduler.heads import Heads
from grove.scheduler.knowledge import Knowledge
from grove.scheduler.limits import within_limits
from grove.scheduler.needs import PodNeeds
from grove.scheduler.outcomes import BindFailure
from grove.scheduler.placement.budget import Budget
from grove.scheduler.preempting import Preempting
from grove.scheduler.preemption import declared
from grove.scheduler.preemption.running import Policy, Running
from grove.scheduler.readiness import waits
from grove.scheduler.registry import is_lone, key_of
from grove.scheduler.replicas import spread_of, with_scaled, without_scaled
from grove.scheduler.retries import Retries
from grove.scheduler.spread import InvalidConstraint
from grove.scheduler.starvation import Head
from grove.scheduler.statistics import EngineStatistics, measure
from grove.scheduler.suggestions import suggestions
from grove.scheduler.surroundings import Surroundings
from grove.scheduler.verdicts import Answer, Bind, Decision, Evict, Found, NotFound, Put, Refuse
from grove.scheduler.waiting import Waiting, waiter
from grove.scheduler.wakes import SEES, Topic, Wakes

Place: TypeAlias = Callable[[Cluster, Gang, Budget], Answer]


CONTENDED: Final = 30.0
"""Seconds that a node is trusted less after it has refused a pod."""
PLAN_STEPS: Final = 50_000
"""What a plan of preemption may cost: about half a second, in the worst case."""


class Rules(NamedTuple):
    """What the configuration says of decisions."""

    scheduler_names: Iterable[str]
    search_steps: int = 25_000
    search_budget: str = "250ms"
    """The same as it was configured, to be told."""
    replica_affinity: model.Affinity = "preferred"
    preemption: Policy | None = Policy()
    """None: nobody is evicted."""
    starves_after: float = 300.0
    held_percent: int = 10


class Engine(Knowledge):
    """See the top of the module. What it can be told is in `knowledge.py`."""

    def __init__(
        self,
        rules: Rules,
        *,
        cluster: Cluster,
        surroundings: Surroundings,
        needs: PodNeeds,
        place: Place,
    ) -> None:
        policy = rules.preemption or Policy()
        super().__init__(
            cluster=cluster,
            surroundings=surroundings,
            needs=needs,
            scheduler_names=rules.scheduler_names,
            replica_affinity=rules.replica_affinity,
            evicts_foreign=policy.foreign_pods,
            went=self._on_gone,
        )
        self.waiting: Final = Waiting(self.queues)
        self.wakes: Final = Wakes(cluster, self.queues)
        self.preempting: Final = Preempting(
            cluster, self.crews, place=place, policy=policy, steps=PLAN_STEPS, enabled=rules.preemption is not None
        )
        self.heads: Final = Heads(cluster, self.crews, after=rules.starves_after, percent=rules.held_percent)
        self.retries: Final = Retries()
        self._rules: Final = rules
        self._place: Final = place
        self._said: dict[str, Said] = {}
        """What was last said of gangs that wait."""
        self._starved: dict[str, None] = {}
        """Gangs that found no place and have waited too long."""
        self._unplanned: dict[tuple[demands.Signature, int, str], tuple[int, int]] = {}
        """Gangs for which nobody could go, and in which state of the cluster."""
        self._found: dict[str, Gang] = {}
        """Gangs that are in line, as they are; others are looked for when it is their turn."""
        self._vacated: list[Placed] = []
        """Pods of gangs that have left their nodes for good since it last decided."""
        self._nominations = 0
        self._searches = self._steps = 0
        self._looked = 0.0
        """When it was last looked for room to gather because somebody began to starve."""
        self._now = 0.0

    # What became of decisions

    def bound(self, uid: str) -> None:
        """A pod came to the node that was decided; the watch tells it too."""
        self.retries.done(self.registry.gang_of(uid))

    def bind_failed(self, uid: str, why: BindFailure) -> None:
        """A pod that was decided onto a node did not come there."""
        pod = self.registry.pods.get(uid)
        if pod is not None and pod.node_name:
            return  # it is on a node after all
        self.seats.take(uid)
        self.retries.failed(self.registry.gang_of(uid), why)
        self._concern([self.registry.gang_of(uid)])

    def evicted(self, uid: str) -> None:
        """A victim is on its way out; the watch tells it too."""

    def evict_failed(self, uid: str, why: str) -> None:
        """A victim stays."""
        self._concern([self.preempting.failed(uid)])

    def rejected(self, view: PodView) -> None:
        """A node has refused a pod of ours: it has less room than we see. For a while what the pod would have used
        counts as used there, so that the pod that comes in its place is tried elsewhere."""
        slot = self.cluster.slot_of.get(view.node_name)
        if slot is not None:
            requests = self.cluster.classes.of(view).requests
            owner = view.node_name + _CONTENDED
            self.cluster.hold(Hold(owner, slot, requests, kind="contended", until=self._now + CONTENDED))

    def _moved(self, pod: Placed, sign: int) -> None:
        super()._moved(pod, sign)
        if pod.gang:
            self.wakes.event(("spread", pod.namespace))

    def _on_gone(self, seat: Placed) -> None:
        """A pod of ours has left its node for good: others waited for that, or one comes in its place."""
        awaited = self.preempting.is_victim(seat.uid)
        self._concern([self.preempting.gone(seat.uid)])
        if not awaited and seat.gang:
            self._vacated.append(seat)

    def _bequeath(self) -> None:
        """The room of pods that have gone is kept for those that come in their place."""
        vacated, self._vacated = self._vacated, []
        lacks: dict[str, int] = {}

        def lacking(key: str) -> int:
            if key not in lacks:
                lacks[key] = self._lacks(key)
            return lacks[key]

        for seat in vacated:
            owner = reservations.heir(seat.gang, lacking, self.successors)
            if owner is not None and self.cluster.alive[seat.slot]:
                reservations.bequeath(self.cluster, seat, owner, self._now)
                lacks[owner] -= 1

    def _lacks(self, key: str) -> int:
        """Pods that a gang wants beyond those it has and keeps room for."""
        gang = self.find(key)
        if gang is None:
            return 0
        wanted = sum(
            max(group.minimum, len(group.placed) + len(group.waiting)) - len(group.placed) for group in gang.groups()
        )
        return wanted - reservations.kept(self.cluster, key)

    # What had been decided before

    def resume(self, key: str, puts: Sequence[tuple[str, str]]) -> Bind | None:
        """What an earlier leader had begun: uids of pods and the nodes that they were decided onto. Taken for done if
        every pod still waits and can go there; None: it is to be decided anew."""
        self.seats.tell_apart()
        gang = self.find(key)
        if gang is None:
            return None
        waiting = {pod.uid: pod for group in gang.groups() for pod in group.waiting}
        found: list[Put] = []
        mark = self.cluster.mark()
        for uid, node in puts:
            pod, slot = waiting.get(uid), self.cluster.slot_of.get(node)
            if pod is None or slot is None or self.cluster.capacity(pod.cls)[slot] < 1:
                break
            found.append(Put(pod, slot))
            self.cluster.put(_seat(gang, found[-1]))
        self.cluster.rollback(mark)
        if len(found) < len(puts):
            return None
        decided = dict(puts)
        return self._bind(gang, Found(tuple(found), tuple(pod for uid, pod in waiting.items() if uid not in decided)))

    # What is to be done

    def next_wake(self, now: float) -> float | None:
        """When there is something to decide; None: not before something changes."""
        if self.changed or self.rethink or self.stirred or self.freed or self.waiting.ready:
            return now
        moments = (
            self.wakes.next_wake(),
            self.preempting.next_expiry(),
            self.heads.next_look(),
            reservations.next_expiry(self.cluster),
        )
        return min((moment for moment in moments if moment is not None and moment < inf), default=None)

    def statistics(self) -> EngineStatistics:
        """To be asked between two decisions."""
        return measure(
            self.cluster,
            self.waiting,
            self.wakes,
            self.queues,
            self.topologies.all(),
            searches=self._searches,
            steps=self._steps,
        )

    def decide(self, now: float, *, limit: int = 1000) -> list[Decision]:
        """The next decisions, of at most so many gangs. They are taken for done."""
        self._now = now
        self._catch_up(now)
        decisions: list[Decision] = []
        considered = 0
        while considered < limit:
            self._wake(now)
            turn = self.waiting.pop()
            if turn is None:
                break
            considered += 1
            decisions += self._consider(turn.key, now)
            if self.changed:
                self._enlist()
        return decisions

    def _catch_up(self, now: float) -> None:
        """Takes in what was told, and what time has brought."""
        if self.seats.tell_apart():
            self._found.clear()
        if self._vacated:
            self._bequeath()
        self.books.measure()
        self._concern(self.preempting.expire(now))
        self._concern(reservations.expire(self.cluster, now))
        if self.rethink:
            self.rethink = False
            self._concern(self._said)
        self._enlist()
        freed, self.freed = self.freed, False
        self.heads.look(self._starving, now, freed=freed, anew=False)

    def _enlist(self) -> None:
        """Gangs that something was told of get in line, if they still want something."""
        keys = [*self.changed]
        self.changed.clear()
        for key in keys:
            if key in self._said and key not in self.registry.gangs and not is_lone(key) and self.registry.has(key):
                continue  # its pods come before it does, and it was said that they wait for it
            gang = self.find(key)
            if gang is None:
                self._leave(key)
                self.retries.done(key)
                self.books.gone(key)
            elif not gang.waiting:
                self._leave(key)
                self.books.placed(key)
            else:
                self.wakes.forget(key)
                self.books.waits(gang)
                self.waiting.put(waiter(gang, starving=key in self._starved))
                if not gang.base:
                    self._found[key] = gang
            if gang is not None and gang.is_placed:
                self.wakes.event(("base", key))
            if gang is not None and gang.set_replica is not None:
                self.wakes.event(("set", key_of(*gang.set_replica[:2])))

    def _leave(self, key: str) -> None:
        """A gang wants nothing any more."""
        self._found.pop(key, None)
        self.waiting.drop(key)
        self.wakes.forget(key)
        self.preempting.placed(key)
        self.heads.left(key)
        self._starved.pop(key, None)
        self._said.pop(key, None)

    def _wake(self, now: float) -> None:
        if self._nominations != self.seats.nominated.version:
            self._nominations = self.seats.nominated.version
            self.wakes.event(SEES)
        if self.stirred:
            self.stirred = False
            self.wakes.stir()
        while keys := self.wakes.due(now):
            self.waiting.wake(keys)

    def _consider(self, key: str, now: float) -> list[Decision]:
        gang = self._found.pop(key, None) or self.find(key)
        if gang is None or not gang.waiting:
            self._leave(key)
            return []
        said = waits(self, gang)
        if said is not None:
            topics: list[Topic] = [("base", gang.base)] if said.reason == "WaitingForBase" else []
            self.wakes.park_until(key, said.reason, *topics)
            return self._refuse(gang, said)
        retry = self.retries.waits(key, now)
        if retry is not None:
            self.wakes.park_until(key, "BindConflict")
            self.wakes.at(key, retry.until)
            return self._refuse(gang, explain.not_bound(retry.why))
        least = self.books.least(gang)
        limit = self.queues.may_start(gang.queue, least)
        if limit:
            self.wakes.park_limited(gang, least)
            return self._refuse(gang, explain.limited(limit))
        try:
            gang, spread = spread_of(self, gang)
        except InvalidConstraint as error:
            self.wakes.park_until(key, "Unsupported")
            return self._refuse(gang, explain.unsupported(str(error)))
        gang, too_many = within_limits(self.queues, gang)
        answer = self.wakes.known(gang, sees=self._sees(gang)) or self._search(gang)
        if isinstance(answer, Found) and answer.puts:
            return [self._bind(gang, answer._replace(left=answer.left + too_many))]
        if isinstance(answer, Found):
            answer = NotFound(True, gang.root.name, "")
        return self._without_place(gang, answer, now, spread)

    def _without_place(self, gang: Gang, answer: NotFound, now: float, spread: str) -> list[Decision]:
        """Others go for it, or it waits."""
        decisions, said = self._make_room(gang, now)
        said = said or self._held(gang) or self._without_room(gang, answer, spread)
        self.wakes.park(gang, answer, now, sees=self._sees(gang))
        if gang.missing:
            self._starve(gang, now)
        plan = self.preempting.again(gang.key)
        if plan is not None:
            self.wakes.at(gang.key, plan)
        return [*decisions, *self._refuse(gang, said)]

    def _held(self, gang: Gang) -> Said | None:
        """For whom the room is held that would do for it; None: there is none."""
        owners = self._held_from(gang) if gang.missing else ()
        if not owners:
            return None
        kind = self.cluster.holds[owners[0]][0].kind
        if kind == "contended":
            return explain.node_distrusted(owners[0].removesuffix(_CONTENDED))
        return (explain.room_held if kind == "head" else explain.room_kept)(owners[0])

    def _without_room(self, gang: Gang, answer: NotFound, spread: str) -> Said:
        if not gang.missing:
            return explain.no_more_room(gang)
        said = explain.refused(gang, answer, budget=self._rules.search_budget, levels=self.topologies.names)
        return said._replace(sentence=explain.cut(f"{said.sentence}; {spread}")) if spread else said

    def _make_room(self, gang: Gang, now: float) -> tuple[list[Decision], Said | None]:
        """Who goes for a gang without a place, and what that means for it; None: nobody does."""
        going = self.preempting.under_way(gang.key)
        if going is not None and going.victims:
            return [], explain.preempting(len(going.victims))
        if not gang.missing or not self._could_plan(gang):
            return [], None
        case = (demands.signature(gang, has_holds=gang.key in self.cluster.holds), gang.priority, gang.queue)
        state = (self.crews.version, self.cluster.changes)
        if self._unplanned.get(case) == state:
            return [], None
        mark = self.cluster.mark()
        for pod in self.seats.nominated.before(gang.priority):
            self.cluster.put(pod)
        found = self.preempting.look(gang, now, eligible=self._eligible(gang))
        self.cluster.rollback(mark)
        plan = self.preempting.carry_out(gang, found, now)
        if isinstance(plan, Evict):
            if plan.victims:
                return [plan], explain.preempting(len(plan.victims))
            return [], explain.ending()
        if plan.reason not in ("Waiting", "Never"):
            if len(self._unplanned) > _REMEMBERED:
                self._unplanned.clear()
            self._unplanned[case] = (self.crews.version, self.cluster.changes)
        return [], None

    def _could_plan(self, gang: Gang) -> bool:
        """Whether there is anybody who might go."""
        if self.crews.going or not self.queues.is_flat:
            return True
        lowest = self.crews.lowest()
        return gang.preempts and lowest is not None and lowest < gang.priority

    def _eligible(self, gang: Gang) -> Callable[[Running], bool] | None:
        """Where there are queues, who borrows may have to give back; else priorities decide."""
        if self.queues.is_flat:
            return None
        least = self.books.least(gang)

        def may_go(one: Running) -> bool:
            return self.queues.may_evict(gang.queue, one.queue, least, is_lower=one.priority < gang.priority)

        return may_go

    def _starve(self, gang: Gang, now: float) -> None:
        """Room gathers for who has waited too long."""
        if gang.key in self._starved:
            return
        if not self.heads.is_starving(gang, now):
            self.wakes.at(gang.key, self.heads.starves_at(gang))
            return
        self._starved[gang.key] = None
        self.waiting.note(waiter(gang, starving=True))
        if self._looked != now:  # many begin to starve at once: the others are looked at the next time
            self._looked = now
            self.heads.look(self._starving, now, freed=True, anew=True)
        else:
            self.heads.look_again()

    def _starving(self) -> list[Gang]:
        """In the order of their turns."""
        found = [gang for key in self._starved if (gang := self.find(key)) is not None and gang.missing]
        return sorted(found, key=lambda gang: (-gang.priority, gang.created, gang.key))

    def _search(self, gang: Gang, *, share: int = 1) -> Answer:
        """With what is kept for the gang free, and with pods of other schedulers where they are about to come."""
        cluster = self.cluster
        taste = reservations.attachment(cluster, gang)
        if taste is not None:
            gang = gang._replace(taste=taste if gang.taste is None else gang.taste + taste)
        mark = cluster.mark()
        for owner in (gang.key, *self._open_heads(gang)):
            cluster.release(owner)
        for pod in self.seats.nominated.before(gang.priority):
            cluster.put(pod)
        budget = Budget(self._rules.search_steps // share)
        wished = gang if self._rules.replica_affinity == "none" else with_scaled(self, gang)
        answer = self._place(cluster, wished, budget)
        cluster.rollback(mark)
        self._searches += 1
        self._steps += budget.spent
        return without_scaled(gang, answer) if wished is not gang and isinstance(answer, Found) else answer

    def _sees(self, gang: Gang) -> Hashable:
        """What a gang is judged by beyond the cluster that everybody sees; None: nothing."""
        pods = tuple([pod.uid for pod in self.seats.nominated.before(gang.priority)]) if self.seats.nominated else ()
        heads = tuple(self._open_heads(gang))
        return (pods, heads) if pods or heads else None

    def _open_heads(self, gang: Gang) -> list[str]:
        """Heads whose room the gang may use, since it will be gone in time."""
        if not len(self.heads):
            return []
        view = self.registry.gangs.get(gang.key)
        found = None if view is None else view.metadata.annotations
        if view is None:
            pods = [*self.registry.members(gang.key)]
            found = pods[0].metadata.annotations if pods else None
        if not found or labels.EXPECTED_DURATION not in found:
            return []
        return self.heads.open_to(declared.ends(found, self._now))

    def _bind(self, gang: Gang, found: Found) -> Bind:
        key = gang.key
        used = self._open_heads(gang)
        reservations.used(self.cluster, key, found.puts)
        self.preempting.placed(key)
        self.heads.left(key)
        for put in found.puts:
            self.seats.put(_seat(gang, put))
        if used:
            self.freed = True  # what heads hold is counted anew
        self._starved.pop(key, None)
        self._said.pop(key, None)
        self.wakes.forget(key)
        self.waiting.drop(key)
        if gang.missing:
            self.wakes.event(("base", key))
        if found.left:
            self._concern([key])
        else:
            self.books.placed(key)
        names = self.cluster.names
        puts = tuple((put.pod, names[put.slot]) for put in found.puts)
        return Bind(gang, puts, len(found.left), found.score, found.domains, bool(gang.missing))

    def _refuse(self, gang: Gang, said: Said) -> list[Decision]:
        """It is told when it is news."""
        held = self._said.get(gang.key)
        now = explain.steady(held, said, self._now)
        self._said[gang.key] = now
        return [] if now is held else [Refuse(gang, now.reason, now.sentence)]

    # What it remembers, for another engine that is to be like this one

    def said(self) -> Mapping[str, Said]:
        """What was last said of gangs that wait."""
        return self._said

    def remember_said(self, key: str, said: Said) -> None:
        self._said[key] = said

    def starving(self) -> Mapping[str, Head | None]:
        """Gangs that have waited too long, and where room is gathered for them, if it is."""
        return {key: self.heads.of(key) for key in self._starved}

    def remember_starving(self, key: str, head: Head | None, looked: float) -> None:
        self._starved[key] = None
        if head is not None:
            self.heads.remember(head, looked)

    # What is known of those that wait

    def why(self, key: str) -> Explanation | None:
        """All that is known about why a gang waits, found out anew; None: it does not wait, or could be placed at once.
        Nothing is changed."""
        if self.seats.tell_apart():
            self._found.clear()
        gang = self.find(key)
        if gang is None or not gang.waiting:
            return None
        order = self.waiting.order()
        position = order.index(key) + 1 if key in order else 0
        said = waits(self, gang)
        if said is not None:
            return explain.record(gang, said, position=position)
        retry = self.retries.held.get(key)
        if retry is not None and self._now < retry.until:
            return explain.record(gang, explain.not_bound(retry.why), position=position)
        limit = self.queues.may_start(gang.queue, self.books.least(gang))
        if limit:
            return explain.record(gang, explain.limited(limit), position=position)
        try:
            gang, spread = spread_of(self, gang)
        except InvalidConstraint as error:
            return explain.record(gang, explain.unsupported(str(error)), position=position)
        answer = self._search(gang)
        if isinstance(answer, Found):
            if answer.puts:
                return None
            answer = NotFound(True, gang.root.name, "")
        going = self.preempting.under_way(key)
        if going is not None and going.victims:
            return explain.record(gang, explain.preempting(len(going.victims)), answer, position=position)
        said = self._held(gang) or self._without_room(gang, answer, spread)
        helps = suggestions(self.cluster, gang, answer, self._briefly) if gang.missing else ()
        held = self._held_from(gang) if gang.missing else ()
        return explain.record(gang, said, answer, position=position, suggestions=helps, held_for=held)

    def _briefly(self, gang: Gang) -> Answer:
        """A search for who is curious: there are several, and the loop waits meanwhile."""
        return self._search(gang, share=_CURIOUS)

    def _held_from(self, gang: Gang) -> tuple[str, ...]:
        """The gangs for which the room is held that would do for it."""
        others = [owner for owner in self.cluster.holds if owner != gang.key]
        if not others:
            return ()
        with reservations.opened(self.cluster, *others):
            found = self._briefly(gang)
        if isinstance(found, NotFound):
            return ()
        slots = {put.slot for put in found.puts}
        return tuple(owner for owner in others if any(one.slot in slots for one in self.cluster.holds[owner]))


_CONTENDED: Final = "/:contended"
"""Ends what a hold is owned by that is no gang's: that of a node that refused a pod."""
_REMEMBERED: Final = 4096
_CURIOUS: Final = 10
"""So much less than a decision a try may cost that changes nothing."""


def _seat(gang: Gang, put: Put) -> Placed:
    pod = put.pod
    key = "" if is_lone(gang.key) else gang.key
    return Placed(pod.uid, pod.namespace, pod.name, pod.cls, put.slot, gang=key, priority=gang.priority)
