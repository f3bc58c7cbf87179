"""Which domains are alike, so that only one of them is tried. Pure.

Two domains of a level have one shape if whatever can still be placed in one can be placed in the other. With one kind
of pods the counts that are left say so, down to the narrowest level that any scope asks for. Else the nodes must be the
same, and the same must be packed there: sums alone would call different domains alike.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from grove.scheduler.placement.problem import Problem
from grove.scheduler.placement.supply import Supply
from grove.scheduler.predicates.rule import Slots
from grove.scheduler.topology import Tree


class Shapes:
    """Of a laminar problem of plain kinds."""

    def __init__(self, problem: Problem, supply: Supply, tree: Tree) -> None:
        self._supply: Final = supply
        self._tree: Final = tree
        rungs = [rung for ask in problem.asks if ask.tree is tree for rung in ask.ladder]
        self._depth = max((rung.level for rung in rungs), default=-1)
        self._named = {(rung.level, rung.domain) for rung in rungs if rung.domain >= 0}
        """Domains that a scope must use are like no others."""
        self._numbers: dict[object, int] = {}
        self._known: list[dict[int, int]] = [{} for _ in range(self._depth + 1)]
        self._charged: dict[tuple[int, int], list[tuple[object, ...]]] = {}
        self._types: Slots | None = None
        self._columns = [problem.cluster.free[:, : problem.cluster.size]] + [
            kind.capacity[None, :] for kind in problem.kinds
        ]

    def _number(self, shape: object) -> int:
        return self._numbers.setdefault(shape, len(self._numbers))

    def of(self, level: int, domain: int) -> int:
        """The shape of a domain, as a number; of everything where the level is -1."""
        if level < 0:
            outer = range(len(self._tree.levels[0])) if self._tree.levels else range(0)
            inner = sorted(self.of(0, at) for at in outer) if self._depth >= 0 else []
            return self._number(("all", tuple(inner), tuple(sorted(self._charged.get((-1, -1), ())))))
        known = self._known[level].get(domain) if level <= self._depth else None
        if known is not None:
            return known
        parts: list[object] = [level, *(self._around(level, domain, outer) for outer in range(level + 1))]
        if self._supply.exact:
            parts.append(int(self._supply.left(self._tree, level)[0, domain]))
        else:
            found = self._tree.levels[level]
            nodes = self._node_types()[self._tree.order[found.starts[domain] : found.ends[domain]]]
            parts.append(np.sort(nodes).tobytes())
            parts.append(tuple(sorted(self._charged.get((level, domain), ()))))
        if level < self._depth:
            children = self._tree.children(level, domain, level + 1)
            parts.append(tuple(sorted(self.of(level + 1, at) for at in children)))
        shape = self._number(tuple(parts))
        if level <= self._depth:
            self._known[level][domain] = shape
        return shape

    def _around(self, level: int, domain: int, outer: int) -> int:
        """What a scope inside that asks for a broader level can make of it."""
        above = domain if outer == level else int(self._supply.ancestors(self._tree, level, outer)[domain])
        return 1 + above if (outer, above) in self._named else min(above, 0)

    def _node_types(self) -> Slots:
        if self._types is None:
            columns = np.vstack(self._columns)
            self._types = np.unique(columns, axis=1, return_inverse=True)[1].reshape(-1).astype(np.int64)
        return self._types

    def charged(self, level: int, domain: int, load: tuple[object, ...], sign: int) -> None:
        """A scope with such a load was confined to a domain, or is no more."""
        if not self._supply.exact:
            loads = self._charged.setdefault((level, domain), [])
            if sign < 0:
                loads.remove(load)
            else:
                loads.append(load)
        for at in range(min(level, self._depth), -1, -1):
            above = domain if at == level else int(self._supply.ancestors(self._tree, level, at)[domain])
            self._known[at].pop(above, None)
