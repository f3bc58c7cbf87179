"""Writes the members of a scaling group as planned, and tells of it in events."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, TypeVar

import msgspec

from grove.api.kinds.meta import ObjectMeta
from grove.kube.errors import Conflict, NotFound
from grove.kube.events import EventType, Recorder
from grove.kube.fence import NotLeaderError
from grove.kube.regarding import regarding
from grove.kube.resources import Resource
from grove.operator import places
from grove.operator.cliquesync import Create, Patch, Plan
from grove.operator.failures import StepError
from grove.operator.resources import POD_CLIQUE_SETS, POD_CLIQUES, SCALING_GROUPS
from grove.operator.views import PodCliqueView
from grove.operator.writer import Writer
from grove.runtime.batches import BatchOutcome, Momentum, write_in_batches
from grove.runtime.outcomes import Retry

Item = TypeVar("Item")
Result = TypeVar("Result")

AT_ONCE: Final = 64
"""So many deletions or patches are sent at once. Creations of a new set begin with one copy, twice as many follow."""
SOON: Final = 0.1
"""Seconds until something is looked at again that has changed just now."""
NAMED: Final = 5
"""So many objects are named in an event."""


class Written(msgspec.Struct):
    """What could not be written."""

    errors: list[StepError] = msgspec.field(default_factory=list)
    again: float | None = None
    """Seconds until a name may be free that was still held by one that is being deleted."""


class Owners(msgspec.Struct, frozen=True):
    """Whose members they are: events on what becomes of copies stand on the set."""

    pcs: ObjectMeta
    group: ObjectMeta
    cliques: int
    """How many members a copy has."""


class MemberWriter:
    """See the top of the module."""

    def __init__(self, *, writer: Writer, recorder: Recorder) -> None:
        self._writer = writer
        self._recorder = recorder
        self._momentum: Momentum[str] = Momentum()  # by uid of the set

    async def write(self, plan: Plan, whose: Owners, reasons: Mapping[int, str]) -> Written:
        """Deletes, patches and creates; what fails of the one does not keep the others from being done.

        `reasons` are those for which copies that are to exist are deleted, by index.
        """
        written = Written()
        await self._delete(plan.deletes, whose, reasons, written)
        await self._patch(plan.patches, whose, written)
        await self._create(plan.creates, whose, written)
        return written

    async def _delete(
        self, members: Sequence[PodCliqueView], whose: Owners, reasons: Mapping[int, str], written: Written
    ) -> None:
        async def delete(member: PodCliqueView) -> bool:
            return await self._writer.delete(POD_CLIQUES, member.metadata)

        done = await write_in_batches(members, delete, first=AT_ONCE)
        gone: dict[str, set[int]] = {}
        for member, was_there in done.written:
            index = places.copy_index(member.metadata)
            if was_there and index is not None:
                gone.setdefault(reasons.get(index, "it is not wanted any more"), set()).add(index)
        for reason, indices in gone.items():
            message = f"deleted {_listed('replica', map(str, sorted(indices)))} of {whose.group.name}: {reason}"
            self._tell(POD_CLIQUE_SETS, whose.pcs, "Normal", "PodCliqueScalingGroupReplicaDeleteSuccessful", message)
        error = _failed(done, written, "ERR_DELETE_PODCLIQUE", lambda one: f"cannot delete {_name(one)}")
        if error is not None:
            self._tell(POD_CLIQUE_SETS, whose.pcs, "Warning", "PodCliqueScalingGroupReplicaDeleteFailed", str(error))

    async def _patch(self, patches: Sequence[Patch], whose: Owners, written: Written) -> None:
        async def patch(one: Patch) -> PodCliqueView:
            return await self._writer.patch(
                POD_CLIQUES, one.held.metadata, one.change, type=PodCliqueView, guarded=one.guarded
            )

        done = await write_in_batches(patches, patch, first=AT_ONCE)
        if done.written:
            message = f"updated {_listed('PodClique', (one.held.metadata.name for one, _ in done.written))}"
            self._tell(SCALING_GROUPS, whose.group, "Normal", "PodCliqueCreateOrUpdateSuccessful", message)
        error = _failed(done, written, "ERR_CREATE_OR_UPDATE_PODCLIQUE", lambda one: f"cannot update {_name(one.held)}")
        if error is not None:
            self._tell(SCALING_GROUPS, whose.group, "Warning", "PodCliqueCreateOrUpdateFailed", str(error))

    async def _create(self, creates: Sequence[Create], whose: Owners, written: Written) -> None:
        async def create(one: Create) -> PodCliqueView:
            return await self._writer.create(POD_CLIQUES, one.body, whose.group, type=PodCliqueView)

        done = await self._momentum.write(whose.pcs.uid or "", creates, create, first=whose.cliques)
        if done.written:
            message = f"created {_listed('PodClique', (view.metadata.name for _, view in done.written))}"
            self._tell(SCALING_GROUPS, whose.group, "Normal", "PodCliqueCreateSuccessful", message)
        error = _failed(
            done,
            written,
            "ERR_CREATE_PODCLIQUES",
            lambda one: f"cannot create PodClique {one.body['metadata']['name']}",
        )
        if error is not None:
            self._tell(SCALING_GROUPS, whose.group, "Warning", "PodCliqueCreateFailed", str(error))

    def _tell(self, resource: Resource, about: ObjectMeta, type: EventType, reason: str, message: str) -> None:
        self._recorder.record(regarding(resource, about), type, reason, message)


def _failed(
    done: BatchOutcome[Item, Result], written: Written, code: str, what: Callable[[Item], str]
) -> StepError | None:
    """Notes what failed; the error, if there is one that must be told.

    What has only changed or vanished meanwhile, and names that are still held, are no errors: they are tried again.
    """
    found: StepError | None = None
    for item, cause in done.failed:
        if isinstance(cause, NotLeaderError):
            raise cause
        if isinstance(cause, Retry | Conflict | NotFound):
            after = cause.after if isinstance(cause, Retry) else SOON
            written.again = after if written.again is None else min(after, written.again)
        elif found is None:
            found = StepError(code, what(item), cause=cause)
            found.__cause__ = cause
    if found is not None:
        written.errors.append(found)
    return found


def _name(member: PodCliqueView) -> str:
    return f"PodClique {member.metadata.name}"


def _listed(what: str, names: Iterable[str]) -> str:
    """The names, as many as can be read: `PodClique a`, `7 PodCliques: a, b, … and 5 more`."""
    found = list(names)
    if len(found) == 1:
        return f"{what} {found[0]}"
    more = f", … and {len(found) - NAMED} more" if len(found) > NAMED else ""
    return f"{len(found)} {what}s: {', '.join(found[:NAMED])}{more}"
