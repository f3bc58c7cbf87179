"""Gangs that wait asleep, and what wakes each: what they lack, a limit, another gang, a moment. Pure.

The engine parks a gang here when it was refused, and asks at every turn who is `due`. Gangs that lack room are grouped
by signature (`demands.py`): what one of a group was refused, all of it are, until some domain has more of what they
need and could hold one; and then only so many are woken as there could be room for. A gang is never left asleep when a
placement has come to exist: needs are bounds, which any placement meets, and whoever cannot be judged by them is woken
by every change. Who is woken in vain waits in proportion to what that cost, so that looking in vain takes no more than
a twentieth of the time.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Final, TypeAlias

import msgspec

from grove.scheduler import demands
from grove.scheduler.boards import Boards, Row
from grove.scheduler.cluster import Cluster
from grove.scheduler.demands import Need, Signature
from grove.scheduler.gangs import Gang
from grove.scheduler.needs import devices_of, volumes_of
from grove.scheduler.placement.budget import STEPS_PER_MILLISECOND
from grove.scheduler.queues import Queues
from grove.scheduler.resources import Vector
from grove.scheduler.verdicts import NotFound, Reason

Topic: TypeAlias = tuple[str, str]
"""A kind of event and whom it is about: `("base", key)`, `("spread", namespace)`, …"""
SEES: Final[Topic] = ("sees", "")
_Order: TypeAlias = tuple[int, float, str]

PATIENCE: Final = 20
"""Looking in vain is repeated after so many times as long as it took."""
_LEAST: Final = 20
"""Steps that any look costs, with all that is done around it."""
_EACH: Final = 5
"""Steps that a gang costs which is woken and refused without a look."""


class WakesStatistics(msgspec.Struct, frozen=True):
    """Who sleeps, and what waking costs."""

    parked: dict[str, int]
    """Gangs by reason."""
    groups: int
    """Of gangs that lack room: how many differ."""
    quantities: int
    """What is counted for them."""
    changes: int
    """How often the cluster had changed when it was looked at."""
    woken: int
    in_vain: int
    """Of these, who was refused again for want of room."""
    known: int
    """Gangs that were refused without a search, because one like them had just been."""


class _Group:
    """Gangs of one signature, which lack room."""

    __slots__ = (
        "classes", "gangs", "is_deep", "is_extras", "is_masked", "is_open", "is_single", "names", "needs", "order",
        "out", "retry_at", "rows", "signature", "spent", "taken", "verdict", "was_tried",
    )  # fmt: skip

    def __init__(self, signature: Signature, gang: Gang, *, is_single: bool) -> None:
        self.signature: Final = signature
        self.is_extras: Final = gang.is_placed
        """One of its needs will do; else all must be met."""
        self.needs: Final[Sequence[Need]] = demands.extras(gang) if gang.is_placed else demands.needs(gang)
        self.names: Final = demands.names(gang)
        self.classes: Final = [*dict.fromkeys(pod.cls for group in gang.groups() for pod in group.waiting)]
        self.is_single: Final = is_single
        """It sees more or less than others, such as room held for it: every change may be what it waits for."""
        self.is_masked: Final = gang.within is not None
        self.rows: list[Row] = []
        self.is_deep = False
        """All its needs are met, and yet there was no placement."""
        self.is_open = False
        """Something it needs became more since one of it was refused."""
        self.verdict: NotFound = NotFound(proven=False, scope="", key="")
        self.gangs: dict[str, _Order] = {}
        self.order: list[_Order] = []
        self.retry_at = 0.0
        self.spent = 0
        """Steps of the last look, if it was in vain."""
        self.was_tried = False
        """It was woken, and nobody has been refused since."""
        self.taken = 0
        self.out = 0
        """Gangs that were woken and have not been looked at yet."""


class Wakes:
    """See the top of the module."""

    def __init__(self, cluster: Cluster, queues: Queues) -> None:
        self._cluster: Final = cluster
        self._queues: Final = queues
        self._boards: Final = Boards(cluster)
        self._groups: dict[Signature, _Group] = {}
        self._group_of: dict[str, _Group] = {}
        self._open: dict[Signature, _Group] = {}
        self._restless: dict[Signature, _Group] = {}
        """Those that any change opens."""
        self._masked: dict[Signature, _Group] = {}
        self._claiming: dict[Signature, _Group] = {}
        """Those whose pods have volumes or claims to devices."""
        self._left: dict[Signature, _Group] = {}
        """Those without a gang: kept for a turn, since a gang that was woken often comes back."""
        self._out: dict[str, _Group | _Limited] = {}
        """By gang that was woken and has not been looked at yet where it came from."""
        self._limited: dict[tuple[str, Vector], _Limited] = {}
        self._limit_of: dict[str, tuple[str, Vector]] = {}
        self._freed = queues.freed
        self._topics: dict[Topic, dict[str, None]] = {}
        self._topics_of: dict[str, Sequence[Topic]] = {}
        self._timers: list[tuple[float, str]] = []
        self._timer_of: dict[str, float] = {}
        self._reasons: dict[str, Reason] = {}
        self._woken: dict[str, None] = {}
        self._spent = 0
        self._counts: Counter[str] = Counter()

    # Falling asleep

    def park(
        self, gang: Gang, verdict: NotFound, now: float, *, topics: Sequence[Topic] = (), sees: Hashable = None
    ) -> None:
        """A gang was refused for want of room; to be called before the cluster changes.

        `sees`: what it was judged by beyond the cluster that everybody sees, if anything: pods nominated before it,
        heads whose room it may use. Then every change wakes it, and the event `SEES`.
        """
        self._advance()
        signature = self._sign(gang, sees)
        group = self._groups.get(signature)
        if group is None:
            group = self._new_group(signature, gang, has_view=bool(sees))
        if group.was_tried:
            group.was_tried = False
            self._spent -= group.spent
            group.spent = max(verdict.looked, _LEAST) + _EACH * group.taken
            self._spent += group.spent
            group.retry_at = now + PATIENCE * self._spent / (1000 * STEPS_PER_MILLISECOND)
            self._counts["in_vain"] += 1
        group.verdict = demands.renamed(verdict, demands.names(gang), group.names)
        self._close(group)
        self.forget(gang.key)
        self._left.pop(signature, None)
        order = (-gang.priority, gang.created, gang.key)
        group.gangs[gang.key] = order
        heapq.heappush(group.order, order)
        self._group_of[gang.key] = group
        self._reasons[gang.key] = "Unschedulable" if verdict.proven else "SearchEnded"
        around = [SEES] if sees else []
        if gang.base:
            around.append(("base", gang.base))
        if gang.within is not None:  # by where other replicas are
            around.append(("spread", gang.key.split("/", 1)[0]))
        self._listen(gang.key, (*around, *topics))

    def park_limited(self, gang: Gang, amounts: Vector) -> None:
        """A gang may not start because of its queue's limits."""
        self.forget(gang.key)
        key = (gang.queue, amounts)
        limited = self._limited.setdefault(key, _Limited())
        limited.is_open = False
        limited.gangs[gang.key] = (-gang.priority, gang.created, gang.key)
        self._limit_of[gang.key] = key
        self._reasons[gang.key] = "QueueLimit"

    def park_until(self, key: str, reason: Reason, *topics: Topic) -> None:
        """A gang waits for events alone, such as its base gang's being placed; of its own pods and of changes of its
        PodGang the engine knows itself."""
        self.forget(key)
        self._reasons[key] = reason
        self._listen(key, topics)

    def at(self, key: str, moment: float) -> None:
        """Wakes a gang at a moment too, unless it is parked anew or forgotten before. The earliest one counts."""
        held = self._timer_of.get(key)
        if held is None or moment < held:
            self._timer_of[key] = moment
            heapq.heappush(self._timers, (moment, key))

    def forget(self, key: str) -> None:
        """A gang is not asleep any more."""
        woken = self._out.pop(key, None)
        if woken is not None:
            woken.out -= 1
        if self._reasons.pop(key, None) is None:
            return
        group = self._group_of.pop(key, None)
        if group is not None:
            del group.gangs[key]
            if not group.gangs:
                self._left[group.signature] = group
        limit = self._limit_of.pop(key, None)
        if limit is not None:
            del self._limited[limit].gangs[key]
            if not self._limited[limit].gangs:
                del self._limited[limit]
        for topic in self._topics_of.pop(key, ()):
            listeners = self._topics[topic]
            listeners.pop(key, None)
            if not listeners:
                del self._topics[topic]
        self._timer_of.pop(key, None)
        self._woken.pop(key, None)

    def _listen(self, key: str, topics: Sequence[Topic]) -> None:
        if topics:
            self._topics_of[key] = [*dict.fromkeys(topics)]
            for topic in topics:
                self._topics.setdefault(topic, {})[key] = None

    # Waking up

    def known(self, gang: Gang, *, sees: Hashable = None) -> NotFound | None:
        """What a search would say, where one for a gang of the same signature has just said it."""
        if not self._groups:
            return None
        group = self._groups.get(self._sign(gang, sees))
        if group is None or group.is_open or not group.verdict.scope:
            return None
        self._advance()
        if group.is_open:
            return None
        self._counts["known"] += 1
        return demands.renamed(group.verdict, group.names, demands.names(gang))

    def event(self, *topics: Topic) -> None:
        """Something happened that gangs wait for."""
        for topic in topics:
            for key in self._topics.get(topic, ()):
                self._woken[key] = None
                group = self._group_of.get(key)
                if group is not None:
                    self._open_up(group)

    def stir(self) -> None:
        """Something changed that volumes and claims of pods depend on, beside nodes and pods."""
        for group in self._claiming.values():
            self._open_up(group)

    def due(self, now: float) -> list[str]:
        """The gangs that are to be looked at; they are not asleep any more.

        To be called again when some of them have been looked at: each is parked again then, or forgotten. Until then
        it counts as one of those that there could be room for."""
        self._advance()
        for group in [one for one in self._left.values() if not one.out]:
            del self._left[group.signature]
            if not group.gangs:
                self._drop(group)
        found: dict[str, _Group | _Limited | None] = dict.fromkeys(self._woken)
        for group in [*self._open.values()]:
            if group.retry_at <= now:
                found.update(dict.fromkeys(self._take(group), group))
        self._look_at_limits(found)
        while self._timers and self._timers[0][0] <= now:
            moment, key = heapq.heappop(self._timers)
            if self._timer_of.get(key) == moment:
                del self._timer_of[key]
                found.setdefault(key)
        for key, origin in found.items():
            self.forget(key)
            if origin is not None:
                origin.out += 1
                self._out[key] = origin
        self._counts["woken"] += len(found)
        return [*found]

    def next_wake(self) -> float | None:
        """When somebody is due although nothing happens."""
        moments = [group.retry_at for group in self._open.values() if group.gangs]
        while self._timers and self._timer_of.get(self._timers[0][1]) != self._timers[0][0]:
            heapq.heappop(self._timers)
        if self._timers:
            moments.append(self._timers[0][0])
        return min(moments, default=None)

    def is_asleep(self, key: str) -> bool:
        return key in self._reasons

    def statistics(self) -> WakesStatistics:
        return WakesStatistics(
            parked=dict(sorted(Counter(self._reasons.values()).items())),
            groups=len(self._groups),
            quantities=len(self._boards),
            changes=self._boards.changes,
            woken=self._counts["woken"],
            in_vain=self._counts["in_vain"],
            known=self._counts["known"],
        )

    def _sign(self, gang: Gang, sees: Hashable) -> Signature:
        found = demands.signature(gang, has_holds=gang.key in self._cluster.holds)
        return (found, sees) if sees else found

    def _advance(self) -> None:
        """Opens the groups that could have come to fit."""
        changes, shapes = self._boards.changes, self._boards.shapes
        for owner in self._boards.sync():
            assert isinstance(owner, _Group)
            if owner.is_deep or owner.is_extras or self._how_many(owner):
                self._open_up(owner)
            else:
                self._watch(owner)
        if self._boards.changes != changes:
            for group in self._restless.values():
                self._open_up(group)
            if self._boards.shapes != shapes:
                for group in self._masked.values():
                    self._open_up(group)

    def _open_up(self, group: _Group) -> None:
        group.is_open = True
        self._open[group.signature] = group

    def _close(self, group: _Group) -> None:
        group.is_open = False
        self._open.pop(group.signature, None)
        self._watch(group)

    def _watch(self, group: _Group) -> None:
        """What opens the group is that the first of its needs that is not met becomes met; of several that will do,
        any of them; where all are met, that there is more of anything."""
        unmet = [at for at in range(len(group.needs)) if not self._fits(group, at)]
        group.is_deep = not unmet
        watched = range(len(group.needs)) if group.is_extras else unmet[:1] or [0]
        for at, (need, row) in enumerate(zip(group.needs, group.rows, strict=True)):
            self._boards.watch(need, row, at in watched)
        is_plain = all(map(self._cluster.is_plain, group.classes))
        if group.is_single or (not is_plain and (group.is_deep or group.is_extras)):
            self._restless[group.signature] = group
        else:
            self._restless.pop(group.signature, None)

    def _fits(self, group: _Group, at: int) -> int:
        return self._boards.how_many(group.needs[at], group.rows[at])

    def _how_many(self, group: _Group) -> int:
        """How many gangs of the group could be placed at most."""
        found = [self._fits(group, at) for at in range(len(group.needs))]
        return max(found, default=0) if group.is_extras else min(found, default=1)

    def _take(self, group: _Group) -> list[str]:
        """The first ones of an open group: as many as there could be room for."""
        count = self._how_many(group)
        if group.was_tried and not group.out:  # all that were woken have a place
            self._spent -= group.spent
            group.spent = 0
        if not count and not group.is_single and not group.is_masked:
            self._close(group)
            return []
        found: list[str] = []
        # The last time was in vain: one of them will tell.
        most = (1 if group.spent else max(1, count)) - group.out
        while group.order and len(found) < most:
            order = heapq.heappop(group.order)
            if group.gangs.get(order[-1]) is order:
                found.append(order[-1])
        if found:
            group.was_tried, group.taken = True, len(found)
        return found

    def _look_at_limits(self, found: dict[str, _Group | _Limited | None]) -> None:
        if self._freed != self._queues.freed:
            self._freed = self._queues.freed
            for limited in self._limited.values():
                limited.is_open = True
        for (queue, amounts), limited in self._limited.items():
            if limited.is_open:
                count = self._queues.how_many(queue, amounts)
                limited.is_open = count > 0
                most = max(0, count - limited.out)
                found.update((order[-1], limited) for order in heapq.nsmallest(most, limited.gangs.values()))

    def _new_group(self, signature: Signature, gang: Gang, *, has_view: bool) -> _Group:
        is_single = has_view or gang.key in self._cluster.holds or bool(gang.reuses)
        group = self._groups[signature] = _Group(signature, gang, is_single=is_single)
        group.rows = [self._boards.put_up(need, group) for need in group.needs]
        if group.is_masked:
            self._masked[signature] = group
        if any(volumes_of(cls) is not None or devices_of(cls) is not None for cls in group.classes):
            self._claiming[signature] = group
        return group

    def _drop(self, group: _Group) -> None:
        for need, row in zip(group.needs, group.rows, strict=True):
            self._boards.take_down(need, row)
        for groups in (self._groups, self._open, self._restless, self._masked, self._claiming):
            groups.pop(group.signature, None)
        self._spent -= group.spent


class _Limited:
    """Gangs of one queue that need the same, and may not start."""

    __slots__ = ("gangs", "is_open", "out")

    def __init__(self) -> None:
        self.gangs: dict[str, _Order] = {}
        self.is_open = False
        """Whether one of it might, as far as was seen."""
        self.out = 0
        """Gangs that were woken and have not been looked at yet."""
