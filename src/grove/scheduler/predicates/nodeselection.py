"""NodeSelector and NodeAffinity: the labels and the name that a node must have, and those that would be nice. Pure.

Each requirement is looked at once for every value that its label has anywhere, not for every node.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np

from grove.kube import nodechoice
from grove.kube.affinity import NodeSelectorTerm, PreferredNode, Requirement
from grove.kube.objects import PodSpec
from grove.scheduler.classes import PodClass
from grove.scheduler.cluster import Cluster
from grove.scheduler.columns import Column
from grove.scheduler.predicates.rule import Counts, Lenient, Mask, Slots

TASTE: Final = 200
"""The most that preferences count: the weight that kube-scheduler gives them."""
_NO_LISTED_VALUE: Final = "\0"
_MOST_KNOWN: Final = 1024


class NodeSelection(Lenient):
    """What `nodeSelector` and `affinity.nodeAffinity` say."""

    name = "NodeSelection"

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._labels = Labels(cluster)
        self._penalties: dict[PodClass, tuple[int, Counts]] = {}

    def is_static(self, cls: PodClass) -> bool:
        return bool(cls.spec.node_selector) or _required(cls.spec) is not None

    def static(self, cls: PodClass, slots: Slots) -> Mask | None:
        found = self._labels.having(cls.spec.node_selector or {}, slots)
        terms = _required(cls.spec)
        if terms is None:
            return found
        any_of = np.zeros(len(slots), np.bool_)
        for term in terms:
            any_of |= self._labels.matching(term, slots)
        return any_of if found is None else found & any_of

    def penalty(self, cls: PodClass) -> Counts | None:
        terms = _preferred(cls.spec)
        if not terms:
            return None
        now = self._cluster.reshaped.position
        known = self._penalties.get(cls)
        if known is None or known[0] != now:
            if len(self._penalties) >= _MOST_KNOWN:
                self._penalties.clear()
            known = self._penalties[cls] = (now, self._missed(terms))
        return known[1]

    def _missed(self, terms: tuple[PreferredNode, ...]) -> Counts:
        slots = np.arange(self._cluster.size)
        missed = np.zeros(len(slots), np.int64)
        for one in terms:
            missed += np.where(self._labels.matching(one.preference, slots), 0, one.weight)
        return missed * TASTE // max(1, sum(one.weight for one in terms))

    def explain(self, cls: PodClass, slot: int) -> str:
        view = self._cluster.views[slot]
        if view is None:
            return ""
        labels = view.metadata.labels or {}
        for key, value in (cls.spec.node_selector or {}).items():
            if labels.get(key) != value:
                return f"label {key}={value} is asked for by nodeSelector"
        if nodechoice.wants(None, cls.spec.affinity, name=view.metadata.name, labels=labels):
            return ""
        return f"node affinity asks for {_told(_required(cls.spec) or ())}"


class Labels:
    """Which nodes have certain labels."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._numeric: dict[Requirement, Mask] = {}

    def having(self, labels: Mapping[str, str], slots: Slots) -> Mask | None:
        """Those with all of these labels; None: all."""
        found: Mask | None = None
        for key, value in labels.items():
            column = self._cluster.column(key)
            mask = column.codes[slots] == column.find(value)
            found = mask if found is None else found & mask
        return found

    def matching(self, term: NodeSelectorTerm, slots: Slots) -> Mask:
        """Those of which all holds that the term says; of an empty one, none."""
        found: Mask | None = None
        for mask in self._masks(term, slots):
            found = mask if found is None else found & mask
        return np.zeros(len(slots), np.bool_) if found is None else found

    def _masks(self, term: NodeSelectorTerm, slots: Slots) -> Iterator[Mask]:
        for one in term.match_expressions:
            column = self._cluster.column(one.key)
            yield self._table(one, column)[column.codes[slots]]
        for one in term.match_fields:
            yield self._named(one, slots)

    def _table(self, requirement: Requirement, column: Column) -> Mask:
        """By code of a value whether the requirement holds."""
        if requirement.operator in ("Gt", "Lt"):
            return self._compared(requirement, column)
        # All values that the requirement does not list are alike to it.
        table = np.full(len(column.values), nodechoice.holds(requirement, _NO_LISTED_VALUE))
        table[0] = nodechoice.holds(requirement, None)
        for value in requirement.values:
            if (code := column.find(value)) > 0:
                table[code] = nodechoice.holds(requirement, value)
        return table

    def _compared(self, requirement: Requirement, column: Column) -> Mask:
        known = self._numeric.get(requirement)
        if known is None:
            if len(self._numeric) >= _MOST_KNOWN:
                self._numeric.clear()
            known = np.array([nodechoice.holds(requirement, None)])
        if len(known) < len(column.values):
            more = [nodechoice.holds(requirement, value) for value in column.values[len(known) :]]
            known = self._numeric[requirement] = np.concatenate([known, np.array(more, np.bool_)])
        return known

    def _named(self, requirement: Requirement, slots: Slots) -> Mask:
        is_name = requirement.key == nodechoice.NAME
        table = np.full(self._cluster.size, nodechoice.holds(requirement, _NO_LISTED_VALUE if is_name else None))
        for value in requirement.values if is_name else ():
            slot = self._cluster.slot_of.get(value)
            if slot is not None:
                table[slot] = nodechoice.holds(requirement, value)
        return table[slots]


def _required(spec: PodSpec) -> tuple[NodeSelectorTerm, ...] | None:
    affinity = spec.affinity and spec.affinity.node_affinity
    return affinity.required.node_selector_terms if affinity and affinity.required else None


def _preferred(spec: PodSpec) -> tuple[PreferredNode, ...]:
    affinity = spec.affinity and spec.affinity.node_affinity
    return affinity.preferred if affinity else ()


def _told(terms: tuple[NodeSelectorTerm, ...]) -> str:
    return " or ".join(
        " and ".join(_said(one) for one in (*term.match_expressions, *term.match_fields)) or "nothing" for term in terms
    )


def _said(requirement: Requirement) -> str:
    return " ".join([requirement.key, requirement.operator, ",".join(requirement.values)]).rstrip()
