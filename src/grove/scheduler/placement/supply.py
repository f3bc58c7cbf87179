"""Bounds: what every domain has, less what the scopes confined to it take. Pure.

A row is something that a placement cannot use more of than there is: pods of one kind, a resource on the nodes that any
kind may use, and, for devices, pods that ask for at least so many of them. Each is necessary: where a row is short,
there is no placement, and that is a proof. Of a gang of one kind over one tree the only row is exact.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from grove.scheduler.placement.problem import Ask, Problem
from grove.scheduler.predicates.rule import Array, Counts, Mask, Slots
from grove.scheduler.resources import PODS, is_device
from grove.scheduler.topology import Tree

_LIMIT: Final = 1 << 62


class Row(NamedTuple):
    """One necessary condition."""

    kind: int
    """The kind that it counts; -1: several."""
    resource: int
    """The row of `Cluster.free`; -1: pods of a kind."""
    at_least: int
    """Where it counts pods that ask for so many; 0: it counts amounts."""


class Supply:
    """See the top of the module."""

    __slots__ = ("_ancestors", "_charges", "_left", "exact", "problem", "rows", "slots", "spare", "weights", "whole")

    def __init__(self, problem: Problem) -> None:
        self.problem: Final = problem
        found = [*_rows(problem)]
        self.rows: Final[list[Row]] = [row for row, _, _ in found]
        self.slots: Final[Counts] = np.array([supply for _, supply, _ in found], np.int64)
        """By row and slot."""
        self.weights: Final[Counts] = np.array([weights for _, _, weights in found], np.int64)
        """By row and kind."""
        self.exact: Final = len(problem.kinds) == 1 and problem.is_plain and problem.is_laminar
        self.whole: Counts = self.slots.sum(axis=1)
        self._left: Final[dict[tuple[str, ...], list[Counts]]] = {}
        self._charges: Final[dict[tuple[tuple[str, ...], int], int]] = {}
        """By tree and level how many scopes are confined to domains of it."""
        self._ancestors: Final[dict[tuple[tuple[str, ...], int, int], Slots]] = {}
        for ask in problem.asks:
            if ask.tree.keys not in self._left:
                self._left[ask.tree.keys] = _sums(ask.tree, self.slots)
        self.spare: Final[dict[tuple[str, ...], list[Counts]]] = {}
        """What would be left if extras were placed as well; only where there are some."""
        if problem.asks[0].extras.any():
            self.spare.update({keys: [level.copy() for level in left] for keys, left in self._left.items()})

    def need(self, demand: Counts) -> Counts:
        """By row what pods take, given by kind."""
        found: Counts = self.weights @ demand
        return found

    def left(self, tree: Tree, level: int) -> Counts:
        """By row and domain what is not charged; the last entry is for nodes in none."""
        return self._left[tree.keys][level]

    def room(self, ask: Ask, level: int, outer: tuple[int, int], mask: Mask | None) -> tuple[range, Counts]:
        """The domains of a level inside a domain of a broader one, and what is left there, by row and domain."""
        tree = ask.tree
        inside = tree.children(*outer, level) if outer[0] >= 0 else range(len(tree.levels[level]))
        room: Counts = self.left(tree, level)[:, inside.start : inside.stop]
        for between in range(outer[0] + 1, level):
            if not self._charges.get((tree.keys, between)):
                continue  # it has at least what each domain in it has
            above = self.ancestors(tree, level, between)[inside.start : inside.stop]
            limit = self.left(tree, between)[:, above]
            room = np.where(above >= 0, np.minimum(room, limit), room)
        if mask is not None:
            totals = _running(tree, self.slots * mask)
            found = tree.levels[level]
            starts, ends = found.starts[inside.start : inside.stop], found.ends[inside.start : inside.stop]
            room = np.minimum(room, totals[:, ends] - totals[:, starts])
        return inside, room

    def ancestors(self, tree: Tree, level: int, outer: int) -> Slots:
        """By domain of a level the domain of a broader one that it lies in, or -1."""
        key = (tree.keys, level, outer)
        found = self._ancestors.get(key)
        if found is None:
            inner = tree.levels[level]
            found = self._ancestors[key] = tree.levels[outer].domain_of[tree.order[inner.starts]]
        return found

    def charge(
        self, ask: Ask, level: int, domain: int, outer: int, need: Counts, with_extras: Counts, sign: int
    ) -> None:
        """A scope is confined to a domain, its pods counted at `outer` and broader levels already."""
        keys = ask.tree.keys
        for at in range(outer + 1, level + 1):
            above = domain if at == level else int(self.ancestors(ask.tree, level, at)[domain])
            if above >= 0:
                self._charges[keys, at] = self._charges.get((keys, at), 0) + sign
                self._left[keys][at][:, above] -= sign * need
                if self.spare:
                    self.spare[keys][at][:, above] -= sign * with_extras

    def together(self, asks: Sequence[Ask], level: int, outer: int) -> Counts:
        """How many of some scopes are each in one domain of a level at most, by domain of a broader level `outer` that
        all are in; where that is -1, they may be anywhere."""
        tree = asks[0].tree
        need = np.min([self.need(ask.demand) for ask in asks], axis=0)
        used = need > 0
        left = self.left(tree, level)[:, :-1]
        fits: Counts = (np.maximum(left[used], 0) // need[used][:, None]).min(axis=0)
        if outer < 0:
            return np.array([fits.sum()])
        if outer == level:
            return fits
        above = self.ancestors(tree, level, outer)
        inside = above >= 0
        size = len(tree.levels[outer])
        return np.bincount(above[inside], weights=fits[inside], minlength=size).astype(np.int64)


def _rows(problem: Problem) -> Iterator[tuple[Row, Array, list[int]]]:
    cluster, kinds = problem.cluster, problem.kinds
    total = [int(found) for found in problem.asks[0].demand]
    for kind in kinds:
        yield Row(kind.number, -1, 0), kind.capacity, [int(other is kind) for other in kinds]
    if len(kinds) == 1:
        return
    size = cluster.size
    requests = [dict(kind.cls.requests) for kind in kinds]
    for resource in sorted({row for asked in requests for row in asked}):
        amounts = [asked.get(resource, 0) for asked in requests]
        if sum(amount > 0 for amount in amounts) < 2:
            continue  # the kind's own row is sharper
        free = np.maximum(cluster.free[resource, :size], 0)
        need = sum(amount * count for amount, count in zip(amounts, total, strict=True))
        if need < _LIMIT and int(free.max(initial=0)) * size < _LIMIT:
            yield Row(-1, resource, 0), np.where(_any(problem, amounts, 1), free, 0), amounts
        if resource == PODS or not is_device(cluster.resources.names[resource]):
            continue
        for least in sorted({amount for amount in amounts if amount > 0})[:6]:
            counted = [int(amount >= least) for amount in amounts]
            if sum(counted) > 1:
                yield Row(-1, resource, least), np.where(_any(problem, amounts, least), free // least, 0), counted


def _any(problem: Problem, amounts: list[int], least: int) -> Mask:
    """The slots where a kind that asks for so much fits at all."""
    found = np.zeros(problem.cluster.size, np.bool_)
    for kind, amount in zip(problem.kinds, amounts, strict=True):
        if amount >= least:
            found |= kind.capacity > 0
    return found


def _running(tree: Tree, values: Counts) -> Counts:
    found = np.zeros((len(values), len(tree.order) + 1), np.int64)
    np.cumsum(values[:, tree.order], axis=1, out=found[:, 1:])
    return found


def _sums(tree: Tree, values: Counts) -> list[Counts]:
    totals = _running(tree, values)
    none = np.zeros((len(values), 1), np.int64)
    return [np.hstack([totals[:, level.ends] - totals[:, level.starts], none]) for level in tree.levels]
