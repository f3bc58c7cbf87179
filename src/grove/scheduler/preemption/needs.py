"""What a gang still needs, without its names: how many pods of which class, in how narrow a domain. Pure."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from grove.scheduler.classes import PodClass
from grove.scheduler.gangs import Gang, Scope


class Need(NamedTuple):
    """What one scope asks for that must be in one domain; scopes that ask for no domain are part of the one above."""

    classes: tuple[tuple[PodClass, int], ...]
    """The pods outside `inner`, hungriest first."""
    inner: tuple[Need, ...]
    """Hungriest first."""
    keys: tuple[str, ...] = ()
    level: int | None = None
    """The number of the level, in the tree of the keys, of which one domain must take all; None: any nodes will do."""
    pinned: tuple[int, ...] = ()
    """Slots of pods that it has already: the domain is theirs."""

    @property
    def is_flat(self) -> bool:
        return not self.inner

    def total(self) -> dict[PodClass, int]:
        """The pods of all classes, in the order of their first sight."""
        found: Counter[PodClass] = Counter(dict(self.classes))
        for one in self.inner:
            found.update(one.total())
        return dict(found)


def of(gang: Gang) -> Need | None:
    """What the gang lacks; None: pods that it would need do not exist."""
    if any(len(group.waiting) < group.missing for group in gang.groups()):
        return None
    return _of(gang.root)


def _of(scope: Scope) -> Need:
    classes: Counter[PodClass] = Counter()
    inner: list[Need] = []
    for group in scope.groups:
        classes.update(pod.cls for pod in group.waiting[: group.missing])
    for part in scope.scopes:
        need = _of(part)
        if need.level is None:
            classes.update(dict(need.classes))
            inner += need.inner
        elif need.total():
            inner.append(need)
    key = scope.pack.required
    level = None
    pinned: tuple[int, ...] = ()
    if key is not None and key in scope.keys:
        level = scope.keys.index(key)
        pinned = tuple(pod.slot for group in scope.all_groups() for pod in group.placed)
    return Need(
        tuple(sorted(classes.items(), key=lambda one: _hunger(*one), reverse=True)),
        tuple(sorted(inner, key=_size, reverse=True)),
        scope.keys,
        level,
        pinned,
    )


def _hunger(cls: PodClass, count: int) -> tuple[int, tuple[tuple[int, int], ...], int, int]:
    return max((found for _, found in cls.accelerators), default=0), cls.requests, count, -cls.number


def _size(need: Need) -> tuple[int, int]:
    found = need.total()
    return sum(_hunger(cls, 0)[0] * count for cls, count in found.items()), sum(found.values())
