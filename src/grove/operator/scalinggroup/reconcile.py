"""The controller of scaling groups: keeps their member PodCliques, and says how they fare.

The groups themselves are made and patched by the controller of PodCliqueSets. A copy that is replaced or terminated
loses all its PodCliques at once; they are made anew as they vanish.
"""

from __future__ import annotations

import datetime
from typing import Final

import msgspec

from grove.api import labels, statuses
from grove.api.kinds.podcliqueset import PodCliqueSet
from grove.api.kinds.scalinggroup import PodCliqueScalingGroup, PodCliqueScalingGroupStatus
from grove.kube.clock import Clock
from grove.kube.errors import Conflict, NotFound
from grove.kube.events import Recorder
from grove.kube.regarding import regarding
from grove.operator import cliquesync, delays, owners, places
from grove.operator.ease import Ease
from grove.operator.resources import POD_CLIQUES, SCALING_GROUPS
from grove.operator.scalinggroup import copies, plan, rollout, status, termination
from grove.operator.scalinggroup.copies import Copy
from grove.operator.scalinggroup.members import SOON, MemberWriter, Owners, Written
from grove.operator.scalinggroup.rollout import Rollout, Situation
from grove.operator.scalinggroup.status import Observation
from grove.operator.scalinggroup.termination import Termination
from grove.operator.tree import GroupPlace, Tree
from grove.operator.world import Key, World, key_of
from grove.operator.writer import Writer
from grove.runtime.outcomes import Outcome, RequeueAfter, RequeueAt, Retry
from grove.runtime.pace import COMING_UP, STEADY, Pace

ON_DELETE: Final = "OnDelete"


class _Seen(msgspec.Struct, frozen=True, kw_only=True):
    """What is seen of a group that is to be kept, and decided about its copies."""

    group: PodCliqueScalingGroup
    pcs: PodCliqueSet
    tree: Tree
    place: GroupPlace
    now: datetime.datetime
    copies: list[Copy]
    rollout: Rollout
    termination: Termination
    on_delete: bool

    @property
    def leaving(self) -> tuple[int, ...]:
        """The copies that are replaced or terminated now."""
        return (*self.rollout.replace, *self.termination.terminate)


