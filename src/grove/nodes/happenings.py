"""What of a pod's life is told as an Event: only what somebody should look at. Pure.

Kubelets also tell of every image pulled and every container started: four writes a pod that nobody reads.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from grove.nodes import containers, statuses
from grove.nodes.admission import REJECTED
from grove.nodes.life import Life, PodPlan
from grove.nodes.objects import PodRecord


class Happening(NamedTuple):
    """A reason and a message of an Event of type Warning."""

    reason: str
    message: str


def between(before: Life | None, after: Life, plan: PodPlan, pod: PodRecord) -> Iterator[Happening]:
    """What has happened from one look to the next; at the first one, since the status was written."""
    before = before or statuses.taken_up(pod, plan)
    if after.over is not None and after.over.reason and (before is None or before.over is None):
        yield Happening(after.over.reason, after.over.message.removeprefix(REJECTED))
    known = (None,) * len(after.containers) if before is None else before.containers
    specs = pod.spec.init_containers + pod.spec.containers
    for was, now, wanted, spec in zip(known, after.containers, plan.init + plan.regular, specs, strict=True):
        if now.pulls > (0 if was is None else was.pulls):
            yield Happening("Failed", f'Failed to pull image "{spec.image}": {wanted.behaviour.image_pull_error}')
        if after.over is not None or after.stop is not None or not now.has_exited or now.streak <= 1:
            continue
        is_new = was is None or not was.has_exited or was.run != now.run
        if is_new and containers.restart_at(now, wanted) is not None:
            message = f"Back-off restarting failed container {spec.name} in pod {statuses.full_name(pod)}"
            yield Happening("BackOff", message)
