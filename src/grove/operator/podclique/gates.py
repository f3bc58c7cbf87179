"""Which pods the scheduler may have: our gate holds them until their whole gang is known. Pure."""

from __future__ import annotations

from collections.abc import Callable

from grove.api.conditions import is_true
from grove.api.kinds.podgang import PodGang

INITIALIZED = "Initialized"


def is_initialized(gang: PodGang | None) -> bool:
    """Whether all pods of a gang were there once."""
    return gang is not None and gang.status is not None and is_true(gang.status.conditions, INITIALIZED)


def released(gang: PodGang | None, clique: str) -> frozenset[str]:
    """The names of a PodClique's pods that their gang names; none before it was whole."""
    if gang is None or not is_initialized(gang):
        return frozenset()
    return frozenset(
        reference.name for group in gang.spec.podgroups if group.name == clique for reference in group.pod_references
    )


def is_scheduled(base: PodGang | None, scheduled: Callable[[str], int]) -> bool:
    """Whether of each PodClique of a base gang as many pods have a node as the gang needs; `scheduled` counts them."""
    if base is None or not base.spec.podgroups:
        return False
    return all(scheduled(group.name) >= group.min_replicas for group in base.spec.podgroups)
