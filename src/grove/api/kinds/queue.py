"""Queue: whose gangs come first, and how much each may use. Optional: without queues, priority and age decide."""

from __future__ import annotations

from typing import Annotated, ClassVar

from grove.api.fields import Field, Int32, Int64, Quantity, Rule, Struct
from grove.api.kinds.meta import Conditions, ObjectMeta

Resources = dict[str, Quantity]


class QueueSpec(Struct, frozen=True, kw_only=True):
    """The queue's place in the tree and its shares."""

    parent: Annotated[str | None, Field("The queue above; without one it is a root.", min_length=1)] = None
    weight: Annotated[Int32, Field("Share of what is left over after guarantees, against its siblings.", minimum=1)] = 1
    priority: Annotated[Int32, Field("Siblings with a higher number are served first.")] = 0
    guaranteed: Annotated[
        Resources | None,
        Field("By resource: what the queue can always claim, if need be from queues that borrow."),
    ] = None
    limit: Annotated[Resources | None, Field("By resource: what the queue may use at most, borrowing included.")] = None


class QueueStatus(Struct, frozen=True, kw_only=True):
    """What the queue uses."""

    observed_generation: Annotated[Int64 | None, Field("The generation of the spec that this status describes.")] = None
    usage: Annotated[Resources | None, Field("By resource: what its gangs, and those below it, use now.")] = None
    share: Annotated[Resources | None, Field("By resource: what is its fair share now.")] = None
    pending_gangs: Annotated[Int32, Field("Gangs that wait.")] = 0
    running_gangs: Annotated[Int32, Field("Gangs that have a place.")] = 0
    conditions: Conditions = ()


class Queue(Struct, frozen=True, kw_only=True):
    """A share of the cluster. Gangs join by the label grove.io/queue or through their namespace."""

    metadata: ObjectMeta
    spec: Annotated[QueueSpec, Field("Its place in the tree and its shares.")] = QueueSpec()
    api_version: str = "scheduler.grove.io/v1alpha1"
    kind: str = "Queue"
    status: Annotated[QueueStatus | None, Field("What it uses.")] = None

    RULES: ClassVar[tuple[Rule, ...]] = (
        Rule(
            cel="!has(self.spec) || !has(self.spec.parent) || self.spec.parent != self.metadata.name",
            holds=lambda self: (self.get("spec") or {}).get("parent") != (self.get("metadata") or {}).get("name", ""),
            message="a queue cannot be its own parent",
            remedy="name another queue, or remove parent to make it a root",
            field_path=".spec.parent",
        ),
    )
