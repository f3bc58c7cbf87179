"""What was last said of each gang that has no place: written down by whoever decides, read by whoever tells it.

Lives in memory: another leader decides anew, and says the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import NamedTuple

from grove.scheduler.gangs import Pending
from grove.scheduler.gangstatus import Said
from grove.scheduler.verdicts import Refuse


class Saying(NamedTuple):
    """A verdict, and the pods that wait because of it."""

    said: Said
    pods: tuple[Pending, ...]


class Sayings:
    """By the key of a gang. A source of keys for those who tell."""

    def __init__(self) -> None:
        self._held: dict[str, Saying] = {}
        self._scores: dict[str, float] = {}
        self._followers: list[Callable[[str], None]] = []

    def __len__(self) -> int:
        return len(self._held)

    def get(self, key: str) -> Saying | None:
        return self._held.get(key)

    def said(self, key: str) -> Said | None:
        found = self._held.get(key)
        return None if found is None else found.said

    def score(self, key: str) -> float | None:
        """How good its place is, if that was decided here."""
        return self._scores.get(key)

    def refused(self, refusal: Refuse) -> None:
        """The engine has said why a gang waits."""
        waiting = tuple(pod for group in refusal.gang.groups() for pod in group.waiting)
        self._held[refusal.gang.key] = Saying(Said(refusal.reason, refusal.message), waiting)
        self._tell(refusal.gang.key)

    def taken_back(self, key: str, reason: str, why: str) -> None:
        self._held[key] = Saying(Said(reason, why), ())
        self._tell(key)

    def placed(self, key: str, score: float | None) -> None:
        """The gang has a place now, or its extras have."""
        self._held.pop(key, None)
        if score is not None:
            self._scores[key] = score
        self._tell(key)

    def forget(self, keys: Iterable[str]) -> None:
        """Gangs that are no more."""
        for key in keys:
            self._held.pop(key, None)
            self._scores.pop(key, None)

    # As a source

    async def run(self, add: Callable[[str], None]) -> None:
        self._followers.append(add)
        for key in self._held:
            add(key)
        try:
            await asyncio.Event().wait()
        finally:
            self._followers.remove(add)

    async def synced(self) -> None:
        return

    def _tell(self, key: str) -> None:
        for add in self._followers:
            add(key)
