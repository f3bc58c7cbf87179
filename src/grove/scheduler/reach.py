"""Where storage and devices can be used from: node selectors, label selectors and topologies over nodes. Pure."""

from __future__ import annotations

from typing import Final

import numpy as np

from grove.kube import nodechoice
from grove.kube.affinity import LabelSelector, NodeSelector, NodeSelectorTerm, Requirement
from grove.kube.objects import NodeView
from grove.scheduler.cluster import Cluster
from grove.scheduler.predicates.nodeselection import Labels
from grove.scheduler.predicates.rule import Mask, Slots
from grove.scheduler.storage import TopologyTerm

_MOST_KNOWN: Final = 65_536
_NONE: Final[Slots] = np.zeros(0, np.int64)


class Reach:
    """Which slots a node selector means; remembered while no node changes."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._labels = Labels(cluster)
        self._known: dict[NodeSelector, Slots] = {}
        self._having: dict[str, dict[str, Slots]] = {}
        self._position = -1

    def mask(self, selector: NodeSelector, slots: Slots) -> Mask:
        """For each of the slots whether the selector means it."""
        found = np.zeros(len(slots), np.bool_)
        for term in selector.node_selector_terms:
            found |= self._labels.matching(term, slots)
        return found

    def slots(self, selector: NodeSelector) -> Slots:
        """All slots that it means. Quick where they are few: volumes of single nodes are as many as nodes."""
        now = self._cluster.reshaped.position
        if self._position != now or len(self._known) >= _MOST_KNOWN:
            self._known.clear()
            self._having.clear()
            self._position = now
        found = self._known.get(selector)
        if found is None:
            parts = [self._slots_of(term) for term in selector.node_selector_terms]
            found = parts[0] if len(parts) == 1 else np.unique(np.concatenate([*parts, _NONE]))
            self._known[selector] = found
        return found

    def _slots_of(self, term: NodeSelectorTerm) -> Slots:
        for one in term.match_expressions:
            if one.operator == "In":
                having = self._values(one.key)
                parts = [having[value] for value in dict.fromkeys(one.values) if value in having]
                found = parts[0] if len(parts) == 1 else np.sort(np.concatenate([*parts, _NONE]))
                is_all = len(term.match_expressions) == 1 and not term.match_fields
                return found if is_all else found[self._labels.matching(term, found)]
        slots = np.flatnonzero(self._cluster.alive[: self._cluster.size])
        return slots[self._labels.matching(term, slots)]

    def _values(self, key: str) -> dict[str, Slots]:
        """By value of a label the slots that have it."""
        known = self._having.get(key)
        if known is None:
            column = self._cluster.column(key)
            codes = column.codes[: self._cluster.size]
            order = np.argsort(codes, kind="stable")
            edges = np.flatnonzero(np.diff(codes[order])) + 1
            groups = np.split(order, edges)
            known = self._having[key] = {
                column.values[codes[group[0]]]: group for group in groups if len(group) and codes[group[0]]
            }
        return known

    def reaches(self, selector: NodeSelector | None, slot: int) -> bool:
        """Whether it means one slot; None means all."""
        view = self._cluster.views[slot]
        return view is not None and reaches(selector, view)


def reaches(selector: NodeSelector | None, node: NodeView) -> bool:
    """Whether a selector means a node; None means all."""
    if selector is None:
        return True
    name, labels = node.metadata.name, node.metadata.labels or {}
    return any(nodechoice.matches(term, name, labels) for term in selector.node_selector_terms)


def requirements(selector: LabelSelector) -> tuple[Requirement, ...]:
    """What a label selector asks for, one by one; none: it matches everything."""
    exact = [
        Requirement(key=key, operator="In", values=(value,)) for key, value in (selector.match_labels or {}).items()
    ]
    return (*sorted(exact, key=lambda one: one.key), *selector.match_expressions)


def by_labels(selector: LabelSelector) -> NodeSelector | None:
    """The nodes whose labels a selector matches; None: all."""
    wanted = requirements(selector)
    return NodeSelector(node_selector_terms=(NodeSelectorTerm(match_expressions=wanted),)) if wanted else None


def by_topology(terms: tuple[TopologyTerm, ...]) -> NodeSelector | None:
    """The nodes that the topologies of a storage class allow; None: all."""
    if not terms:
        return None
    return NodeSelector(
        node_selector_terms=tuple(
            NodeSelectorTerm(
                match_expressions=tuple(
                    Requirement(key=one.key, operator="In", values=one.values) for one in term.match_label_expressions
                )
            )
            for term in terms
        )
    )


def named(node: str) -> NodeSelector:
    """One node."""
    wanted = Requirement(key=nodechoice.NAME, operator="In", values=(node,))
    return NodeSelector(node_selector_terms=(NodeSelectorTerm(match_fields=(wanted,)),))
