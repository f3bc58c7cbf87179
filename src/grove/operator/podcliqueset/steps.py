"""Carries out plans, and keeps what went wrong apart: a child that cannot be written holds up no other.

Children of a kind are written in growing batches, so that a server that refuses everything costs few requests. What is
wrong with one child alone, such as a foreign object of its name, does not stop the batches.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, TypeVar

import msgspec

from grove.api.fields import JSON
from grove.api.kinds.meta import ObjectMeta
from grove.api.kinds.scalinggroup import PodCliqueScalingGroup
from grove.kube.errors import BadRequest, Conflict, Invalid, NotFound
from grove.kube.fence import NotLeaderError
from grove.kube.resources import AUTOSCALERS, ROLE_BINDINGS, ROLES, SERVICES, Resource
from grove.operator import cliquesync
from grove.operator.failures import Operation, StepError
from grove.operator.podcliqueset import children
from grove.operator.resources import POD_CLIQUES, SCALING_GROUPS
from grove.operator.views import AutoscalerView, PodCliqueView, RoleBindingView, RoleView, ServiceView
from grove.operator.writer import ForeignObjectError, Writer
from grove.runtime.batches import write_in_batches
from grove.runtime.outcomes import Retry

T = TypeVar("T")

FIRST_BATCH: Final = 4
LARGEST_BATCH: Final = 32
SOON: Final = 0.2
"""Seconds until something is tried again that changed while it was being written."""


class Kind(msgspec.Struct, frozen=True):
    """A kind of children: how the caches hold it, and what its failures are called."""

    resource: Resource
    type: Any
    sync_code: str
    delete_code: str


SERVICE: Final = Kind(SERVICES, ServiceView, "ERR_SYNC_PODCLIQUESET_SERVICE", "ERR_DELETE_PODCLIQUESET_SERVICE")
ROLE: Final = Kind(ROLES, RoleView, "ERR_SYNC_ROLE", "ERR_DELETE_ROLE")
ROLE_BINDING: Final = Kind(ROLE_BINDINGS, RoleBindingView, "ERR_SYNC_ROLEBINDING", "ERR_DELETE_ROLEBINDING")
AUTOSCALER: Final = Kind(AUTOSCALERS, AutoscalerView, "ERR_SYNC_HPA", "ERR_DELETE_HPA")
CLIQUE: Final = Kind(POD_CLIQUES, PodCliqueView, "ERR_SYNC_PODCLIQUE", "ERR_DELETE_PODCLIQUE")
GROUP: Final = Kind(
    SCALING_GROUPS,
    PodCliqueScalingGroup,
    "ERR_SYNC_PODCLIQUESCALINGGROUP",
    "ERR_DELETE_PODCLIQUESCALINGGROUP",
)


class Done(msgspec.Struct, frozen=True):
    """The names of what was really written."""

    created: tuple[str, ...] = ()
    patched: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()


class Steps:
    """Made for one reconcile."""

    def __init__(self, writer: Writer, owner: ObjectMeta) -> None:
        self._writer = writer
        self._owner = owner
        self.errors: list[StepError] = []
        self.again: list[Retry] = []
        """What could not be done yet, and is no error."""

    @property
    def is_complete(self) -> bool:
        return not self.errors and not self.again

    def failure(self) -> Exception:
        """What the reconcile ends with, so that it is tried again."""
        first = self.errors[0]
        if len(self.errors) > 1:
            first.add_note(f"and {len(self.errors) - 1} more errors, see status.lastErrors")
        return first

    async def carry_out(self, kind: Kind, plan: children.Plan) -> Done:
        """Writes what a plan says of children of a kind."""
        return Done(
            deleted=await self.delete(kind, plan.deletes),
            patched=await self._each(kind, plan.patches, lambda one: one.held.name, self._patch(kind)),
            created=await self._create(kind, plan.creates),
        )

    async def carry_out_cliques(self, plan: cliquesync.Plan) -> Done:
        """Writes what a plan says of PodCliques."""
        patches = tuple(children.Patch(one.held.metadata, one.change, guarded=one.guarded) for one in plan.patches)
        deletes = tuple(one.metadata for one in plan.deletes)
        return await self.carry_out(CLIQUE, children.Plan(tuple(one.body for one in plan.creates), patches, deletes))

    async def delete(self, kind: Kind, which: Sequence[ObjectMeta], *, code: str = "") -> tuple[str, ...]:
        """Deletes these very objects; the names of those that were there."""

        async def write(one: ObjectMeta) -> bool:
            return await self._writer.delete(kind.resource, one)

        code = code or kind.delete_code
        return await self._each(kind, which, lambda one: one.name, write, code=code, operation="Delete")

    def failed(self, code: str, message: str, cause: Exception, *, operation: Operation = "Sync") -> None:
        """Takes note of a failure. What has merely changed meanwhile is tried again soon, and reported to nobody."""
        if isinstance(cause, NotLeaderError):
            raise cause
        if isinstance(cause, Retry):
            self.again.append(cause)
        elif isinstance(cause, Conflict | NotFound):
            self.again.append(Retry(f"{message}: {cause}", after=SOON))
        else:
            error = StepError(code, message, operation=operation, cause=cause)
            error.__cause__ = cause
            self.errors.append(error)

    async def _create(self, kind: Kind, bodies: Sequence[JSON]) -> tuple[str, ...]:
        async def write(body: JSON) -> bool:
            await self._writer.create(kind.resource, body, self._owner, type=kind.type)
            return True

        return await self._each(kind, bodies, lambda body: str(body["metadata"]["name"]), write)

    def _patch(self, kind: Kind) -> Callable[[children.Patch], Awaitable[bool]]:
        async def write(one: children.Patch) -> bool:
            await self._writer.patch(kind.resource, one.held, one.change, type=kind.type, guarded=one.guarded)
            return True

        return write

    async def _each(
        self,
        kind: Kind,
        items: Sequence[T],
        name: Callable[[T], str],
        write: Callable[[T], Awaitable[bool]],
        *,
        code: str = "",
        operation: Operation = "Sync",
    ) -> tuple[str, ...]:
        code = code or kind.sync_code

        def note(item: T, error: Exception) -> None:
            verb = "delete" if operation == "Delete" else "write"
            self.failed(code, f"could not {verb} {kind.resource.kind} {name(item)}", error, operation=operation)

        async def one(item: T) -> bool:
            try:
                return await write(item)
            except (ForeignObjectError, Invalid, BadRequest, Conflict, NotFound, Retry) as error:
                note(item, error)
                return False

        outcome = await write_in_batches(items, one, first=FIRST_BATCH, largest=LARGEST_BATCH)
        for item, error in outcome.failed:
            note(item, error)
        return tuple(name(item) for item, written in outcome.written if written)
