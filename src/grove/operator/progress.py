"""How far a PodClique is: what rollouts, statuses and gang termination of sets and scaling groups ask. Pure.

Facts come from the pods. Only since when a PodClique fares as it does is read from its status.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from typing import Final

from grove.api import conditions, labels
from grove.api.kinds.scalinggroup import PodCliqueScalingGroup
from grove.kube.objects import PodView
from grove.operator import pods
from grove.operator.views import PodCliqueView

SCHEDULED: Final = "PodCliqueScheduled"
BREACHED: Final = "MinAvailableBreached"

SETTLING: Final = datetime.timedelta(seconds=5)
"""A PodClique that became unscheduled so soon after it was made has never been scheduled: it was first looked at."""


def required(view: PodCliqueView) -> int:
    """How many pods a PodClique needs to serve; none if it is scaled to zero."""
    return min(view.spec.least, view.spec.replicas)


def serving(of: Iterable[PodView]) -> int:
    """The pods that are ready, or have done what they were for."""
    return sum(1 for pod in of if pods.is_active(pod) and (pods.is_ready(pod) or pods.is_done(pod)))


def scheduled(of: Iterable[PodView]) -> int:
    """The active pods that are bound to a node."""
    return sum(1 for pod in of if pods.is_active(pod) and pods.is_scheduled(pod))


def clique_scheduled(view: PodCliqueView, of: Iterable[PodView]) -> bool:
    """Whether a PodClique has its minimum of pods on nodes."""
    return view.metadata.deletion_timestamp is None and scheduled(of) >= required(view)


def clique_available(view: PodCliqueView, of: Iterable[PodView]) -> bool:
    """Whether a PodClique has its minimum of pods ready."""
    return view.metadata.deletion_timestamp is None and serving(of) >= required(view)


def clique_updated(view: PodCliqueView, of: Iterable[PodView], hash: str) -> bool:
    """Whether a PodClique follows the template with this hash: no pod of another is left, and it is available.

    A PodClique without pods has not been updated, it has yet to come up.
    """
    active = [pod for pod in of if pods.is_active(pod)]
    is_new = (view.metadata.labels or {}).get(labels.POD_TEMPLATE_HASH) == hash
    return is_new and all(pods.template_hash(pod) == hash for pod in active) and clique_available(view, active)


def breached_since(view: PodCliqueView) -> datetime.datetime | None:
    """Since when a PodClique has been below its minimum; None if it is not."""
    found = conditions.find(() if view.status is None else view.status.conditions, BREACHED)
    return conditions.moment(found.last_transition_time) if found and found.status == "True" else None


def ever_scheduled(view: PodCliqueView) -> bool:
    """Whether a PodClique ever had its minimum on nodes: what never started is not started anew by gang termination."""
    found = conditions.find(() if view.status is None else view.status.conditions, SCHEDULED)
    if found is None or found.status == "Unknown":
        return False
    if found.status == "True":
        return True
    made = view.metadata.creation_timestamp
    return made is not None and conditions.moment(found.last_transition_time) > conditions.moment(made) + SETTLING


def ever_healthy(group: PodCliqueScalingGroup) -> bool:
    """The same of a scaling group: its status says from the first on whether it is below its minimum."""
    found = conditions.find(() if group.status is None else group.status.conditions, BREACHED)
    if found is None:
        return False
    if found.status == "False":
        return True
    made = group.metadata.creation_timestamp
    return made is not None and conditions.moment(found.last_transition_time) > conditions.moment(made) + SETTLING
