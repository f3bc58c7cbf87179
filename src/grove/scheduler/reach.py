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

_MOST_KNOWN: Final = 4096


class Reach:
    """Which slots a node selector means; remembered while no node changes."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._labels = Labels(cluster)
        self._known: dict[NodeSelector, Slots] = {}
        self._position = -1

    def mask(self, selector: NodeSelector, slots: Slots) -> Mask:
        """For each of the slots whether the selector means it."""
        found = np.zeros(len(slots), np.bool_)
        for term in selector.node_selector_terms:
            found |= self._labels.matching(term, slots)
        return found

    def slots(self, selector: NodeSelector) -> Slots:
        """All slots that it means."""
        now = self._cluster.reshaped.position
        if self._position != now or len(self._known) >= _MOST_KNOWN:
            self._known.clear()
            self._position = now
        found = self._known.get(selector)
        if found is None:
            size = self._cluster.size
            mask = self.mask(selector, np.arange(size)) & self._cluster.alive[:size]
            found = self._known[selector] = np.flatnonzero(mask)
        return found

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
