"""The slots that a scope is confined to. Data."""

from __future__ import annotations

from typing import Final

import numpy as np

from grove.scheduler.predicates.rule import Mask, Slots
from grove.scheduler.topology import Tree


class Region:
    """A range of a tree, and of it only the slots of a mask where there is one."""

    __slots__ = ("_inside", "_slots", "end", "mask", "start", "tree")

    def __init__(self, tree: Tree, start: int, end: int, mask: Mask | None = None) -> None:
        self.tree: Final = tree
        self.start: Final = start
        self.end: Final = end
        self.mask: Final = mask
        self._slots: Slots | None = None
        self._inside: Mask | None = None

    @property
    def is_everything(self) -> bool:
        return self.mask is None and self.start == 0 and self.end == len(self.tree.order)

    @property
    def slots(self) -> Slots:
        """In the order of the tree."""
        if self._slots is None:
            found = self.tree.order[self.start : self.end]
            self._slots = found if self.mask is None else found[self.mask[found]]
        return self._slots

    @property
    def inside(self) -> Mask:
        """By slot whether it is in the region."""
        if self._inside is None:
            self._inside = np.zeros(len(self.tree.position), np.bool_)
            self._inside[self.slots] = True
        return self._inside

    def limited(self, mask: Mask | None) -> Region:
        if mask is None:
            return self
        return Region(self.tree, self.start, self.end, mask if self.mask is None else self.mask & mask)

    def within(self, tree: Tree, level: int, domain: int) -> Region:
        """The part of it that lies in a domain of this or another tree."""
        found = tree.levels[level]
        start, end = int(found.starts[domain]), int(found.ends[domain])
        if self.is_everything:
            return Region(tree, start, end)
        if self.tree is tree:
            return Region(tree, max(start, self.start), min(end, self.end), self.mask)
        return Region(tree, start, end, self.inside)
