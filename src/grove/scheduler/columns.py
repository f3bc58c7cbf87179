"""Labels of nodes as columns of small numbers, and logs of what changed. Pure.

A column has for each slot the code of the node's value of one label key; 0 is: it has no such label.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

Codes = npt.NDArray[np.int32]

_FIRST: Final = 1024


class Column:
    """The values of one label key over all slots."""

    def __init__(self, size: int) -> None:
        self.codes: Codes = np.zeros(size, np.int32)
        self.values: list[str] = [""]
        self._code_of: dict[str, int] = {}

    def grow(self, size: int) -> None:
        self.codes = grown(self.codes, size)

    def put(self, slot: int, value: str | None) -> bool:
        """Whether that is a change."""
        code = 0 if value is None else self.code(value)
        if self.codes[slot] == code:
            return False
        self.codes[slot] = code
        return True

    def fill(self, values: Sequence[str | None]) -> None:
        """The values of the first slots, all at once."""
        known = self._code_of.get
        codes = [0 if value is None else known(value) or self.code(value) for value in values]
        self.codes[: len(codes)] = codes

    def code(self, value: str) -> int:
        code = self._code_of.get(value)
        if code is None:
            code = self._code_of[value] = len(self.values)
            self.values.append(value)
        return code

    def find(self, value: str) -> int:
        """The code of a value; -1: no node has ever had it."""
        return self._code_of.get(value, -1)

    def ranks(self) -> Codes:
        """By code the place of its value among all values in their order; 0, no value, comes last."""
        order = sorted(range(1, len(self.values)), key=self.values.__getitem__)
        ranks = np.empty(len(self.values), np.int32)
        ranks[order] = np.arange(len(order), dtype=np.int32)
        ranks[0] = len(order)
        return ranks


class Log:
    """Slots that changed, in order. Who reads it keeps a position, and asks for what came after it."""

    def __init__(self) -> None:
        self._slots = np.empty(_FIRST, np.int64)
        self._start = 0
        self.position = 0

    def append(self, slot: int) -> None:
        at = self.position - self._start
        if at == len(self._slots):
            self._make_room()
            at = self.position - self._start
        self._slots[at] = slot
        self.position += 1

    def since(self, position: int) -> npt.NDArray[np.int64] | None:
        """The slots that changed after a position, some of them repeatedly; None: too long ago to know."""
        if position < self._start:
            return None
        return self._slots[position - self._start : self.position - self._start]

    def _make_room(self) -> None:
        half = len(self._slots) // 2
        if len(self._slots) < 1 << 20:
            self._slots = np.concatenate([self._slots, np.empty_like(self._slots)])
        else:
            self._slots[:half] = self._slots[half:]
            self._start += half


def grown(array: npt.NDArray[np.generic], size: int) -> npt.NDArray:  # type: ignore[type-arg]
    """The array with room for more along its last axis, filled with zeros."""
    more = size - array.shape[-1]
    if more <= 0:
        return array
    return np.concatenate([array, np.zeros((*array.shape[:-1], more), array.dtype)], axis=-1)
