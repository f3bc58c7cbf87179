"""Fair shares: what is there, divided among siblings by guarantee, priority and weight. Pure.

Called by `queues.py` once whenever what there is or what is asked for has changed, level by level of the tree; all
resources at once. Shares are fractions, and nothing is rounded: a third of eight GPUs is 2.67 of them.
"""

from __future__ import annotations

from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]

CLOSE: Final = 1e-9
"""Amounts that differ by less than this part of them are equal: what fractions of binary numbers may be off."""


class Siblings(NamedTuple):
    """Queues under one parent, one a row; amounts are by resource, one a column."""

    guaranteed: Floats
    limit: Floats
    """Infinite where there is none."""
    asked: Floats
    """What they use and wait for."""
    weight: Floats
    """A column of one."""
    priority: npt.NDArray[np.int64]


def divide(total: Floats, siblings: Siblings) -> Floats:
    """The share of each. The shares make up the total, unless all limits are reached.

    First everybody gets what it asks for of its guarantee; then, by falling priority, all that is asked for is filled
    up evenly by weight; at last what nobody asks for goes where a guarantee is not used up, and then by weight.
    """
    limit = siblings.limit
    asked = np.minimum(siblings.asked, limit)
    guaranteed = np.minimum(siblings.guaranteed, limit)
    share = fill(total, guaranteed, np.minimum(guaranteed, asked))
    for priority in sorted(set(siblings.priority.tolist()), reverse=True):
        band = siblings.priority == priority
        share[band] += fill(_rest(total, share), siblings.weight[band], asked[band] - share[band])
    share += fill(_rest(total, share), guaranteed, np.maximum(guaranteed - share, 0.0))
    share += fill(_rest(total, share), siblings.weight, limit - share)
    return share


def fill(total: Floats, weight: Floats, most: Floats) -> Floats:
    """Water filling: of each resource everybody gets in proportion to its weight, and nobody more than its most.

    Who has no weight gets nothing.
    """
    most = np.where(weight > 0, most, 0.0)
    weight = np.broadcast_to(np.where(weight > 0, weight, 1e-300), most.shape)
    height = most / weight  # the level of the water at which each is full
    order = np.argsort(height, axis=0, kind="stable")
    height = np.take_along_axis(height, order, 0)
    sorted_most = np.take_along_axis(most, order, 0)
    sorted_weight = np.take_along_axis(weight, order, 0)
    full = np.zeros_like(sorted_most)
    np.cumsum(sorted_most[:-1], axis=0, out=full[1:])
    still = np.cumsum(sorted_weight[::-1], axis=0)[::-1]
    # The level where all before a place are full and all from it on are not; the first that is not above its own
    # height is the level of the water.
    with np.errstate(invalid="ignore", over="ignore"):
        levels = np.where(np.isfinite(full), (total - full) / still, np.inf)
    is_level = levels <= height
    at = np.argmax(is_level, axis=0)
    columns = np.arange(most.shape[1])
    level = np.where(is_level[at, columns], levels[at, columns], np.inf)
    with np.errstate(over="ignore"):
        given: Floats = np.minimum(most, np.where(most > 0, weight * level, 0.0))
    return given


def is_above(amount: float, bound: float) -> bool:
    """Whether an amount is more than a share, by more than fractions may be off."""
    return amount > bound * (1 + CLOSE) + CLOSE


def _rest(total: Floats, share: Floats) -> Floats:
    rest: Floats = np.maximum(total - share.sum(axis=0), 0.0)
    return rest
