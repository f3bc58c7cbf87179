"""Which pods go first when a PodClique is scaled in. Pure.

Those whose loss costs least: not placed, not running, not ready, of an older template, declared cheap, young.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from grove.kube.objects import PodView
from grove.operator import pods as of

DELETION_COST: Final = "controller.kubernetes.io/pod-deletion-cost"
"""Kubernetes' own annotation: pods with lower numbers go first."""

_RANKS: Final = {"Unknown": 1, "Running": 2}


def first_to_go(pods: Iterable[PodView], template_hash: str) -> list[PodView]:
    """The pods in the order in which they are deleted."""
    # Sorting keeps the order of equals: the youngest first, and of those that are as old the highest index.
    young = sorted(pods, key=_age, reverse=True)
    return sorted(
        young,
        key=lambda pod: (
            of.is_scheduled(pod),
            _RANKS.get(pod.status.phase, 0),
            of.is_ready(pod),
            of.template_hash(pod) == template_hash,
            deletion_cost(pod),
        ),
    )


def deletion_cost(pod: PodView) -> int:
    """What its annotation says; 0 where there is none, or no number."""
    text = (pod.metadata.annotations or {}).get(DELETION_COST, "0")
    try:
        return int(text) if text.isascii() else 0
    except ValueError:
        return 0


def _age(pod: PodView) -> tuple[str, int]:
    return (pod.metadata.creation_timestamp or "", of.index_of(pod) or 0)
