"""What a gang must find at least: bounds that any placement meets, for one domain of each scope. Pure.

A need is a list of amounts that some domain of a level must have, all at once: room for so many pods of a class; so
much of a resource in all; so many nodes' parts of at least a size. Where no domain meets a need there is no placement.
The contrary does not hold. `wakes.py` watches needs; gangs of the same signature have the same needs and, in the same
cluster, the same verdict.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import NamedTuple, TypeAlias

from grove.scheduler.classes import PodClass
from grove.scheduler.gangs import Gang, Group, Scope
from grove.scheduler.verdicts import NotFound

Signature: TypeAlias = Hashable


class Quantity(NamedTuple):
    """Something that every slot has some of: room for pods of a class, or parts of a resource of at least a size."""

    cls: PodClass | None
    row: int = 0
    size: int = 0
    within: bytes | None = None
    """The mask of slots that count; None: all."""


class Need(NamedTuple):
    """What one domain must have; the whole cluster is one where there are no keys."""

    keys: tuple[str, ...]
    level: int
    amounts: tuple[tuple[Quantity, int], ...]
    pins: tuple[int, ...] = ()
    """Slots in the domain that it must be, if they are all in one."""


def needs(gang: Gang) -> list[Need]:
    """Those of the whole gang first. Of a gang that has its minimum: those of one more pod of the most modest kind."""
    within = None if gang.within is None else gang.within.tobytes()
    found: list[Need] = []
    if gang.is_placed:
        return found
    counts, _ = _of_scope(gang.root, within, found)
    if not (found and found[-1].keys == gang.root.keys and gang.root.pack.required in gang.root.keys):
        found.append(Need((), -1, _amounts(counts, within)))
    return found[::-1]


def extras(gang: Gang) -> list[Need]:
    """Of a gang that has its minimum: one of these must be met for one more pod to be placed."""
    within = None if gang.within is None else gang.within.tobytes()
    classes = dict.fromkeys(pod.cls for group in gang.groups() for pod in group.waiting)
    root = gang.root
    level = root.keys.index(root.pack.required) if root.pack.required in root.keys else -1
    keys = root.keys if level >= 0 else ()
    pins = (*root.anchors, *(pod.slot for group in gang.groups() for pod in group.placed)) if level >= 0 else ()
    return [Need(keys, level, ((Quantity(cls, within=within), 1),), pins) for cls in classes]


def _of_scope(scope: Scope, within: bytes | None, found: list[Need]) -> tuple[dict[PodClass, int], list[int]]:
    """What the scope lacks and the slots it is on; its needs come after those of the scopes in it."""
    counts: dict[PodClass, int] = {}
    slots = [*scope.anchors]
    for group in scope.groups:
        for pod in group.waiting[: group.missing]:
            counts[pod.cls] = counts.get(pod.cls, 0) + 1
        slots += [pod.slot for pod in group.placed]
    for inner in scope.scopes:
        more, there = _of_scope(inner, within, found)
        for cls, count in more.items():
            counts[cls] = counts.get(cls, 0) + count
        slots += there
    if scope.pack.required in scope.keys and counts:
        level = scope.keys.index(scope.pack.required)
        found.append(Need(scope.keys, level, _amounts(counts, within), tuple(slots)))
    return counts, slots


def _amounts(counts: dict[PodClass, int], within: bytes | None) -> tuple[tuple[Quantity, int], ...]:
    found = [(Quantity(cls, within=within), count) for cls, count in counts.items()]
    if len(counts) > 1:
        totals: dict[int, int] = {}
        for cls, count in counts.items():
            for row, amount in cls.requests:
                totals[row] = totals.get(row, 0) + count * amount
        found += [(Quantity(None, row, 1, within), total) for row, total in sorted(totals.items())]
        sizes = sorted({one for cls in counts for one in cls.accelerators if one[1] > 1})
        for row, size in sizes:
            pods = sum(
                count for cls, count in counts.items() for at, amount in cls.requests if at == row and amount >= size
            )
            found.append((Quantity(None, row, size, within), pods))
    return tuple(found)


# Signatures


def signature(gang: Gang, *, has_holds: bool) -> Signature:
    """Equal for gangs that the search cannot tell apart, but for names. Who has room held is like nobody else."""
    within = None if gang.within is None else gang.within.tobytes()
    alone = gang.key if has_holds or gang.reuses else ""
    return alone, within, gang.is_placed, _sign_scope(gang.root, gang.is_placed)


def _sign_scope(scope: Scope, is_placed: bool) -> Hashable:
    return (
        scope.pack.required,
        scope.keys,
        scope.anchors,
        tuple([_sign_group(group, is_placed) for group in scope.groups]),
        tuple([_sign_scope(inner, is_placed) for inner in scope.scopes]),
    )


def _sign_group(group: Group, is_placed: bool) -> Hashable:
    wanted = group.waiting if is_placed else group.waiting[: group.missing]
    counts: dict[PodClass, int] = {}
    for pod in wanted:
        counts[pod.cls] = counts.get(pod.cls, 0) + 1
    return group.minimum, tuple(counts.items()), tuple([pod.slot for pod in group.placed])


def names(gang: Gang) -> list[str]:
    """The names of scopes and groups, in an order that gangs of one signature share."""
    return [*_names(gang.root)]


def _names(scope: Scope) -> Iterator[str]:
    yield scope.name
    for group in scope.groups:
        yield group.name
    for inner in scope.scopes:
        yield from _names(inner)


def renamed(verdict: NotFound, old: list[str], new: list[str]) -> NotFound:
    """The same verdict about a gang of the same signature."""
    if old == new:
        return verdict
    called = dict(zip(old, new, strict=True))
    shortfalls = tuple(one._replace(group=called.get(one.group, one.group)) for one in verdict.shortfalls)
    return verdict._replace(scope=called.get(verdict.scope, verdict.scope), shortfalls=shortfalls)
