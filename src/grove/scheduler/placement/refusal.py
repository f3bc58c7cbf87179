"""Why a gang has no place: the nearest domains, what they lack, and why nodes refuse its pods. Pure."""

from __future__ import annotations

from collections import Counter
from typing import Final

import numpy as np

from grove.scheduler.classes import PodClass
from grove.scheduler.cluster import Cluster
from grove.scheduler.placement.problem import Ask, Kind, Problem
from grove.scheduler.placement.supply import Supply
from grove.scheduler.predicates.rule import Counts, Slots
from grove.scheduler.verdicts import NotFound, Shortfall

NEAREST: Final = 5
_SAMPLE: Final = 256
"""Nodes asked one by one for their reasons; more are estimated from these."""


def refuse(problem: Problem, supply: Supply, number: int, *, proven: bool, looked: int) -> NotFound:
    """The verdict when the scope with a number was the last one that the search could not get past."""
    ask = problem.asks[_culprit(problem, number)]
    widest = ask.ladder[-1]
    level = ask.required
    shortfalls: list[Shortfall] = []
    if level >= 0 and widest.level == level:
        domains = range(len(ask.tree.levels[level]))
        if widest.domain >= 0:
            domains = range(widest.domain, widest.domain + 1)
        for domain in _nearest(problem, ask, level, domains):
            slots = ask.tree.slots(level, domain)
            lack = _shortfall(problem, supply, ask, slots, ask.tree.levels[level].name(domain))
            shortfalls.append(lack if lack.fits < lack.needs else _crowded(problem, supply, ask, level, domain, lack))
    else:
        slots = ask.tree.order
        if widest.limit is not None:
            slots = slots[widest.limit[slots]]
        lack = _shortfall(problem, supply, ask, slots, "")
        shortfalls.append(lack if lack.fits < lack.needs else _crowded(problem, supply, ask, -1, 0, lack))
    lacking = shortfalls[0].group if shortfalls else ""
    named = (group.waiting[0].cls for group, _ in problem.groups if group.name == lacking and group.waiting)
    reasons = histogram(problem.cluster, next(named, problem.kinds[0].cls))
    if widest.limit is not None and ask.scope.pack.required:
        split = f"pods of {ask.scope.name} are in several domains of {ask.scope.pack.required}"
        reasons = [(split, len(ask.pins)), *reasons]
    key = ask.tree.levels[level].key if level >= 0 else ""
    return NotFound(proven, ask.scope.name, key, tuple(shortfalls), tuple(reasons), looked)


def _culprit(problem: Problem, number: int) -> int:
    """The scope inside the one that failed that has no domain of its own even alone; if there is none, that one."""
    for child in problem.asks[number].children:
        found = _culprit(problem, child)
        if found != child:
            return found
        ask = problem.asks[child]
        if ask.required >= 0 and ask.demand.any():
            missing = _missing(problem, ask, ask.required, range(len(ask.tree.levels[ask.required])))
            if not len(missing) or missing.min() > 0:
                return child
    return number


def _nearest(problem: Problem, ask: Ask, level: int, domains: range) -> list[int]:
    """Those where most pods fit, each kind counted alone."""
    order = np.argsort(_missing(problem, ask, level, domains), kind="stable")[:NEAREST]
    return [domains.start + int(at) for at in order]


def _missing(problem: Problem, ask: Ask, level: int, domains: range) -> Counts:
    """By domain how many pods do not fit, each kind counted alone."""
    found = ask.tree.levels[level]
    missing = np.zeros(len(domains), np.int64)
    for kind in problem.kinds:
        totals = ask.tree.totals(kind.capacity)
        fits = (totals[found.ends] - totals[found.starts])[domains.start : domains.stop]
        missing += np.maximum(ask.demand[kind.number] - fits, 0)
    return missing


def _shortfall(problem: Problem, supply: Supply, ask: Ask, slots: Slots, name: str) -> Shortfall:
    """What a domain lacks: pods of one kind, or of a resource that several share, or it is how they go together."""
    worst: tuple[int, Kind] | None = None
    for kind in problem.kinds:
        needs = int(ask.demand[kind.number])
        missing = needs - problem.cluster.places(kind.cls, slots, kind.capacity[slots])
        if missing > 0 and (worst is None or missing > worst[0]):
            worst = missing, kind
    cluster = problem.cluster
    if worst is not None:
        missing, kind = worst
        needs = int(ask.demand[kind.number])
        resource, lacks = _scarce(cluster, kind, slots, needs)
        return Shortfall(name, needs - missing, needs, _group(problem, ask, kind), resource, lacks)
    need = supply.need(ask.demand)
    for at, row in enumerate(supply.rows):
        have = int(supply.slots[at, slots].sum())
        if row.resource >= 0 and have < need[at]:
            kind = max(problem.kinds, key=lambda kind: supply.weights[at, kind.number] * ask.demand[kind.number])
            fits, needs = _together(problem, ask, slots, kind)
            lacks = int(need[at]) - have
            lacks = lacks * row.at_least if row.at_least else lacks
            return Shortfall(
                name, fits, needs, _group(problem, ask, kind), cluster.resources.names[row.resource], lacks
            )
    for kind in reversed(problem.kinds):
        fits, needs = _together(problem, ask, slots, kind)
        if not problem.is_plain:  # what the pods that are there let in
            fits = min(fits, cluster.places(kind.cls, slots, cluster.capacity(kind.cls)[slots]))
        if fits < needs:
            return Shortfall(name, fits, needs, _group(problem, ask, kind))
    kind = problem.kinds[0]
    return Shortfall(name, *_together(problem, ask, slots, kind), _group(problem, ask, kind))


