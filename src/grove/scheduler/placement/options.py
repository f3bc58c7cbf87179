"""How a placement is searched for. Data."""

from __future__ import annotations

from typing import NamedTuple


class Options(NamedTuple):
    """The same options, cluster and gang give the same placement."""

    keys: tuple[str, ...] = ()
    """Levels, broadest first, of the topology that scopes without one are kept together in, and whose clean domains
    are spared; empty: only nodes count."""
    improve: int = 2_000
    """Steps that a placement, once found, may cost to be bettered."""
