"""Keeps PodGangs: makes them when their pods are there, writes what changes, deletes those that no set asks for.

One key a gang, by name. Where a gang stands is read from its labels, or those of its PodCliques, never from its name.
A gang of many pods is written once when it is whole: until then each pod that comes only counts.
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import Final, TypeVar

from grove.api import labels, statuses
from grove.api.kinds.podcliqueset import PodCliqueSet
from grove.api.kinds.podgang import PodGang
from grove.kube.clock import Clock
from grove.kube.errors import Conflict, Invalid, KubeError, NotFound
from grove.kube.events import EventType, Recorder
from grove.kube.objects import PodView
from grove.kube.regarding import regarding
from grove.kube.resources import PODS
from grove.operator import places
from grove.operator.backends.registry import Backends
from grove.operator.failures import StepError
from grove.operator.owners import controller_of, is_controlled_by
from grove.operator.podgang import members as gang_members
from grove.operator.podgang import plan, status
from grove.operator.podgang.members import Member
from grove.operator.resources import POD_CLIQUE_SETS, POD_GANGS
from grove.operator.topology import levels
from grove.operator.tree import GangPlace, Tree
from grove.operator.views import PodCliqueView
from grove.operator.world import Key, World
from grove.operator.writer import ForeignObjectError, Writer
from grove.runtime.outcomes import Outcome, RequeueAfter, RequeueAt, Retry
from grove.runtime.pace import Pace

T = TypeVar("T")

REFILL: Final = 1.0
"""Seconds between two writes of a gang's references while some of its pods are missing."""

AGAIN: Final = 0.2
"""Seconds until a write that met another's is decided anew."""


