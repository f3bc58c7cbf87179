"""A gang as a question to an exact solver, and its answer. Data and pure functions: solving is `solver.py`'s.

Whole numbers only, of pods of each load on each node, and for every scope a choice among the domains of its ladder.
"""

from __future__ import annotations

from collections.abc import Callable
from math import gcd
from typing import Final, Literal, TypeAlias

import msgspec
import numpy as np

from grove.scheduler.placement.fill import Shares
from grove.scheduler.placement.problem import Ask, Problem
from grove.scheduler.placement.supply import Supply

MOST_VARIABLES: Final = 60_000


class Load(msgspec.Struct, frozen=True, array_like=True):
    """Pods of one kind of one scope."""

    ask: int
    kind: int
    many: int


class Domain(msgspec.Struct, frozen=True, array_like=True):
    """A choice for a scope: what its score gains, and the nodes."""

    gain: int
    nodes: tuple[int, ...]


class Question(msgspec.Struct, frozen=True, array_like=True):
    """Numbers of nodes are places in `slots`."""

    slots: tuple[int, ...]
    free: tuple[tuple[int, ...], ...]
    """By row and node."""
    requests: tuple[tuple[int, ...], ...]
    """By kind and row."""
    most: tuple[tuple[int, ...], ...]
    """By kind and node how many fit, others left out."""
    loads: tuple[Load, ...]
    parents: tuple[int, ...]
    """By scope the one around it, or -1."""
    domains: tuple[tuple[Domain, ...], ...]
    """By scope; of a scope without any, every node will do."""


class Solution(msgspec.Struct, frozen=True, array_like=True):
    """What the solver found out."""

    verdict: Literal["best", "found", "none", "unknown"]
    """`best`: nothing scores more; `found`: it gave up looking for better; `none`: there is no placement."""
    counts: tuple[tuple[int, int, int], ...] = ()
    """Loads, nodes and how many."""
    trouble: str = ""
    """Why the solver could not be asked."""


Exact: TypeAlias = Callable[[Question], Solution]


def question(problem: Problem, supply: Supply) -> Question | None:
    """None: it is no question for the solver, or too large a one."""
    if not problem.is_plain:
        return None
    useful = np.flatnonzero(np.logical_or.reduce([kind.capacity > 0 for kind in problem.kinds]))
    loads = [Load(ask.number, kind, many) for ask in problem.asks for kind, many in sorted(ask.own.items())]
    if len(loads) * len(useful) > MOST_VARIABLES:
        return None
    number = np.full(problem.cluster.size, -1, np.int64)
    number[useful] = np.arange(len(useful))
    domains = tuple(tuple(_domains(supply, ask, number)) for ask in problem.asks)
    rows = sorted({row for kind in problem.kinds for row, _ in kind.cls.requests})
    free: list[tuple[int, ...]] = []
    requests: list[list[int]] = [[] for _ in problem.kinds]
    for row in rows:
        asked = [dict(kind.cls.requests).get(row, 0) for kind in problem.kinds]
        unit = gcd(*asked)
        have = np.maximum(problem.cluster.free[row, useful], 0) // unit
        free.append(tuple(np.minimum(have, sum(asked) // unit * 100_000).tolist()))
        for kind, amount in enumerate(asked):
            requests[kind].append(amount // unit)
    return Question(
        tuple(useful.tolist()),
        tuple(free),
        tuple(tuple(asked) for asked in requests),
        tuple(tuple(kind.capacity[useful].tolist()) for kind in problem.kinds),
        tuple(loads),
        tuple(ask.parent for ask in problem.asks),
        domains,
    )


def _domains(supply: Supply, ask: Ask, number: np.typing.NDArray[np.int64]) -> list[Domain]:
    found: list[Domain] = []
    if not ask.demand.any():
        return found
    need = supply.need(ask.demand)
    for rung in ask.ladder:
        if rung.level < 0:
            nodes = number if rung.limit is None else np.where(rung.limit, number, -1)
            found.append(Domain(rung.gain, tuple(nodes[nodes >= 0].tolist())))
            continue
        _, room = supply.room(ask, rung.level, (-1, -1), None)
        for domain in np.flatnonzero((room >= need[:, None]).all(axis=0)).tolist():
            if rung.domain in (-1, domain) and _has_labels(supply, ask, rung.level, domain):
                nodes = number[ask.tree.slots(rung.level, domain)]
                found.append(Domain(rung.gain, tuple(nodes[nodes >= 0].tolist())))
    return found


def _has_labels(supply: Supply, ask: Ask, level: int, domain: int) -> bool:
    """Whether a domain lies in one of every level that its scope names."""
    return all(
        supply.ancestors(ask.tree, level, named)[domain] >= 0
        for named in (ask.required, ask.preferred)
        if 0 <= named < level
    )


def shares(asked: Question, answer: Solution) -> list[tuple[int, int, Shares]]:
    """By scope and kind which slots take how many."""
    found: list[Shares] = [[] for _ in asked.loads]
    for load, node, many in answer.counts:
        found[load].append((asked.slots[node], many))
    return [(load.ask, load.kind, one) for load, one in zip(asked.loads, found, strict=True)]
