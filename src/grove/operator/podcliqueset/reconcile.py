"""Brings what is beneath a set nearer to what its spec says, and its status nearer to what is there.

The order of writes makes every crash harmless: the generation hash and the selected replica are in the status before
any child follows the template, scaling groups are told of a gang termination before their PodCliques go, and what was
written is in the caches before the next step looks.
"""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from grove.api import codec, conditions, labels, statuses
from grove.api.fields import JSON
from grove.api.kinds.podcliqueset import PodCliqueSet
from grove.api.kinds.podcliqueset_status import PodCliqueSetStatus
from grove.api.kinds.scalinggroup import PodCliqueScalingGroup
from grove.kube.clock import Clock
from grove.kube.errors import KubeError
from grove.kube.events import Recorder
from grove.kube.regarding import regarding
from grove.operator.ease import Ease
from grove.operator.owners import is_controlled_by
from grove.operator.podcliqueset import plan, replicas, rollout, steps, termination
from grove.operator.podcliqueset.deletion import Deletion
from grove.operator.podcliqueset.happenings import Happenings
from grove.operator.podcliqueset.snapshot import Snapshot, look
from grove.operator.podcliqueset.status import Outcome as Ended
from grove.operator.podcliqueset.status import gist, is_urgent, summary
from grove.operator.podcliqueset.steps import Steps
from grove.operator.resources import POD_CLIQUE_SETS, POD_GANGS, SCALING_GROUPS
from grove.operator.world import Key, World
from grove.operator.writer import ForeignObjectError, Writer
from grove.runtime.outcomes import Outcome, RequeueAfter
from grove.runtime.pace import Pace

REPLICA_CODE: Final = "ERR_DELETE_PCS_REPLICA"
GANG_CODE: Final = "ERR_CREATE_OR_PATCH_PODGANG"