class PodGangReconciler:
    """See the top of the module."""

    def __init__(
        self,
        *,
        world: World,
        writer: Writer,
        recorder: Recorder,
        clock: Clock,
        backends: Backends,
        topology_enabled: bool,
    ) -> None:
        self._world = world
        self._writer = writer
        self._recorder = recorder
        self._clock = clock
        self._backends = backends
        self._topology_enabled = topology_enabled
        self._pace: Pace[Key] = Pace()
        self._awaited: set[Key] = set()  # gangs that are not written, because they are not whole yet
        self._filled: dict[Key, float] = {}  # of gangs that lack pods: since when, or when they were last written

    async def __call__(self, key: Key) -> Outcome:
        held = self._world.gangs.get(key.name, key.namespace)
        found = self._find(key, held)
        if found is None or found[0].pcs.metadata.deletion_timestamp is not None:
            self._forget(key)  # what belongs to a set that goes is deleted with it
            return None
        tree, place = found
        if not tree.has_gang(place):
            self._forget(key)
            await self._delete(tree.pcs, held)
            return None
        if held is not None and held.metadata.deletion_timestamp is not None:
            return None  # another is made when it is gone
        return await self._keep(key, tree, place, held)

    def _forget(self, key: Key) -> None:
        self._pace.forget(key)
        self._filled.pop(key, None)
        self._awaited.discard(key)

    # Looking

    def _find(self, key: Key, held: PodGang | None) -> tuple[Tree, GangPlace] | None:
        """Where the gang stands, and in which set."""
        controller = None if held is None else controller_of(held.metadata)
        pcs = None if controller is None else self._world.sets.by_uid(controller.uid)
        if held is not None and pcs is not None:
            tree = self._world.tree(pcs)
            place = places.gang_of(tree, held.metadata)
            if place is not None:
                return tree, place
        for clique in self._world.gang_cliques(key.namespace, key.name):
            owner = self._world.set_of(clique.metadata)
            if owner is None or (pcs is not None and owner is not pcs):
                continue
            tree = self._world.tree(owner)
            at = places.clique_of(tree, clique.metadata)
            if at is not None and tree.gang_name(tree.gang_of(at)) == key.name:
                return tree, tree.gang_of(at)
        if pcs is None:
            return None
        # Ours, but spoilt labels and no PodClique: rare enough to try all.
        tree = self._world.tree(pcs)
        place = next((one for one in tree.gangs() if tree.gang_name(one) == key.name), GangPlace(-1))
        return tree, place

    def _held(self, tree: Tree) -> gang_members.Held:
        def held(name: str) -> tuple[PodCliqueView, Sequence[PodView]] | None:
            clique = self._world.cliques.get(name, tree.namespace)
            if clique is None or not self._world.is_part_of(clique.metadata, tree.pcs):
                return None
            return clique, self._world.pods_of(clique)

        return held

    def _wanted(self, tree: Tree, place: GangPlace, members: Sequence[Member]) -> plan.Wanted:
        name = levels.binding_name(tree.template)
        binding = self._world.topologies.get(name) if name else None
        bindings = {} if binding is None else {name: binding}
        keys = levels.keys(tree.template, bindings, self._topology_enabled)
        return plan.wanted(tree, place, members, keys, self._backends.of_template(tree.template).name)

    # Doing

    async def _keep(self, key: Key, tree: Tree, place: GangPlace, held: PodGang | None) -> Outcome:
        if held is None and not gang_members.all_whole(tree, place, self._held(tree)):
            self._awaited.add(key)
            due = gang_members.due(self._world.gang_cliques(*key), len(self._awaited) - 1)
            if due is None or self._clock.wall() < due:
                return None if due is None else RequeueAt(due)
        self._awaited.discard(key)
        members = gang_members.members(tree, place, self._held(tree))
        whole = gang_members.is_whole(members)
        if held is not None and not is_controlled_by(held.metadata, tree.pcs.metadata):
            raise self._failed(tree.pcs, key.name, _foreign(key, tree))
        await self._relabel(tree.pcs, key.name, members)
        if whole:
            self._filled.pop(key, None)
        if held is None:
            held = await self._create(tree, place, self._wanted(tree, place, members))
        elif (change := plan.change(held, self._wanted(tree, place, _named(members, held)))) is not None:
            wait = 0.0 if whole or not change.references_only else self._wait(key)
            if wait > 0:
                return RequeueAfter(wait)
            held = await self._patch(tree.pcs, held, change)
            if not whole:
                self._filled[key] = self._clock.monotonic()
        return await self._tell(key, tree.pcs, held, members, whole)

    def _wait(self, key: Key) -> float:
        """Seconds until references of a gang that lacks pods may be written. A pod that goes is mostly replaced at
        once: then both are one write."""
        now = self._clock.monotonic()
        return max(0.0, self._filled.setdefault(key, now) + REFILL - now)

    async def _relabel(self, pcs: PodCliqueSet, gang: str, members: Sequence[Member]) -> None:
        for pod in gang_members.strays(members, gang):
            change = {"metadata": {"uid": pod.metadata.uid, "labels": {labels.POD_GANG: gang}}}
            await self._try(pcs, gang, self._writer.patch(PODS, pod.metadata, change, type=PodView))

    async def _create(self, tree: Tree, place: GangPlace, wanted: plan.Wanted) -> PodGang:
        pcs = tree.pcs
        body = plan.creation(tree, place, wanted)
        made = await self._try(
            pcs, tree.gang_name(place), self._writer.create(POD_GANGS, body, pcs.metadata, type=PodGang)
        )
        # The same text for all gangs of a set: they are counted on one Event, not written down one by one.
        self._record(pcs, "Normal", "PodGangCreateOrUpdateSuccessful", "Created a PodGang")
        return made

    async def _patch(self, pcs: PodCliqueSet, held: PodGang, change: plan.Change) -> PodGang:
        name = held.metadata.name
        written = await self._try(pcs, name, self._writer.patch(POD_GANGS, held.metadata, change.patch, type=PodGang))
        if change.touched:
            text = f"Updated PodGang {name}: {', '.join(change.touched)}"
            self._record(pcs, "Normal", "PodGangCreateOrUpdateSuccessful", text)
        return written

    async def _delete(self, pcs: PodCliqueSet, held: PodGang | None) -> None:
        if held is None or held.metadata.deletion_timestamp is not None:
            return
        if not is_controlled_by(held.metadata, pcs.metadata):
            return
        name = held.metadata.name
        try:
            deleted = await self._writer.delete(POD_GANGS, held.metadata)
        except KubeError as error:
            self._record(pcs, "Warning", "PodGangDeleteFailed", f"PodGang {name}: {error}")
            raise StepError("ERR_DELETE_EXCESS_PODGANG", f"PodGang {name} is not deleted", cause=error) from error
        if deleted:
            self._record(pcs, "Normal", "PodGangDeleteSuccessful", f"Deleted PodGang {name}: no replica needs it")

    async def _tell(
        self, key: Key, pcs: PodCliqueSet, held: PodGang, members: Sequence[Member], whole: bool
    ) -> Outcome:
        """Writes the status, or says when."""
        reports = self._backends.of_template(pcs.spec.template).reports_gangs
        counts = None if reports else status.count(members)
        wanted = status.wanted(held.status, whole, counts, self._clock.wall())
        patch = statuses.patch(held.status, wanted)
        if patch is None:
            self._pace.forget(key)
            return None
        patience = status.patience(held.status, wanted, reported=reports)
        if patience is not None:
            wait = self._pace.wait(key, status.gist(wanted), self._clock.monotonic(), patience)
            if wait > 0:
                return RequeueAfter(wait)
        write = self._writer.patch(
            POD_GANGS, held.metadata, patch, type=PodGang, subresource="status", guarded=True
        )  # a merge patch replaces all conditions: only if nobody has written others meanwhile
        await self._try(pcs, key.name, write)
        self._pace.forget(key)
        return None

    # Failures and events

    async def _try(self, pcs: PodCliqueSet, name: str, write: Awaitable[T]) -> T:
        try:
            return await write
        except (KubeError, ForeignObjectError) as error:
            if _has_changed(error):
                raise Retry(f"PodGang {name} or a pod of it has changed meanwhile: {error}", after=AGAIN) from error
            raise self._failed(pcs, name, error) from error

    def _failed(self, pcs: PodCliqueSet, name: str, error: Exception) -> StepError:
        self._record(pcs, "Warning", "PodGangCreateOrUpdateFailed", f"PodGang {name}: {error}")
        return StepError("ERR_CREATE_OR_PATCH_PODGANG", f"PodGang {name} is not as it must be", cause=error)

    def _record(self, pcs: PodCliqueSet, type: EventType, reason: str, message: str) -> None:
        self._recorder.record(regarding(POD_CLIQUE_SETS, pcs.metadata), type, reason, message)


def _named(members: Sequence[Member], held: PodGang) -> Sequence[Member]:
    """The members as they are to be named. A gang that was whole once and is being built anew, as after a gang
    termination, names no new pods before each group has its minimum: where pods are held back from a scheduler that
    places them one by one, it would let the first ones go."""
    if not status.is_initialized(held.status) or gang_members.has_minimum(members):
        return members
    return gang_members.only_named(members, held)


def _has_changed(error: Exception) -> bool:
    """Whether a write met another version, nothing, or another object of that name: the caches are about to know."""
    if isinstance(error, Invalid) and error.details is not None:
        return any(cause.field == "metadata.uid" for cause in error.details.causes or ())
    return isinstance(error, (Conflict, NotFound))


def _foreign(key: Key, tree: Tree) -> ForeignObjectError:
    return ForeignObjectError(POD_GANGS, key.namespace, key.name, f"PodCliqueSet {tree.name}")
