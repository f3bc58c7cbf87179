"""Gang termination of single copies: which are stopped and started anew because they are broken for too long. Pure.

Only as long as enough others are well. Where too many are broken, the whole replica of the set is: its controller
terminates it, and here nothing is done.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence

import msgspec

from grove.operator.scalinggroup.copies import Copy


class Termination(msgspec.Struct, frozen=True):
    """What is to be done."""

    terminate: tuple[int, ...] = ()
    """The copies whose PodCliques are to be deleted."""
    due: datetime.datetime | None = None
    """When the next copy has been broken for too long."""


def decide(
    copies: Sequence[Copy], min_available: int, delay: datetime.timedelta, now: datetime.datetime
) -> Termination:
    """To be asked while no update runs."""
    expiries = {copy.index: copy.breached_since + delay for copy in copies if copy.breached_since is not None}
    if len(copies) - len(expiries) < min_available:
        return Termination()
    over = tuple(index for index, expiry in expiries.items() if expiry <= now)
    return Termination(over, min((expiry for expiry in expiries.values() if expiry > now), default=None))