class ScalingGroupReconciler:
    """See the top of the module."""

    def __init__(self, *, world: World, writer: Writer, recorder: Recorder, clock: Clock) -> None:
        self._world = world
        self._writer = writer
        self._members = MemberWriter(writer=writer, recorder=recorder)
        self._recorder = recorder
        self._clock = clock
        self._pace: Pace[Key] = Pace()
        self._ease: Ease[Key] = Ease()
        self._settled: dict[Key, object] = {}  # what the last plan was made from, of groups that needed nothing

    async def __call__(self, key: Key) -> Outcome:
        try:
            return await self._reconcile(key)
        except Retry as soon:
            return RequeueAfter(soon.after)

    async def _reconcile(self, key: Key) -> Outcome:
        group = self._world.groups.get(key.name, key.namespace)
        if group is None or group.metadata.deletion_timestamp is not None:
            self._pace.forget(key)
            self._ease.forget(key)
            self._settled.pop(key, None)
            if group is not None:
                await self._release(group)
            return None
        began = self._clock.monotonic()
        if (rest := self._ease.wait(key, began)) > 0.0:
            return RequeueAfter(rest)
        seen = self._look(group)
        self._ease.looked(key, began, self._clock.monotonic())
        return None if seen is None else await self._keep(seen)

    # A group that is to be kept

    def _look(self, group: PodCliqueScalingGroup) -> _Seen | None:
        """None for what belongs to no set, and for what its set is about to delete."""
        pcs = self._world.set_of(group.metadata)
        if pcs is None or pcs.metadata.deletion_timestamp is not None:
            return None
        tree = self._world.tree(pcs)
        place = places.group_of(tree, group.metadata)
        if place is None or place.replica >= pcs.spec.replicas:
            return None
        now = self._clock.wall()
        on_delete = pcs.spec.update_strategy is not None and pcs.spec.update_strategy.type == ON_DELETE
        held = group.status or PodCliqueScalingGroupStatus()
        found = copies.look(tree, place, group.spec.replicas, self._world.members_of(group), self._world.pods_of)
        situation = Situation(
            hash=tree.generation_hash,
            known=held.current_pod_clique_set_generation_hash,
            held=held.update_progress,
            turn=rollout.turn(pcs, place.replica, tree.generation_hash),
            on_delete=on_delete,
            pace=group.spec.rolling_update,
            cliques=len(tree.groups[place.group].clique_names),
        )
        decided = rollout.decide(found, situation, now)
        ending = Termination()
        if not rollout.is_running(decided.progress):
            delay = delays.termination_delay(tree.template)
            ending = termination.decide(found, group.spec.min_available, delay, now)
        return _Seen(
            group=group,
            pcs=pcs,
            tree=tree,
            place=place,
            now=now,
            copies=found,
            rollout=decided,
            termination=ending,
            on_delete=on_delete,
        )

    async def _keep(self, seen: _Seen) -> Outcome:
        if seen.rollout.replace:
            # That it is an update must be known before, whatever becomes of us: it is urgent, or stored already.
            await self._tell(seen, Written())
        written = await self._write(seen)
        wait = await self._tell(seen, written)
        if written.errors:
            raise written.errors[0]
        moments = [self._clock.wall() + datetime.timedelta(seconds=one) for one in (wait, written.again) if one]
        moments += [one for one in (seen.termination.due, seen.rollout.deadline) if one is not None and one > seen.now]
        return RequeueAt(min(moments)) if moments else None

    async def _write(self, seen: _Seen) -> Written:
        """The members: what is missing, what differs, what is not wanted."""
        group, members = seen.group, self._world.members_of(seen.group)
        key = key_of(group.metadata)
        basis = plan.basis(seen.tree, seen.place, group, members)
        if not seen.leaving and self._settled.get(key) == basis:
            return Written()
        reasons = dict.fromkeys(seen.rollout.replace, "it is made anew from the new templates")
        delay = seen.tree.template.termination_delay or "the termination delay"
        reasons |= dict.fromkeys(seen.termination.terminate, f"it was below its minimum for {delay}; it is made anew")
        planned = plan.plan(
            seen.tree,
            seen.place,
            group.spec.replicas,
            members,
            owner=owners.reference(SCALING_GROUPS, group.metadata),
            leaving=reasons.keys(),
            on_delete=seen.on_delete,
        )
        if planned or seen.leaving:
            self._settled.pop(key, None)
        else:
            self._settled[key] = basis
        cliques = len(seen.tree.groups[seen.place.group].clique_names)
        whose = Owners(pcs=seen.pcs.metadata, group=group.metadata, cliques=cliques)
        return await self._members.write(planned, whose, reasons)

    # Status

    async def _tell(self, seen: _Seen, written: Written) -> float:
        """Writes the status if it differs; or else the seconds until it is to be."""
        key = key_of(seen.group.metadata)
        group = self._world.groups.get(key.name, key.namespace)
        if group is None or group.metadata.uid != seen.group.metadata.uid:
            return 0.0
        observation = Observation(
            pcs=seen.tree.name,
            hash=seen.tree.generation_hash,
            generation=seen.group.metadata.generation,
            copies=seen.copies,
            rollout=seen.rollout,
            errors=written.errors,
        )
        wanted = status.status(group, observation, seen.now)
        change = statuses.patch(group.status, wanted)
        if change is None:
            self._pace.forget(key)
            return 0.0
        if not status.is_urgent(group, wanted) and not status.is_up_at_last(group, wanted):
            patience = STEADY if status.was_up(group) else COMING_UP
            wait = self._pace.wait(key, status.gist(wanted), self._clock.monotonic(), patience)
            if wait > 0.0:
                return wait
        await self._store(group, change)
        self._pace.forget(key)
        if status.has_lost_all(group.status, wanted):
            about = regarding(SCALING_GROUPS, group.metadata)
            message = "no copy has its minimum of pods on nodes any more"
            self._recorder.record(about, "Warning", "AllScheduledReplicasLost", message)
        return 0.0

    async def _store(self, group: PodCliqueScalingGroup, change: dict[str, object]) -> None:
        """Guarded: the controller of PodCliqueSets writes one of the conditions, which are sent as a list."""
        try:
            await self._writer.patch(
                SCALING_GROUPS,
                group.metadata,
                change,
                type=PodCliqueScalingGroup,
                subresource="status",
                guarded=True,
            )
        except NotFound:
            return
        except Conflict as error:
            raise _changed(group) from error

    # Deletion

    async def _release(self, group: PodCliqueScalingGroup) -> None:
        """Asks for the deletion of the members, and lets go of the group.

        Nobody waits for them here: whoever makes a group of its name anew waits until their names are free.
        """
        metadata = group.metadata
        if any(not cliquesync.is_going(one) for one in self._world.members_of(group)):
            selected = {labels.MANAGED_BY: labels.MANAGED_BY_VALUE, labels.SCALING_GROUP: metadata.name}
            await self._writer.delete_collection(POD_CLIQUES, metadata.namespace or "", selected)
        if labels.SCALING_GROUP_FINALIZER not in metadata.finalizers:
            return
        kept = [one for one in metadata.finalizers if one != labels.SCALING_GROUP_FINALIZER]
        change = {"metadata": {"finalizers": kept}}
        try:
            await self._writer.patch(SCALING_GROUPS, metadata, change, type=PodCliqueScalingGroup, guarded=True)
        except NotFound:
            return
        except Conflict as error:
            raise _changed(group) from error


def _changed(group: PodCliqueScalingGroup) -> Retry:
    return Retry(f"PodCliqueScalingGroup {group.metadata.name} has changed just now", after=SOON)
