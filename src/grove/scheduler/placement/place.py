"""Where a gang goes, or why it goes nowhere. Called by the engine for every gang that waits, by plans of preemption and by dry runs. Pure.

The cluster is left as it was found. The same input gives the same answer: nothing depends on time or on the order in
which nodes came.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from grove.scheduler.cluster import Cluster
from grove.scheduler.gangs import Gang, Pending
from grove.scheduler.placement.budget import Budget
from grove.scheduler.placement.fill import Shares
from grove.scheduler.placement.flat import Wish, place_flat
from grove.scheduler.placement.options import Options
from grove.scheduler.placement.score import span
from grove.scheduler.verdicts import Answer, Found, InDomain, NotFound, Put

_DEFAULT: Final = Options()


def place(cluster: Cluster, gang: Gang, budget: Budget, *, options: Options = _DEFAULT) -> Answer:
    """A place for the minimum of every group, and for as many more of its pods as fit beside them."""
    root = gang.root
    if gang.within is None and gang.taste is None and not root.anchors and not root.scopes:
        found = _flat(cluster, gang, options)
        if found is not None:
            return found
    return NotFound(False, gang.root.name, "")


def _flat(cluster: Cluster, gang: Gang, options: Options) -> Answer | None:
    root = gang.root
    classes = {pod.cls for group in root.groups for pod in group.waiting}
    if len(classes) != 1 or any(group.placed for group in root.groups):
        return None
    (cls,) = classes
    if not cluster.is_plain(cls) or cluster.penalty(cls) is not None:
        return None
    keys = root.keys or options.keys
    tree = cluster.tree(keys)
    required = keys.index(root.pack.required) if root.pack.required else -1
    preferred = keys.index(root.pack.preferred) if root.pack.preferred else required
    wanted = [pod for group in root.groups for pod in group.waiting[: group.missing]]
    extras = [pod for group in root.groups for pod in group.waiting[group.missing :]]
    wish = Wish(cls, len(wanted), len(extras), tree, required, max(preferred, required))
    found = place_flat(cluster, wish, options)
    if found is None:
        return NotFound(True, root.name, root.pack.required or "")
    shares, spot = found
    puts = [*_puts(wanted, shares)]
    at, domain = span(tree, np.array([slot for slot, _ in shares]))
    domains = (
        (InDomain(root.name, tree.levels[at].key if at >= 0 else "", tree.levels[at].name(domain)),)
        if root.keys and at >= 0
        else ()
    )
    return Found(tuple(puts), tuple(extras), 1.0, domains)


def _puts(pods: list[Pending], shares: Shares) -> Iterator[Put]:
    at = 0
    for slot, many in shares:
        for pod in pods[at : at + many]:
            yield Put(pod, slot)
        at += many
