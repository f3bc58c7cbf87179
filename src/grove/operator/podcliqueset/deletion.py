"""Takes a set down that its user has deleted: scaling groups, PodCliques and gangs first, then the set itself.

The set stays, held by its finalizer, until none of them is left: whoever makes one of the same name does not find the
pods of the old one. What else belongs to it (Services, autoscalers, Roles) goes with it, by its owner references.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from grove.api import labels, statuses
from grove.api.fields import JSON
from grove.api.kinds.meta import ObjectMeta
from grove.api.kinds.podcliqueset import PodCliqueSet
from grove.api.kinds.podcliqueset_status import PodCliqueSetStatus
from grove.kube.clock import Clock
from grove.kube.errors import KubeError, NotFound
from grove.kube.events import Recorder, Regarding
from grove.kube.resources import Resource
from grove.operator.failures import StepError, last_errors, last_operation
from grove.operator.podcliqueset import phases
from grove.operator.podcliqueset.children import is_going
from grove.operator.resources import POD_CLIQUE_SETS, POD_CLIQUES, POD_GANGS, SCALING_GROUPS
from grove.operator.world import World
from grove.operator.writer import Writer

CODES: Final[Mapping[Resource, str]] = {
    SCALING_GROUPS: "ERR_DELETE_PODCLIQUESCALINGGROUP",
    POD_CLIQUES: "ERR_DELETE_PODCLIQUE",
    POD_GANGS: "ERR_DELETE_PODGANGS",
}
"""The order in which they are asked to go: nobody is left then who would make them again."""


class Deletion:
    """See the top of the module."""

    def __init__(self, *, world: World, writer: Writer, recorder: Recorder, clock: Clock) -> None:
        self._world = world
        self._writer = writer
        self._recorder = recorder
        self._clock = clock

    async def step(self, pcs: PodCliqueSet, about: Regarding) -> None:
        """Asks for what is left to go, and lets the set go when nothing is. Events of the caches bring it back."""
        if labels.POD_CLIQUE_SET_FINALIZER not in pcs.metadata.finalizers:
            return
        left = self._world.leftovers(pcs)
        if not any(left.values()):
            await self._let_go(pcs)
            self._recorder.record(about, "Normal", "Deleted", f"PodCliqueSet {pcs.metadata.name} is deleted")
            return
        if pcs.status is None or pcs.status.phase != phases.TERMINATING:
            self._recorder.record(about, "Normal", "Deleting", f"PodCliqueSet {pcs.metadata.name} is being deleted")
        try:
            await self._ask(pcs, left)
        except StepError as error:
            if not any(one.description == str(error) for one in (pcs.status.last_errors if pcs.status else ())):
                self._recorder.record(about, "Warning", "DeleteError", str(error))
            await self._tell(pcs, left, [error])
            raise
        await self._tell(pcs, left, [])

    async def _ask(self, pcs: PodCliqueSet, left: Mapping[Resource, Sequence[ObjectMeta]]) -> None:
        namespace = pcs.metadata.namespace or ""
        for resource, code in CODES.items():
            if all(is_going(one) for one in left[resource]):
                continue
            try:
                await self._writer.delete_collection(resource, namespace, labels.common(pcs.metadata.name))
            except KubeError as error:
                message = f"could not delete the set's {resource.plural}"
                raise StepError(code, message, operation="Delete", cause=error) from error

    async def _tell(
        self, pcs: PodCliqueSet, left: Mapping[Resource, Sequence[ObjectMeta]], errors: Sequence[StepError]
    ) -> None:
        """What is waited for is told by kind, not by number: numbers would be written again and again."""
        held = PodCliqueSetStatus() if pcs.status is None else pcs.status
        now = self._clock.wall()
        waiting = ", ".join(resource.plural for resource in CODES if left[resource])
        description = str(errors[0]) if errors else f"waits until these are gone: {waiting}"
        wanted = replace(
            held,
            phase=phases.TERMINATING,
            last_errors=last_errors(held.last_errors, errors, now),
            last_operation=last_operation(
                held.last_operation, "Delete", "Error" if errors else "Processing", description, now
            ),
        )
        change = statuses.patch(pcs.status, wanted)
        if change is not None:
            await self._writer.patch(POD_CLIQUE_SETS, pcs.metadata, change, type=PodCliqueSet, subresource="status")

    async def _let_go(self, pcs: PodCliqueSet) -> None:
        kept = [one for one in pcs.metadata.finalizers if one != labels.POD_CLIQUE_SET_FINALIZER]
        change: JSON = {"metadata": {"finalizers": kept}}
        try:
            await self._writer.patch(POD_CLIQUE_SETS, pcs.metadata, change, type=PodCliqueSet, guarded=True)
        except NotFound:
            return  # somebody else has let it go
