"""How the pods of a PodClique follow a changed template: which are replaced now, and what is told of it. Pure.

A pod is old if it was made from another template than the PodClique's. What is not ready serves nobody and is replaced
at once. Ready pods go oldest first, and only while fewer pods than the budget allows are missing or not ready, for
whatever reason. Whether a pod is ready is all that counts: that it crashed once does not.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from typing import Final

from msgspec.structs import replace

from grove.api import durations
from grove.api.conditions import moment, timestamp
from grove.api.kinds.podclique import PodCliqueUpdateProgress, PodSelection
from grove.api.kinds.scaling import RollingUpdate
from grove.kube.objects import PodView
from grove.operator import pods as of

ON_DELETE: Final = "OnDelete"
EVER: Final = "9999"
"""Later than any time that is stored."""
REMEMBERED: Final = 50
"""How many replaced pods the status names."""


def is_running(progress: PodCliqueUpdateProgress | None) -> bool:
    return progress is not None and progress.update_ended_at is None


def budget(config: RollingUpdate | None) -> int:
    """How many pods may be missing or not ready when an update takes a ready one away."""
    return max(1, (config.max_unavailable if config else None) or 1)


def outdated(pods: Iterable[PodView], target: str) -> list[PodView]:
    """The active pods that were made from another template."""
    return [pod for pod in pods if of.is_active(pod) and of.template_hash(pod) != target]


def spared_until(held: PodCliqueUpdateProgress | None, target: str, strategy: str) -> str | None:
    """Old pods created until then stay; None: none do. The update that was to replace them has been ended.

    It is ended at once where pods are replaced when somebody deletes them, and a change of the strategy later on does
    not begin it again.
    """
    if strategy == ON_DELETE:
        return EVER
    if held is None or held.pod_template_hash != target:
        return None
    return held.update_ended_at


def to_replace(
    pods: Sequence[PodView], *, target: str, replicas: int, max_unavailable: int, spared: str | None
) -> list[PodView]:
    """The old pods that go now. `pods` are the active ones that are to stay otherwise."""
    old = [
        pod
        for pod in pods
        if of.template_hash(pod) != target and (spared is None or (pod.metadata.creation_timestamp or "") > spared)
    ]
    if not old:
        return []
    room = max_unavailable - (replicas - sum(map(of.is_ready, pods)))
    ready = sorted(filter(of.is_ready, old), key=_age)
    return [pod for pod in old if not of.is_ready(pod)] + ready[: max(0, room)]


def progress(
    held: PodCliqueUpdateProgress | None,
    *,
    target: str,
    generation_hash: str,
    old: int,
    strategy: str,
    is_ready: bool,
    selected: Sequence[str],
    now: datetime.datetime,
) -> PodCliqueUpdateProgress | None:
    """What the status is to say of the update. `old`: of how many pods; `selected`: ready ones that go now."""
    ended = timestamp(now) if strategy == ON_DELETE else None
    if held is None or held.pod_template_hash != target:
        if old:
            return PodCliqueUpdateProgress(
                update_started_at=timestamp(now),
                update_ended_at=ended,
                pod_clique_set_generation_hash=generation_hash,
                pod_template_hash=target,
                ready_pods_selected_to_update=None if ended else _with(None, selected),
            )
        if held is None or not is_running(held):
            return held
        held = replace(held, pod_template_hash=target)  # the template was changed back to that of the pods
    if not is_running(held):
        return held
    if ended is None and not old and is_ready:
        ended = timestamp(now)
    return replace(
        held,
        pod_clique_set_generation_hash=generation_hash,
        update_ended_at=ended,
        ready_pods_selected_to_update=None if ended else _with(held.ready_pods_selected_to_update, selected),
    )


def deadline(
    progress: PodCliqueUpdateProgress | None, pods: Iterable[PodView], config: RollingUpdate | None
) -> datetime.datetime | None:
    """When a running update counts as stuck: so long after its start, or after the last new pod became ready."""
    if progress is None or not is_running(progress) or config is None or not config.progress_deadline:
        return None
    try:
        patience = durations.parse(config.progress_deadline) / durations.SECOND
    except durations.InvalidDuration:
        return None  # the webhook refuses it; where it did not run, there is no deadline
    since = [
        moment(one.last_transition_time)
        for pod in pods
        if of.template_hash(pod) == progress.pod_template_hash
        for one in pod.status.conditions
        if one.type == "Ready" and one.status == "True" and one.last_transition_time
    ]
    if progress.update_started_at:
        since.append(moment(progress.update_started_at))
    return max(since) + datetime.timedelta(seconds=patience) if since else None


def _with(held: PodSelection | None, selected: Sequence[str]) -> PodSelection | None:
    """The last one selected is the current one, those before it are completed."""
    fresh = [name for name in selected if held is None or name != held.current]
    if not fresh:
        return held
    before = () if held is None else (*held.completed, held.current)
    return PodSelection(current=fresh[-1], completed=(*before, *fresh[:-1])[-REMEMBERED:])


def _age(pod: PodView) -> tuple[str, int]:
    return (pod.metadata.creation_timestamp or "", of.index_of(pod) or 0)
