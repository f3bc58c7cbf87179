"""How a placement is searched for. Data."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from grove.scheduler.placement.exact import Exact


class Options(NamedTuple):
    """The same options, cluster and gang give the same placement."""

    keys: tuple[str, ...] = ()
    """Levels, broadest first, of the topology that scopes without one are kept together in, and whose clean domains
    are spared; empty: only nodes count."""
    improve: int = 2_000
    """Steps that a placement, once found, may cost to be bettered."""
    exact: Exact | None = None
    """The exact solver (solver.py): asked when the search neither found a placement nor proved that there is none."""
