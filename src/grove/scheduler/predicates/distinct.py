"""What nodes say, each distinct thing once: rules look at a set of taints once, not at every node that has it. Pure."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Final, Generic, TypeVar

import numpy as np

from grove.scheduler.columns import Codes, grown
from grove.scheduler.predicates.rule import Counts

T = TypeVar("T", bound=Hashable)

_FIRST: Final = 64
_MOST_KNOWN: Final = 1024


class Distinct(Generic[T]):
    """By slot the code of what its node says; code 0 is what a vacant slot says."""

    def __init__(self, nothing: T) -> None:
        self.values: list[T] = [nothing]
        self.codes: Codes = np.zeros(_FIRST, np.int32)
        self._code_of: dict[T, int] = {nothing: 0}
        self._tables: dict[Hashable, Counts] = {}

    def put(self, slot: int, value: T) -> None:
        if slot >= len(self.codes):
            self.codes = grown(self.codes, 2 * slot)
        code = self._code_of.get(value)
        if code is None:
            code = self._code_of[value] = len(self.values)
            self.values.append(value)
        self.codes[slot] = code

    def says(self, slot: int) -> T:
        return self.values[int(self.codes[slot])]

    def table(self, key: Hashable, judge: Callable[[T], int]) -> Counts:
        """By code what `judge` makes of it, a number or yes and no: of each thing once for each key."""
        known = self._tables.get(key)
        if known is None:
            if len(self._tables) >= _MOST_KNOWN:
                self._tables.clear()
            known = np.zeros(0, np.int64)
        if len(known) < len(self.values):
            more = [int(judge(value)) for value in self.values[len(known) :]]
            known = self._tables[key] = np.concatenate([known, np.array(more, np.int64)])
        return known
