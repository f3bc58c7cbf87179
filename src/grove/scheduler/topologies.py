"""The topologies that are declared for the cluster, and which of them a label key belongs to. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from grove.api.kinds.topology import ClusterTopologyBinding

HOSTNAME: Final = "kubernetes.io/hostname"


class Topologies:
    """The levels of all ClusterTopologyBindings."""

    def __init__(self) -> None:
        self._levels: dict[str, tuple[str, ...]] = {}
        self.names: Final[dict[str, str]] = {}
        """By label key what people call its level."""

    def put(self, binding: ClusterTopologyBinding) -> bool:
        """Whether that is a change."""
        name = binding.metadata.name
        keys = tuple(dict.fromkeys(level.key for level in binding.spec.levels))
        changed = self._levels.get(name) != keys
        self._levels[name] = keys
        self.names.update((level.key, level.domain) for level in binding.spec.levels)
        return changed

    def drop(self, binding: ClusterTopologyBinding) -> bool:
        return self._levels.pop(binding.metadata.name, None) is not None

    def named(self, name: str) -> tuple[str, ...]:
        """The levels of a topology, broadest first; empty: there is none of this name."""
        return self._levels.get(name, ())

    def all(self) -> Sequence[tuple[str, ...]]:
        """The levels of all topologies, in the order of their names."""
        return [self._levels[name] for name in sorted(self._levels)]

    def levels(self, keys: Sequence[str], name: str = "") -> tuple[str, ...]:
        """The topology that label keys belong to: the named one, else the first that has them all, else the keys
        themselves, which then are levels broadest first."""
        named = self.named(name)
        if named and set(keys) <= set(named):
            return named
        for found in self.all():
            if set(keys) <= set(found):
                return found
        return tuple(dict.fromkeys(keys))

    def closest(self, name: str = "") -> tuple[str, tuple[str, ...]]:
        """The narrowest level that is wider than a host, of the named topology or the first; empty: there is none."""
        candidates = [self.named(name)] if self.named(name) else self.all()
        for found in candidates:
            wide = [key for key in found if key != HOSTNAME]
            if wide:
                return wide[-1], found
        return "", ()
