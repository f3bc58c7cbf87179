"""The PodClique controller: looks at the pods, plans, does it, and tells what there is.

Made where the process is put together; `sources.py` says when it is called. Nothing is kept between two calls but which
statuses are held back.
"""

from __future__ import annotations

import contextlib
import datetime

from msgspec.structs import replace

from grove.api import labels, statuses
from grove.api.kinds.podclique import PodCliqueStatus
from grove.api.kinds.podcliqueset import PodCliqueSet
from grove.kube.clock import Clock
from grove.kube.errors import NotFound
from grove.kube.events import EventType, Recorder
from grove.kube.objects import PodView
from grove.kube.regarding import regarding
from grove.kube.resources import PODS
from grove.operator import failures, pods
from grove.operator.backends.registry import Backends
from grove.operator.failures import StepError
from grove.operator.places import clique_of
from grove.operator.podclique import gates, plan, podbuild, rollout, status
from grove.operator.podclique.doing import Doing, Template
from grove.operator.podclique.plan import Plan, Wanted
from grove.operator.podclique.podbuild import Blueprint
from grove.operator.podclique.settings import PodSettings
from grove.operator.resources import POD_CLIQUES
from grove.operator.views import PodCliqueView
from grove.operator.world import Key, World
from grove.operator.writer import Writer
from grove.runtime.batches import Momentum
from grove.runtime.outcomes import Outcome, RequeueAfter, Retry
from grove.runtime.pace import Pace