def _crowded(problem: Problem, supply: Supply, parent: Ask, level: int, domain: int, otherwise: Shortfall) -> Shortfall:
    """What a domain lacks where all pods fit, and not all scopes inside find a domain of the level they require."""
    alike: dict[int, list[Ask]] = {}
    for number in parent.children:
        ask = problem.asks[number]
        if ask.tree is parent.tree and ask.required > level and ask.demand.any():
            alike.setdefault(ask.required, []).append(ask)
    for inner, asks in alike.items():
        most = int(supply.together(asks, inner, level)[domain])
        if most < len(asks):
            asks = sorted(asks, key=lambda ask: (int(ask.demand.sum()), -ask.number))
            pods = [int(ask.demand.sum()) for ask in asks]
            kind = problem.kinds[int(asks[-1].demand.argmax())]
            return Shortfall(otherwise.domain, sum(pods[:most]), sum(pods), _group(problem, asks[-1], kind))
    return otherwise


def _scarce(cluster: Cluster, kind: Kind, slots: Slots, needs: int) -> tuple[str, int]:
    """The resource alone of which there is too little, and how much is missing."""
    good = slots[kind.allowed[slots]]
    found: tuple[int, int, int] | None = None
    for row, amount in kind.cls.requests:
        fits = int((np.maximum(cluster.free[row, good], 0) // amount).sum())
        if fits < needs and (found is None or fits < found[0]):
            found = fits, row, amount
    if found is None:
        return "", 0
    fits, row, amount = found
    return cluster.resources.names[row], (needs - fits) * amount


def _together(problem: Problem, ask: Ask, slots: Slots, wanted: Kind) -> tuple[int, int]:
    """How many pods of a kind fit after those of the other kinds, taken as they come."""
    cluster = problem.cluster
    free = np.maximum(cluster.free[:, slots], 0)
    others = [kind for kind in problem.kinds if kind is not wanted]
    for kind in [*others, wanted]:
        count = int(ask.demand[kind.number])
        room = kind.capacity[slots].copy()
        for row, amount in kind.cls.requests:
            np.minimum(room, free[row] // amount, out=room)
        running = np.cumsum(room)
        taken: Counts = np.clip(count - (running - room), 0, room)
        if kind is wanted:
            return int(taken.sum()), count
        for row, amount in kind.cls.requests:
            free[row] -= amount * taken
    raise AssertionError("the kind is one of the problem's")


def _group(problem: Problem, ask: Ask, kind: Kind) -> str:
    """The group of a scope that has most pods of a kind to place."""
    inside = {id(group) for group in ask.scope.all_groups()}
    best = ("", 0)
    for group, _ in problem.groups:
        if id(group) in inside:
            count = sum(problem.kind_of[pod.cls] == kind.number for pod in group.waiting[: group.missing])
            if count > best[1]:
                best = (group.name, count)
    return best[0]


def histogram(cluster: Cluster, cls: PodClass) -> list[tuple[str, int]]:
    """Why nodes refuse a class, and how many nodes; most first. Estimated where there are many."""
    size = cluster.size
    alive = cluster.alive[:size]
    capacity = cluster.capacity(cls)
    allowed = cluster.allowed(cls)
    found: Counter[str] = Counter()
    short = np.zeros(size, np.bool_)
    for row, amount in cls.requests:
        lacks = alive & allowed & (cluster.free[row, :size] < amount)
        count = int(lacks.sum())
        if count:
            name = cluster.resources.names[row]
            found["too many pods" if name == "pods" else f"insufficient {name}"] += count
            short |= lacks
    for others in (alive & ~allowed, alive & allowed & ~short & (capacity == 0)):
        slots = np.flatnonzero(others)
        some = slots if len(slots) <= _SAMPLE else slots[np.linspace(0, len(slots) - 1, _SAMPLE).astype(np.int64)]
        seen: Counter[str] = Counter()
        for slot in some.tolist():
            seen.update({reason for rule in cluster.rules if (reason := rule.explain(cls, slot))})
        for reason, count in seen.items():
            found[reason] += round(count * len(slots) / max(len(some), 1))
    return sorted(found.items(), key=lambda item: (-item[1], item[0]))