class PodCliqueSetReconciler:
    """The reconcile of the controller of PodCliqueSets; `sources.py` says what brings it here."""

    def __init__(
        self,
        *,
        world: World,
        writer: Writer,
        recorder: Recorder,
        clock: Clock,
        topology_enabled: bool,
    ) -> None:
        self._world = world
        self._writer = writer
        self._recorder = recorder
        self._clock = clock
        self._topology_enabled = topology_enabled
        self._pace: Pace[Key] = Pace()
        self._ease: Ease[Key] = Ease()
        self._deletion = Deletion(world=world, writer=writer, recorder=recorder, clock=clock)

    async def __call__(self, key: Key) -> Outcome:
        pcs = self._world.sets.get(key.name, key.namespace)
        if pcs is None or pcs.metadata.deletion_timestamp is not None:
            self._pace.forget(key)
            self._ease.forget(key)
        if pcs is None:
            return None
        if pcs.metadata.deletion_timestamp is not None:
            await self._deletion.step(pcs, regarding(POD_CLIQUE_SETS, pcs.metadata))
            return None
        if (rest := self._ease.wait(key, self._clock.monotonic())) > 0.0:
            return RequeueAfter(rest)
        happenings = Happenings(self._recorder, regarding(POD_CLIQUE_SETS, pcs.metadata))
        pcs = await self._held(pcs)
        began = self._clock.monotonic()
        snapshot = look(self._world, pcs)
        self._ease.looked(key, began, self._clock.monotonic())
        snapshot = await self._progressed(snapshot, happenings)
        done = Steps(self._writer, pcs.metadata)
        snapshot = await self._recycled(snapshot, done, happenings)
        snapshot = await self._carried_out(snapshot, done, happenings)
        self._find_foreign_gangs(snapshot, done)
        return await self._conclude(key, snapshot, done, happenings)

    # The set itself

    async def _held(self, pcs: PodCliqueSet) -> PodCliqueSet:
        """The set with our finalizer."""
        if labels.POD_CLIQUE_SET_FINALIZER in pcs.metadata.finalizers:
            return pcs
        change: JSON = {"metadata": {"finalizers": [*pcs.metadata.finalizers, labels.POD_CLIQUE_SET_FINALIZER]}}
        return await self._writer.patch(POD_CLIQUE_SETS, pcs.metadata, change, type=PodCliqueSet, guarded=True)

    async def _progressed(self, snapshot: Snapshot, happenings: Happenings) -> Snapshot:
        """Puts the hash of the template and the course of the rollout into the status."""
        now, pcs = self._clock.wall(), snapshot.pcs
        decision = termination.decide(snapshot, now)
        hash = snapshot.tree.generation_hash
        standing = (replicas.standing(snapshot, one, decision) for one in range(pcs.spec.replicas))
        held = PodCliqueSetStatus() if pcs.status is None else pcs.status
        progress = rollout.progressed(pcs.spec, pcs.status, hash, standing, now)
        if held.current_generation_hash == hash and progress == held.update_progress:
            return snapshot
        base = replace(held, current_generation_hash=hash, update_progress=progress)
        wanted = self._summary(snapshot, base, Ended(errors=None), decision)
        written = await self._write_status(pcs, wanted, guarded=True)
        _tell_course(happenings, pcs, written)
        return look(self._world, written)

    # Beneath it

    async def _recycled(self, snapshot: Snapshot, done: Steps, happenings: Happenings) -> Snapshot:
        """Gang termination of whole replicas."""
        recyclings = termination.decide(snapshot, self._clock.wall()).recyclings
        for one in recyclings:
            try:
                for group in one.tell:
                    await self._tell(group, one.replica)
            except KubeError as error:
                done.failed(REPLICA_CODE, f"could not recycle replica {one.replica}", error, operation="Delete")
                continue
            gone = await done.delete(steps.CLIQUE, [view.metadata for view in one.delete], code=REPLICA_CODE)
            if gone:
                happenings.replica_deleted(one.replica, one.why)
        return look(self._world, snapshot.pcs) if recyclings else snapshot

    async def _tell(self, group: PodCliqueScalingGroup, replica: int) -> None:
        held = () if group.status is None else group.status.conditions
        found = conditions.put(
            held,
            termination.IN_PROGRESS,
            "True",
            termination.ACTIVE,
            termination.message(replica),
            now=self._clock.wall(),
        )
        change: JSON = {"status": {"conditions": [codec.encode(one) for one in found]}}
        # The group's own controller writes the same list.
        await self._writer.patch(
            SCALING_GROUPS, group.metadata, change, type=PodCliqueScalingGroup, subresource="status", guarded=True
        )

    async def _carried_out(self, snapshot: Snapshot, done: Steps, happenings: Happenings) -> Snapshot:
        """Children of all kinds, in an order in which each finds what it needs."""
        pcs = snapshot.pcs
        wanted = plan.make(snapshot, lambda replica: rollout.may_follow(pcs.spec, pcs.status, replica))
        if not wanted:
            return snapshot
        await done.carry_out(steps.SERVICE, wanted.services)
        await done.carry_out(steps.ROLE, wanted.roles)
        await done.carry_out(steps.ROLE_BINDING, wanted.role_bindings)
        happenings.cliques(await done.carry_out_cliques(wanted.cliques))
        happenings.groups(await done.carry_out(steps.GROUP, wanted.groups))
        # After their groups, which would make them again.
        happenings.cliques_deleted(await done.delete(steps.CLIQUE, [one.metadata for one in wanted.members]))
        await done.carry_out(steps.AUTOSCALER, wanted.autoscalers)
        return look(self._world, pcs)

    def _find_foreign_gangs(self, snapshot: Snapshot, done: Steps) -> None:
        """Gangs are another controller's, but users look for what is wrong in the status of the set."""
        pcs, tree = snapshot.pcs, snapshot.tree
        for place in tree.gangs():
            held = self._world.gangs.get(tree.gang_name(place), tree.namespace)
            if held is not None and not is_controlled_by(held.metadata, pcs.metadata):
                name = held.metadata.name
                cause = ForeignObjectError(POD_GANGS, tree.namespace, name, f"PodCliqueSet {tree.name}")
                done.failed(GANG_CODE, f"could not write PodGang {name}", cause)

    # The end

    async def _conclude(self, key: Key, snapshot: Snapshot, done: Steps, happenings: Happenings) -> Outcome:
        began, now, pcs = self._clock.monotonic(), self._clock.wall(), snapshot.pcs
        decision = termination.decide(snapshot, now)
        held = PodCliqueSetStatus() if pcs.status is None else pcs.status
        wanted = self._summary(snapshot, held, Ended(errors=done.errors, is_complete=done.is_complete), decision)
        self._ease.looked(key, began, self._clock.monotonic())
        wait = self._wait(key, pcs, wanted)
        if wait == 0.0:
            await self._write_status(pcs, wanted)
            self._pace.forget(key)
        _tell_end(happenings, pcs, wanted, done)
        if done.errors:
            raise done.failure()
        waits = [one.after for one in done.again]
        if wait:
            waits.append(wait)
        if decision.next_expiry is not None:
            waits.append(max(0.0, (decision.next_expiry - now).total_seconds()))
        return RequeueAfter(min(waits)) if waits else None

    def _summary(
        self, snapshot: Snapshot, held: PodCliqueSetStatus, ended: Ended, decision: termination.Decision
    ) -> PodCliqueSetStatus:
        now = self._clock.wall()
        return summary(snapshot, held, ended, decision, topology_enabled=self._topology_enabled, now=now)

    def _wait(self, key: Key, pcs: PodCliqueSet, wanted: PodCliqueSetStatus) -> float | None:
        """Seconds until the status may be written; None if it says nothing new."""
        if wanted == pcs.status:
            self._pace.forget(key)
            return None
        if is_urgent(pcs.status, wanted):
            return 0.0
        return self._pace.wait(key, gist(wanted), self._clock.monotonic())

    async def _write_status(
        self, pcs: PodCliqueSet, wanted: PodCliqueSetStatus, *, guarded: bool = False
    ) -> PodCliqueSet:
        change = statuses.patch(pcs.status, wanted)
        if change is None:
            return pcs
        return await self._writer.patch(
            POD_CLIQUE_SETS, pcs.metadata, change, type=PodCliqueSet, subresource="status", guarded=guarded
        )


def _tell_course(happenings: Happenings, before: PodCliqueSet, after: PodCliqueSet) -> None:
    """What the rollout does next."""
    old, new = before.status, after.status
    if new is None:
        return
    if old is None or old.current_generation_hash is None:
        happenings.reconciling(after.metadata.generation)
    elif old.current_generation_hash != new.current_generation_hash:
        happenings.update_started(new.current_generation_hash or "")
    chosen = rollout.selected(new)
    if chosen is not None and chosen != rollout.selected(old):
        happenings.replica_selected(chosen)
    if rollout.is_running(old) and not rollout.is_running(new):
        happenings.update_ended()


def _tell_end(happenings: Happenings, before: PodCliqueSet, after: PodCliqueSetStatus, done: Steps) -> None:
    """How the reconcile ended, where that is news."""
    old = before.status
    happenings.failures(done.errors, frozenset(one.description for one in (old.last_errors if old else ())))
    if after.observed_generation != (old.observed_generation if old else None):
        happenings.reconciled(after.observed_generation)
        if not before.spec.replicas and (old is None or old.observed_generation is None):
            happenings.no_replicas()