class PodCliqueReconciler:
    """See the top of the module."""

    def __init__(
        self,
        *,
        world: World,
        writer: Writer,
        recorder: Recorder,
        clock: Clock,
        backends: Backends,
        settings: PodSettings,
    ) -> None:
        self._world = world
        self._writer = writer
        self._recorder = recorder
        self._clock = clock
        self._backends = backends
        self._settings = settings
        self._pace: Pace[Key] = Pace()
        self._momentum: Momentum[Template] = Momentum()

    async def __call__(self, key: Key) -> Outcome:
        clique = self._world.cliques.get(key.name, key.namespace)
        if clique is None:
            self._pace.forget(key)
            return None
        if clique.metadata.deletion_timestamp is not None:
            self._pace.forget(key)
            await self._let_go(clique)
            return None
        pcs = self._world.set_of(clique.metadata)
        if pcs is None or pcs.metadata.deletion_timestamp is not None:
            return None  # it is deleted with its set, or by whoever made it
        if labels.POD_CLIQUE_FINALIZER not in clique.metadata.finalizers:
            clique = await self._hold(clique)
        return await self._tend(key, clique, pcs)

    async def _tend(self, key: Key, clique: PodCliqueView, pcs: PodCliqueSet) -> Outcome:
        template_hash = (clique.metadata.labels or {}).get(labels.POD_TEMPLATE_HASH, "")
        strategy = pcs.spec.update_strategy.type if pcs.spec.update_strategy else ""
        generation_hash = (pcs.status.current_generation_hash if pcs.status else None) or ""
        now = self._clock.wall()
        problems: list[StepError | Retry] = []
        planned = plan.NOTHING
        try:
            planned = self._plan(clique, self._world.pods_of(clique), template_hash, strategy, now)
        except StepError as error:
            problems.append(error)
        if planned.outdated:
            clique = await self._begin_update(clique, planned, template_hash, generation_hash, now)
        if not planned.is_empty:
            problems += await self._doing(clique).carry_out(planned, lambda: self._blueprint(clique, pcs))

        found = self._world.pods_of(clique)
        now = self._clock.wall()
        progress = rollout.progress(
            clique.status.update_progress if clique.status else None,
            target=template_hash,
            generation_hash=generation_hash,
            # A pod that was old when the plan was made has begun an update, also where it is replaced by now.
            old=max(len(planned.outdated), len(rollout.outdated(found, template_hash))),
            strategy=strategy,
            is_ready=sum(map(pods.is_ready, filter(pods.is_active, found))) >= status.needed(clique),
            selected=[pod.metadata.name for pod in planned.outdated if pods.is_ready(pod)],
            now=now,
        )
        deadline = rollout.deadline(progress, found, clique.spec.rolling_update)
        errors = [problem for problem in problems if isinstance(problem, StepError)]
        held = clique.status.last_errors if clique.status else ()
        wanted = status.status(
            clique,
            found,
            status.Seen(
                template_hash=template_hash,
                generation_hash=generation_hash,
                is_current=self._is_current(clique, pcs, template_hash, generation_hash),
                progress=progress,
                deadline=deadline,
                selector=status.selector(clique, pcs.metadata.name),
                errors=failures.last_errors(held, errors, now),
                is_synced=not problems,
            ),
            now,
        )
        wait = await self._tell(key, clique, wanted)
        if problems:
            raise (errors or problems)[0]
        moments = [planned.again, deadline if deadline is not None and deadline > now else None]
        waits = [max(0.0, (moment - now).total_seconds()) for moment in moments if moment is not None]
        waits += [wait] if wait else []
        return RequeueAfter(min(waits)) if waits else None

    async def _begin_update(
        self, clique: PodCliqueView, planned: Plan, template_hash: str, generation_hash: str, now: datetime.datetime
    ) -> PodCliqueView:
        """Stores that an update has begun before it takes the first pod away: who is killed after that does not know
        any more that there was an old one."""
        held = clique.status or PodCliqueStatus()
        progress = rollout.progress(
            held.update_progress,
            target=template_hash,
            generation_hash=generation_hash,
            old=len(planned.outdated),
            strategy="",
            is_ready=False,
            selected=(),
            now=now,
        )
        change = statuses.patch(held, replace(held, update_progress=progress))
        if change is None:
            return clique
        return await self._writer.patch(POD_CLIQUES, clique.metadata, change, type=PodCliqueView, subresource="status")

    # What is to be done

    def _plan(
        self,
        clique: PodCliqueView,
        found: tuple[PodView, ...],
        template_hash: str,
        strategy: str,
        now: datetime.datetime,
    ) -> Plan:
        metadata = clique.metadata
        gang = (metadata.labels or {}).get(labels.POD_GANG, "")
        if not gang:
            raise StepError(
                "ERR_MISSING_PODGANG_LABEL_ON_PODCLIQUE",
                f"PodClique {metadata.namespace}/{metadata.name} has no label {labels.POD_GANG}: "
                "its pods would belong to no gang; delete the PodClique, and it is made anew",
            )
        progress = clique.status.update_progress if clique.status else None
        wanted = Wanted(
            clique=metadata.name,
            uid=metadata.uid or "",
            gang=gang,
            replicas=clique.spec.replicas,
            template_hash=template_hash,
            max_unavailable=rollout.budget(clique.spec.rolling_update),
            spared=rollout.spared_until(progress, template_hash, strategy),
        )
        return plan.plan(wanted, found, released=self._released(clique, gang, found), now=now)

    def _released(self, clique: PodCliqueView, gang: str, found: tuple[PodView, ...]) -> frozenset[str]:
        """The held pods that may go. Asked only where some are held: it looks at the whole base gang."""
        if not any(map(pods.has_our_gate, found)):
            return frozenset()
        namespace = clique.metadata.namespace or ""
        names = gates.released(self._world.gangs.get(gang, namespace), clique.metadata.name)
        base = (clique.metadata.labels or {}).get(labels.BASE_POD_GANG)
        if not names or base is None:
            return names
        is_scheduled = gates.is_scheduled(
            self._world.gangs.get(base, namespace), lambda name: self._scheduled(namespace, name)
        )
        return names if is_scheduled else frozenset()

    def _scheduled(self, namespace: str, clique: str) -> int:
        held = self._world.cliques.get(clique, namespace)
        return 0 if held is None else pods.count(self._world.pods_of(held)).scheduled

    def _blueprint(self, clique: PodCliqueView, pcs: PodCliqueSet) -> Blueprint:
        tree = self._world.tree(pcs)
        place = clique_of(tree, clique.metadata)
        if place is None:
            raise StepError(
                "ERR_GET_PODCLIQUE_TEMPLATE",
                f"PodClique {clique.metadata.namespace}/{clique.metadata.name} has no place in PodCliqueSet "
                f"{pcs.metadata.name}: its labels were changed, or its template is gone; delete the PodClique",
            )
        backend = self._backends.of_template(pcs.spec.template)
        return podbuild.blueprint(tree, place, clique, backend=backend, settings=self._settings)

    def _is_current(self, clique: PodCliqueView, pcs: PodCliqueSet, template_hash: str, generation_hash: str) -> bool:
        """Whether the PodClique has its set's newest template."""
        known = clique.status
        if (
            known is not None
            and known.current_pod_template_hash == template_hash
            and known.current_pod_clique_set_generation_hash == generation_hash
        ):
            return True
        if not generation_hash:
            return False
        tree = self._world.tree(pcs)
        place = clique_of(tree, clique.metadata)
        return place is not None and tree.template_hashes[place.clique] == template_hash

    def _doing(self, clique: PodCliqueView) -> Doing:
        return Doing(
            clique=clique,
            writer=self._writer,
            say=lambda type, reason, message: self._say(clique, type, reason, message),
            momentum=self._momentum,
            is_first_fill=status.held_phase(clique) in status.BEFORE,
        )

    # Writing of the PodClique itself

    async def _tell(self, key: Key, clique: PodCliqueView, wanted: PodCliqueStatus) -> float:
        """Writes the status if it differs and need not be held back; the seconds until it is to be tried again."""
        held = clique.status
        if wanted == held or (change := statuses.patch(held, wanted)) is None:
            self._pace.forget(key)
            return 0.0
        if (patience := status.patience(clique, wanted, self._world.pods_of(clique))) is not None:
            wait = self._pace.wait(key, status.without_times(wanted), self._clock.monotonic(), patience)
            if wait > 0.0:
                return wait
        with contextlib.suppress(NotFound):  # it is gone, and so is what was to be told
            await self._writer.patch(POD_CLIQUES, clique.metadata, change, type=PodCliqueView, subresource="status")
        self._pace.forget(key)
        if held is not None and status.has_lost_all(held, wanted) and clique.spec.replicas:
            self._say(clique, "Warning", "AllScheduledReplicasLost", "no pod has a node any more")
        return 0.0

    async def _hold(self, clique: PodCliqueView) -> PodCliqueView:
        finalizers = [*clique.metadata.finalizers, labels.POD_CLIQUE_FINALIZER]
        change = {"metadata": {"finalizers": finalizers}}
        return await self._writer.patch(POD_CLIQUES, clique.metadata, change, type=PodCliqueView, guarded=True)

    async def _let_go(self, clique: PodCliqueView) -> None:
        """Asks for the deletion of its pods, and lets the PodClique go: what remains of them, nobody must wait for."""
        metadata = clique.metadata
        if labels.POD_CLIQUE_FINALIZER not in metadata.finalizers:
            return
        if not all(map(pods.is_terminating, self._world.pods_of(clique))):
            chosen = {labels.MANAGED_BY: labels.MANAGED_BY_VALUE, labels.POD_CLIQUE: metadata.name}
            await self._writer.delete_collection(PODS, metadata.namespace or "", chosen)
        finalizers = [one for one in metadata.finalizers if one != labels.POD_CLIQUE_FINALIZER]
        change = {"metadata": {"finalizers": finalizers}}
        with contextlib.suppress(NotFound):
            if finalizers:  # others hold it for longer: worth a word
                told = {"status": {"phase": status.TERMINATING}}
                held = await self._writer.patch(POD_CLIQUES, metadata, told, type=PodCliqueView, subresource="status")
                metadata = held.metadata
            await self._writer.patch(POD_CLIQUES, metadata, change, type=PodCliqueView, guarded=True)

    def _say(self, clique: PodCliqueView, type: EventType, reason: str, message: str) -> None:
        self._recorder.record(regarding(POD_CLIQUES, clique.metadata), type, reason, message)
