"""Pods as far as a waiter reads them: whose they are, and whether they are ready.

Thousands of waiters may run in one process, each with its own pods, so this is as small as a cache can work with: of
the metadata what identifies a version of an object, and of the labels the one that names the PodClique.
"""

from __future__ import annotations

from typing import Final

import msgspec

from grove.api import labels


class Labels(msgspec.Struct, frozen=True, gc=False):
    """The label that tells whose a pod is. Names are not read for that: one may be the beginning of another."""

    pod_clique: str = msgspec.field(name=labels.POD_CLIQUE, default="")


class Metadata(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """What a cache and a waiter ask of an object's metadata."""

    name: str = ""
    namespace: str | None = None
    uid: str | None = None
    resource_version: str | None = None
    deletion_timestamp: str | None = None
    labels: Labels = Labels()


class Condition(msgspec.Struct, frozen=True, gc=False):
    """An observation about a pod."""

    type: str
    status: str


READY: Final = Condition("Ready", "True")


class Status(msgspec.Struct, frozen=True, gc=False):
    """What is observed about a pod: only whether it is ready is kept."""

    conditions: tuple[Condition, ...] | None = ()

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "conditions", (READY,) if READY in (self.conditions or ()) else ())


class Pod(msgspec.Struct, frozen=True, gc=False):
    """A pod."""

    metadata: Metadata
    status: Status = Status()


def ready_in(pod: Pod) -> str:
    """The PodClique that the pod counts for; empty if it counts for none, because it is not ready or on its way out."""
    is_ready = bool(pod.status.conditions) and pod.metadata.deletion_timestamp is None
    return pod.metadata.labels.pod_clique if is_ready else ""
