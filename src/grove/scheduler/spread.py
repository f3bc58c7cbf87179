"""Spreading the replicas of a PodCliqueSet over domains: where another replica may go, and where it had better. Pure.

The engine asks for each gang with spread constraints before it looks for a place. What is counted are base gangs: a
replica counts once in every domain in which its base gang has pods; scaled gangs go where their base is and are not
spread. A domain is a value of the constraint's node label, as in Kubernetes. Where a gang has pods already it may have
more.

The constraints are those of pods (core/v1 TopologySpreadConstraint) with these meanings: `maxSkew`: by how many
replicas a domain may be ahead of the one with the fewest; `minDomains`: with fewer domains than that the fewest is
none; `whenUnsatisfiable`: whether it must be so. Without `labelSelector` the replicas of the same PodCliqueSet count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import msgspec
import numpy as np

from grove.api.fields import JSON
from grove.kube.affinity import TopologySpreadConstraint
from grove.scheduler.cluster import Cluster
from grove.scheduler.explain import level_name
from grove.scheduler.predicates.rule import Counts, Mask, Slots
from grove.scheduler.predicates.selectors import compiled, meets

MUST: Final = "DoNotSchedule"
WEIGHT: Final = 100
"""What speaks against a domain for each replica there: as much as the strongest preference of a pod."""


class InvalidConstraint(ValueError):
    """A spread constraint that cannot be read; the gang is not placed by guesses."""


class Replica(NamedTuple):
    """The base gang of a replica."""

    key: str
    labels: Mapping[str, str]
    """Of its PodGang."""
    set_name: str
    """Namespace and name of its PodCliqueSet; empty: it has none."""
    slots: Sequence[int]
    """Where its pods are, terminating ones left out."""


class Spread(NamedTuple):
    """What the constraints leave."""

    within: Mask | None = None
    """Where it may go; None: anywhere."""
    taste: Counts | None = None
    """What speaks against each slot; None: nothing."""
    why: str = ""
    """What the mask stands for, to be added to a refusal."""


def read(constraints: Sequence[JSON]) -> list[TopologySpreadConstraint]:
    """The constraints of a PodGang. Raises InvalidConstraint."""
    found = []
    for at, one in enumerate(constraints):
        try:
            constraint = msgspec.convert(one, TopologySpreadConstraint)
        except msgspec.ValidationError as error:
            raise InvalidConstraint(
                f"spec.spreadConstraints[{at}]: {error}: write it as topologySpreadConstraints of pods are written"
            ) from error
        if constraint.max_skew < 1:
            raise InvalidConstraint(f"spec.spreadConstraints[{at}].maxSkew: {constraint.max_skew}: use 1 or more")
        found.append(constraint)
    return found


def spread(
    cluster: Cluster,
    gang: Replica,
    constraints: Sequence[TopologySpreadConstraint],
    others: Sequence[Replica],
    allowed: Mask | None = None,
) -> Spread:
    """Where a gang may go. `others`: the base gangs of its namespace, itself left out. `allowed`: where its pods could
    ever run; other domains do not count as empty ones."""
    usable = cluster.alive[: cluster.size] if allowed is None else allowed & cluster.alive[: cluster.size]
    within: Mask | None = None
    taste: Counts | None = None
    whys = []
    for constraint in constraints:
        codes: Slots = cluster.column(constraint.topology_key).codes[: cluster.size].astype(np.int64)
        eligible = np.unique(codes[usable & (codes > 0)])
        counts = _counted(codes, [one.slots for one in others if _counts(constraint, gang, one)])
        ahead = counts - _fewest(constraint, counts, eligible)
        if constraint.when_unsatisfiable != MUST:
            against = np.where(codes > 0, ahead[codes], max(0, int(ahead.max(initial=0))) + 1) * WEIGHT
            taste = against if taste is None else taste + against
            continue
        free = np.zeros(len(counts), np.bool_)
        free[eligible] = ahead[eligible] + 1 <= constraint.max_skew
        own = np.unique(codes[[*gang.slots]])
        free[own[own > 0]] = True
        mask: Mask = free[codes]
        within = mask if within is None else within & mask
        whys.append(_why(cluster, constraint, free))
    return Spread(within, taste, "; ".join(whys))


def _counts(constraint: TopologySpreadConstraint, gang: Replica, other: Replica) -> bool:
    """Whether a constraint of one gang counts another."""
    if constraint.label_selector is None:
        return bool(gang.set_name) and gang.set_name == other.set_name
    selector = compiled(constraint.label_selector)
    return selector is not None and meets(selector, other.labels)


def _counted(codes: Slots, replicas: Sequence[Sequence[int]]) -> Counts:
    """By code of a domain how many replicas have pods there."""
    found = np.zeros(int(codes.max(initial=0)) + 1, np.int64)
    for slots in replicas:
        found[np.unique(codes[[*slots]])] += 1
    found[0] = 0
    return found


def _fewest(constraint: TopologySpreadConstraint, counts: Counts, eligible: Slots) -> int:
    if len(eligible) < (constraint.min_domains or 1):
        return 0
    return int(counts[eligible].min())


def _why(cluster: Cluster, constraint: TopologySpreadConstraint, free: Mask) -> str:
    values = cluster.column(constraint.topology_key).values
    level = level_name(constraint.topology_key)
    left = sorted(values[code] for code in np.flatnonzero(free[1:]) + 1)
    named = ", ".join(left[:5]) + (f" and {len(left) - 5} more" if len(left) > 5 else "")
    allows = f"leaves {level} {named}" if left else f"leaves no {level}"
    return f"replicas are spread over {level}s with a skew of at most {constraint.max_skew}: that {allows}"
