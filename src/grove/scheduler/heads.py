"""Gangs that have waited too long, and the room that gathers for them. Called by the engine.

Who is a head, and where, is decided by `starvation.py`; here is when to ask it: when a gang begins to starve or stops
waiting, and now and again while one does. Whatever becomes free is taken at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from grove.scheduler.cluster import Cluster
from grove.scheduler.crews import Crews
from grove.scheduler.gangs import Gang
from grove.scheduler.reservations import give_up
from grove.scheduler.starvation import Head, choose, open_to, refresh, starving

AGAIN: Final = 60.0
"""Seconds after which it is asked whether another domain has become better."""


class Heads:
    """See the top of the module."""

    def __init__(self, cluster: Cluster, crews: Crews, *, after: float, percent: int) -> None:
        """`after`: seconds of waiting after which a gang starves; `percent`: the most of all devices to hold."""
        self._cluster: Final = cluster
        self._crews: Final = crews
        self._after: Final = after
        self._percent: Final = percent
        self._heads: dict[str, Head] = {}
        self._asked = 0.0
        self._stale = False

    def __len__(self) -> int:
        return len(self._heads)

    def of(self, key: str) -> Head | None:
        """Where room is gathered for a gang; None: nowhere."""
        return self._heads.get(key)

    def remember(self, head: Head, looked: float) -> None:
        """Somebody for whom room was gathered before; what is held is told apart."""
        self._heads[head.gang] = head
        self._asked = looked

    @property
    def looked(self) -> float:
        """When it was last asked where room is to be gathered."""
        return self._asked

    def starves_at(self, gang: Gang) -> float:
        """From when on room is gathered for a gang, if it waits until then."""
        return gang.created + self._after

    def is_starving(self, gang: Gang, now: float) -> bool:
        return now >= self.starves_at(gang)

    def left(self, key: str) -> None:
        """A gang has its place, or does not want one any more."""
        if self._heads.pop(key, None) is not None:
            give_up(self._cluster, key, "head")
            self._stale = True

    def look_again(self) -> None:
        """Somebody has begun to starve: the next look is at everything."""
        self._stale = True

    def look(self, starved: Callable[[], Iterable[Gang]], now: float, *, freed: bool, anew: bool) -> bool:
        """Gathers for those who starve, given in the order of their turns; whether anything is held.

        `freed`: room has become free; `anew`: somebody has begun to starve.
        """
        if anew or self._stale or (self._heads and (now - self._asked >= AGAIN or self._has_lost_nodes())):
            self._stale = False
            self._asked = now
            self._choose(starved(), now)
        elif not freed or not self._heads:
            return bool(self._heads)
        refresh(self._cluster, [*self._heads.values()], percent=self._percent)
        return bool(self._heads)

    def _has_lost_nodes(self) -> bool:
        alive = self._cluster.alive
        return not all(alive[slot] for head in self._heads.values() for slot, _ in head.targets)

    def _choose(self, starved: Iterable[Gang], now: float) -> None:
        old = self._heads
        chosen: dict[str, Head] = {}
        for gang in starving(self._cluster, starved, now, self._after) if self._percent else ():
            head = choose(self._cluster, gang, self._crews.running(), now=now, old=old.get(gang.key))
            if head is not None:
                chosen[gang.key] = head
        for key in old.keys() - chosen.keys():
            give_up(self._cluster, key, "head")
        self._heads = chosen

    def open_to(self, ends: float) -> list[str]:
        """The heads whose room may be used by somebody who is gone by then."""
        return open_to(self._heads.values(), ends) if self._heads else []

    def next_look(self) -> float | None:
        return self._asked + AGAIN if self._heads else None
