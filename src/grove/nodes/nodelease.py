"""The Lease by which a node is known to be alive: what is written into it, and when. Pure.

A kubelet renews every 10 s, and the node lifecycle controller waits 40 to 50 s before it calls a node unreachable.
"""

from __future__ import annotations

import datetime
import hashlib
from typing import Any, Final

from grove.kube.leaserecord import micro_time
from grove.nodes.moments import seconds
from grove.nodes.objects import NodeRecord

NAMESPACE: Final = "kube-node-lease"
SECONDS: Final = 40
"""For which a node may be silent."""
SHORTEST: Final = 10.0
LONGEST: Final = 20.0
"""Half of what a node may be silent: one lost renewal does no harm."""
STEADY: Final = 250.0
"""Renewals a second up to which all nodes renew as often as kubelets do."""


def interval(nodes: int) -> float:
    """Seconds between two renewals of one node, of so many."""
    return min(LONGEST, max(SHORTEST, nodes / STEADY))


def next_moment(name: str, now: float, interval: float) -> float:
    """When a node renews next. Every node has a place of its own in the interval, so that they do not come together."""
    share = int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big") / 2**32
    return now + interval - (now - share * interval) % interval


def renewal(name: str, now: float) -> dict[str, Any]:
    """A merge patch: what others have put into the lease stays."""
    moment = micro_time(datetime.datetime.fromtimestamp(now, datetime.UTC))
    return {"spec": {"holderIdentity": name, "leaseDurationSeconds": SECONDS, "renewTime": moment}}


def is_young(node: NodeRecord, now: float) -> bool:
    """Whether the node was made so shortly ago that it has no lease yet."""
    created = seconds(node.metadata.creation_timestamp)
    return created is not None and now - created < SECONDS


def new_lease(node: NodeRecord, now: float) -> dict[str, Any]:
    """It goes with its node."""
    metadata = node.metadata
    owner = {"apiVersion": "v1", "kind": "Node", "name": metadata.name, "uid": metadata.uid}
    return {"metadata": {"name": metadata.name, "ownerReferences": [owner]}} | renewal(metadata.name, now)
