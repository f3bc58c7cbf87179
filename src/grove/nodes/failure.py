"""How a node fails, as its annotation says. Pure.

dead          no power: the node is silent, and what ran on it is lost when it comes back
unreachable   no network: the node is silent, its pods run on unseen
not-ready     the kubelet reports trouble: leases are renewed, pods run on and are written
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from grove.nodes.behaviour import Problem
from grove.nodes.marks import FAIL, FAILURES, Failure
from grove.nodes.objects import NodeRecord

SILENT: Final[frozenset[Failure]] = frozenset({"dead", "unreachable"})
"""Failures of which the API server hears nothing but that the node's lease runs out."""


def failure(node: NodeRecord) -> Failure | None:
    """How the node fails now; a word that is none of ours is no failure."""
    found, _ = read(node.metadata.annotations or {})
    return found


def read(annotations: Mapping[str, str]) -> tuple[Failure | None, Problem | None]:
    """The failure that the annotations of a node tell, or what is wrong with the word."""
    written = annotations.get(FAIL)
    if written is None:
        return None, None
    for known in FAILURES:
        if written == known:
            return known, None
    return None, Problem(FAIL, written, f"want one of {', '.join(FAILURES)}")
