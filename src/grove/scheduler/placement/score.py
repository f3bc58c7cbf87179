"""How good a placement is (docs/concepts/placement.md). Pure.

In whole numbers, so that equal placements have equal scores.
"""

from __future__ import annotations

from typing import Final

from grove.scheduler.predicates.rule import Slots
from grove.scheduler.topology import Tree

WHOLE: Final = 360_360
"""What a pod is worth whose scope is in one domain of the preferred level; divisible by all numbers up to 15."""


def worth(preferred: int, reached: int) -> int:
    """Of a pod whose scope prefers a level and is in one domain of this or a broader one; -1: of none."""
    return WHOLE // (1 + max(0, preferred - reached))


def span(tree: Tree, slots: Slots, narrowest: int | None = None) -> tuple[int, int]:
    """The narrowest level at which all slots are in one domain, and the domain; -1, -1: in several of the broadest.

    Levels below `narrowest` are left out.
    """
    for at in range(len(tree.levels) - 1 if narrowest is None else narrowest, -1, -1):
        found = tree.levels[at].domain_of[slots]
        if len(found) and found[0] >= 0 and (found == found[0]).all():
            return at, int(found[0])
    return -1, -1


def score(quality: int, bound: int) -> float:
    """1.0 exactly where the bound, the best that is possible, is reached."""
    return 1.0 if quality >= bound else quality / bound
