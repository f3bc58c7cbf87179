"""Carries out a plan for the pods of a PodClique: what goes, what comes, what is let go. Called by `reconcile.py`.

Each step is written in growing batches. One that fails ends those that build on it: no pod is made in the place of one
that could not be deleted.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TypeVar

import msgspec

from grove.api import labels
from grove.api.fields import JSON
from grove.kube.errors import NotFound
from grove.kube.events import EventType
from grove.kube.fence import NotLeaderError
from grove.kube.objects import PodView
from grove.kube.resources import PODS
from grove.operator.failures import StepError
from grove.operator.podclique import podbuild
from grove.operator.podclique.plan import NewPod, Plan
from grove.operator.podclique.podbuild import Blueprint
from grove.operator.views import PodCliqueView
from grove.operator.writer import Writer
from grove.runtime.batches import BatchOutcome, Momentum, write_in_batches
from grove.runtime.outcomes import Retry

Item = TypeVar("Item", NewPod, PodView)
Result = TypeVar("Result")
Say = Callable[[EventType, str, str], None]
"""Records an event on the PodClique: its type, reason and message."""

Template = tuple[str, str, str]
"""Namespace, set and hash: pods of one template are all taken or all refused."""

NAMED = 5
"""How many pods an event names."""


class Doing(msgspec.Struct, frozen=True, kw_only=True):
    """One plan of one PodClique."""

    clique: PodCliqueView
    writer: Writer
    say: Say
    momentum: Momentum[Template]
    is_first_fill: bool
    """The pods that a new PodClique starts with are no news."""

    async def carry_out(self, plan: Plan, blueprint: Callable[[], Blueprint]) -> list[StepError | Retry]:
        """What went wrong. That a leader's term is over is raised."""
        problems: list[StepError | Retry] = []
        for step in (partial(self._let_go, plan), partial(self._replace, plan, blueprint)):
            try:
                await step()
            except (StepError, Retry) as error:
                problems.append(error)
        return problems

    async def _let_go(self, plan: Plan) -> None:
        await self._each(plan.relabel, self._relabel, "ERR_SYNC_PODCLIQUE", "pod {} could not be given its gang's name")
        await self._each(
            plan.ungate, self._ungate, "ERR_REMOVE_POD_SCHEDULING_GATE", "the gate of pod {} could not be removed"
        )

    async def _replace(self, plan: Plan, blueprint: Callable[[], Blueprint]) -> None:
        await self._delete(plan.duplicates, "older pods have their index")
        await self._delete(plan.surplus, "scaled in")
        await self._delete(plan.outdated, "of an older template")
        await self._create(plan.create, blueprint)
        await self._delete(plan.lost, "they had ended")

    async def _create(self, wanted: Sequence[NewPod], blueprint: Callable[[], Blueprint]) -> None:
        if not wanted:
            return
        common = blueprint()

        async def make(new: NewPod) -> PodView:
            body = podbuild.pod(common, new)
            return await self.writer.create(PODS, body, self.clique.metadata, type=PodView)

        outcome = await self.momentum.write(self._template(), wanted, make)
        try:
            made = _done(outcome, "ERR_CREATE_POD", "pod {} could not be made")
        except StepError as error:
            self.say("Warning", "PodCreateFailed", str(error.__cause__))
            raise
        if made and not self.is_first_fill:
            self.say("Normal", "PodCreateSuccessful", f"created {listed([one.name for one in made])}")

    async def _delete(self, pods: Sequence[PodView], why: str) -> None:
        async def delete(pod: PodView) -> bool:
            return await self.writer.delete(PODS, pod.metadata)

        try:
            gone = await self._each(pods, delete, "ERR_DELETE_POD", "pod {} could not be deleted")
        except StepError as error:
            self.say("Warning", "PodDeleteFailed", str(error.__cause__))
            raise
        if gone:
            self.say("Normal", "PodDeleteSuccessful", f"deleted {listed([one.metadata.name for one in gone])} ({why})")

    async def _relabel(self, pod: PodView) -> bool:
        wanted = self.clique.metadata.labels or {}
        change = {key: wanted.get(key) for key in (labels.POD_GANG, labels.BASE_POD_GANG)}
        return await self._patch(pod, {"metadata": {"labels": change}})

    async def _ungate(self, pod: PodView) -> bool:
        gates = [{"$patch": "delete", "name": labels.SCHEDULING_GATE}]
        return await self._patch(pod, {"spec": {"schedulingGates": gates}})

    async def _patch(self, pod: PodView, change: JSON) -> bool:
        """Whether there was anything to patch. A pod that has taken the name since is refused, by its uid."""
        metadata = {**change.get("metadata", {}), "uid": pod.metadata.uid}
        try:
            await self.writer.patch(
                PODS, pod.metadata, {**change, "metadata": metadata}, type=PodView, form="strategic"
            )
        except NotFound:
            return False  # somebody deleted it, and the watch will say so
        return True

    def _template(self) -> Template:
        found = self.clique.metadata.labels or {}
        namespace = self.clique.metadata.namespace or ""
        return namespace, found.get(labels.PART_OF, ""), found.get(labels.POD_TEMPLATE_HASH, "")

    async def _each(
        self, items: Sequence[Item], write: Callable[[Item], Awaitable[object]], code: str, what: str
    ) -> list[Item]:
        """The items for which something was really written."""
        return _done(await write_in_batches(items, write), code, what) if items else []


def _done(outcome: BatchOutcome[Item, Result], code: str, what: str) -> list[Item]:
    """The items for which something was really written; raises the worst of what failed."""
    if outcome.failed:
        item, error = _worst(outcome.failed)
        if isinstance(error, NotLeaderError | Retry):
            raise error
        raise StepError(code, what.format(_name(item)), cause=error) from error
    return [item for item, result in outcome.written if result is not False]


def listed(names: Sequence[str]) -> str:
    """Some pods by name: an event is for people."""
    shown = ", ".join(names[:NAMED])
    rest = len(names) - NAMED
    return f"{len(names)} pod{'s' if len(names) != 1 else ''}: {shown}" + (f" and {rest} more" if rest > 0 else "")


def _worst(failed: Sequence[tuple[Item, Exception]]) -> tuple[Item, Exception]:
    """The end of a leader's term comes before all else; that something must be waited for, after all else."""
    return min(failed, key=lambda one: (not isinstance(one[1], NotLeaderError), isinstance(one[1], Retry)))


def _name(item: NewPod | PodView) -> str:
    return item.name if isinstance(item, NewPod) else item.metadata.name
