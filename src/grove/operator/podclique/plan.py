"""What is to be done about the pods of a PodClique now, and when to look again. Pure.

    pods wanted = spec.replicas active ones, each with an index of its own

Pods on their way out never count. A pod that is over is replaced by one with its index; it stays until its successor is
there, because it is what remembers how often that happened. What is deleted here is replaced when the next plan is
made, in which it does not count any more.
"""

from __future__ import annotations

import datetime
from collections.abc import Collection, Iterable, Sequence

import msgspec

from grove.api import labels
from grove.kube.objects import PodView
from grove.operator import pods as of
from grove.operator.podclique import naming, order, replacement, rollout


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What is wanted of a PodClique's pods."""

    clique: str
    uid: str
    gang: str
    replicas: int
    template_hash: str
    max_unavailable: int = 1
    spared: str | None = None
    """Old pods created until then are not replaced."""


class NewPod(msgspec.Struct, frozen=True, kw_only=True):
    """A pod to be made."""

    name: str
    index: int
    replacements: int = 0


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """See the top of the module. What is to go goes before anything is made, only `lost` after that."""

    surplus: tuple[PodView, ...] = ()
    """More than wanted."""
    duplicates: tuple[PodView, ...] = ()
    """With an index that an older one has."""
    outdated: tuple[PodView, ...] = ()
    """Of an older template."""
    create: tuple[NewPod, ...] = ()
    lost: tuple[PodView, ...] = ()
    """Over, and replaced or not needed."""
    ungate: tuple[PodView, ...] = ()
    relabel: tuple[PodView, ...] = ()
    """That name another gang as theirs."""
    again: datetime.datetime | None = None
    """When a pod that is over is to be replaced; None: nothing waits."""

    @property
    def is_empty(self) -> bool:
        return not (self.surplus or self.duplicates or self.outdated or self.create or self.lost or self.ungate) and (
            not self.relabel
        )


NOTHING = Plan()


def plan(wanted: Wanted, pods: Sequence[PodView], *, released: Collection[str], now: datetime.datetime) -> Plan:
    """`released`: names of the pods that our gate need not hold any more."""
    kept, duplicates = _by_index(filter(of.is_active, pods))
    surplus: list[PodView] = []
    if (excess := len(kept) - wanted.replicas) > 0:
        surplus = order.first_to_go(kept, wanted.template_hash)[:excess]
        going = {pod.metadata.name for pod in surplus}
        kept = [pod for pod in kept if pod.metadata.name not in going]
    outdated = rollout.to_replace(
        kept,
        target=wanted.template_hash,
        replicas=wanted.replicas,
        max_unavailable=wanted.max_unavailable,
        spared=wanted.spared,
    )
    create, lost, again = _replaced(wanted, pods, kept, now)
    going = {pod.metadata.name for pod in outdated}
    staying = [pod for pod in kept if pod.metadata.name not in going] if going else kept
    return Plan(
        surplus=tuple(surplus),
        duplicates=tuple(duplicates),
        outdated=tuple(outdated),
        create=create,
        lost=lost,
        ungate=tuple(pod for pod in staying if of.has_our_gate(pod) and pod.metadata.name in released),
        relabel=tuple(pod for pod in staying if _gang(pod) != wanted.gang),
        again=again,
    )


def _by_index(active: Iterable[PodView]) -> tuple[list[PodView], list[PodView]]:
    """The pods, and those of them that have an index which an older one has."""
    found = list(active)
    indices = [index for pod in found if (index := of.index_of(pod)) is not None]
    if len(set(indices)) == len(indices):
        return found, []
    kept, duplicates = [], []
    seen: set[int] = set()
    for pod in sorted(found, key=_seniority):
        index = of.index_of(pod)
        if index in seen:
            duplicates.append(pod)
            continue
        if index is not None:
            seen.add(index)
        kept.append(pod)
    return kept, duplicates


def _replaced(
    wanted: Wanted, pods: Sequence[PodView], kept: Sequence[PodView], now: datetime.datetime
) -> tuple[tuple[NewPod, ...], tuple[PodView, ...], datetime.datetime | None]:
    """The pods to be made, those that are over and may go, and when the next of the others is to be replaced."""
    missing = max(0, wanted.replicas - len(kept))
    lost = [pod for pod in pods if of.is_lost(pod)]
    if not missing:
        return (), tuple(lost), None
    taken = {index for pod in kept if (index := of.index_of(pod)) is not None}
    predecessors = {
        index: pod
        for pod in sorted(lost, key=_seniority)
        if (index := of.index_of(pod)) is not None and index not in taken
    }
    waiting = sorted(
        (at, index) for index, pod in predecessors.items() if (at := _due(pod, wanted.template_hash)) and at > now
    )[:missing]
    held = {index for _, index in waiting}
    due = sorted(predecessors.keys() - held)
    indices = due[: missing - len(held)]
    free = naming.free_indices(taken | held | set(indices))
    indices += [next(free) for _ in range(missing - len(held) - len(indices))]
    staying = {predecessors[index].metadata.name for index in held}
    gone = tuple(pod for pod in lost if pod.metadata.name not in staying)
    return _named(wanted, pods, indices, predecessors), gone, waiting[0][0] if waiting else None


def _named(
    wanted: Wanted, pods: Sequence[PodView], indices: Iterable[int], predecessors: dict[int, PodView]
) -> tuple[NewPod, ...]:
    names = {pod.metadata.name for pod in pods}
    made = []
    for index in indices:
        name = naming.pod_name(wanted.clique, wanted.uid, index, wanted.template_hash, names)
        names.add(name)
        before = predecessors.get(index)
        again = before is not None and of.template_hash(before) == wanted.template_hash
        replacements = replacement.successors_count(before) if before is not None and again else 0
        made.append(NewPod(name=name, index=index, replacements=replacements))
    return tuple(made)


def _due(pod: PodView, target: str) -> datetime.datetime | None:
    """What another template made says nothing of the one that comes."""
    return replacement.due(pod) if of.template_hash(pod) == target else None


def _seniority(pod: PodView) -> tuple[str, str]:
    return (pod.metadata.creation_timestamp or "", pod.metadata.name)


def _gang(pod: PodView) -> str:
    return (pod.metadata.labels or {}).get(labels.POD_GANG, "")
