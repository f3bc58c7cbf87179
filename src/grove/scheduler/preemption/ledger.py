"""Who was made to go for whom, and when: so that nobody goes in vain again and again. Pure; times are arguments.

The engine keeps one, tells it what it did, and hands it to `plan.plan`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

REPLANS: Final = 2
"""So many plans may follow the first one when its room was lost, before a gang waits longer."""
COOL_DOWN: Final = 60.0
"""Seconds that it waits then; twice as long each time."""
LONGEST_COOL_DOWN: Final = 3600.0
WINDOW: Final = 3600.0
"""So long it is remembered that a gang had to go."""
OFTEN: Final = 2
"""Who had to go so many times is spared where another would do as well."""


class Case(NamedTuple):
    """What was planned for one gang that waits."""

    plans: int = 0
    """Since it last cooled down."""
    cooled: int = 0
    """How many times it had to cool down."""
    not_before: float = 0.0
    sunk: frozenset[str] = frozenset()
    """Uids of pods that went, or are going, for it: they cost nothing any more."""


class Ledger:
    """See the top of the module."""

    def __init__(self) -> None:
        self._cases: dict[str, Case] = {}
        self._gone: dict[str, tuple[float, ...]] = {}

    def case(self, gang: str) -> Case:
        return self._cases.get(gang, Case())

    def planned(self, gang: str, victims: Iterable[str], owners: Iterable[str], now: float) -> None:
        """A plan for a gang is carried out: these pods go, of these gangs, some of them as a whole."""
        case = self.case(gang)
        plans = case.plans + 1
        sunk = case.sunk | {*victims}
        if plans <= REPLANS:
            self._cases[gang] = case._replace(plans=plans, sunk=sunk)
        else:
            pause = min(LONGEST_COOL_DOWN, COOL_DOWN * 2**case.cooled)
            self._cases[gang] = Case(0, case.cooled + 1, now + pause, sunk)
        for owner in dict.fromkeys(owners):
            self._gone[owner] = (*self._lately(owner, now), now)

    def stays(self, gang: str, victim: str) -> None:
        """A pod that was to go for a gang could not be made to: it costs what it did before."""
        case = self._cases.get(gang)
        if case is not None:
            self._cases[gang] = case._replace(sunk=case.sunk - {victim})

    def placed(self, gang: str) -> None:
        """The gang has its place, or does not want one any more."""
        self._cases.pop(gang, None)

    def repeats(self, gang: str, now: float) -> int:
        """How often a gang had to go lately, once that is often."""
        times = len(self._lately(gang, now))
        return times if times >= OFTEN else 0

    def _lately(self, gang: str, now: float) -> tuple[float, ...]:
        return tuple(time for time in self._gone.get(gang, ()) if now - time < WINDOW)

    def expire(self, now: float) -> None:
        """Forgets what does not count any more."""
        self._gone = {gang: times for gang in self._gone if (times := self._lately(gang, now))}

    @property
    def cases(self) -> Mapping[str, Case]:
        """By gang what was planned for it."""
        return self._cases

    @property
    def went(self) -> Mapping[str, tuple[float, ...]]:
        """By gang when it had to go."""
        return self._gone

    def remember(self, gang: str, case: Case, went: tuple[float, ...]) -> None:
        """What another ledger knew of a gang."""
        if case != Case():
            self._cases[gang] = case
        if went:
            self._gone[gang] = went

    def statistics(self) -> dict[str, int]:
        return {"cases": len(self._cases), "remembered": len(self._gone)}
