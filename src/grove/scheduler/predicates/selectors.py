"""Which pods the terms of a pod's spec speak of: selectors over labels, and over namespaces. Pure.

A selector is compiled once into requirements and compares by value: terms that ask for the same are one. The API
server has merged matchLabelKeys and mismatchLabelKeys of affinity terms into their selectors when it created the pod.
Those of spread constraints it merges too, unless it is old, so that they are merged here again: kube-scheduler does so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple, TypeAlias

from grove.kube.affinity import LabelSelector, PodTerm, TopologySpreadConstraint
from grove.kube.objects import PodSpec

Labels: TypeAlias = Mapping[str, str]


class Requirement(NamedTuple):
    """One key of a selector."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def holds(self, labels: Labels) -> bool:
        value = labels.get(self.key)
        match self.operator:
            case "In":
                return value is not None and value in self.values
            case "NotIn":
                return value is None or value not in self.values
            case "Exists":
                return value is not None
            case "DoesNotExist":
                return value is None
        return False


Requirements: TypeAlias = tuple[Requirement, ...]
"""All of them hold; empty: everything matches."""


class Selection(NamedTuple):
    """Pods of some namespaces with some labels."""

    labels: Requirements | None
    """None: no pod matches."""
    namespaces: tuple[str, ...] = ()
    spaces: Requirements | None = None
    """Labels of further namespaces; None: there are none, empty: all."""

    def matches(self, namespace: str, labels: Labels, labels_of: Callable[[str], Labels]) -> bool:
        """`labels_of` tells those of a namespace."""
        if self.labels is None:
            return False
        if namespace not in self.namespaces and (self.spaces is None or not meets(self.spaces, labels_of(namespace))):
            return False
        return meets(self.labels, labels)

    @property
    def keys(self) -> Iterator[str]:
        """Of the labels of pods."""
        return (one.key for one in self.labels or ())


Place: TypeAlias = tuple[str, str, str]
"""A namespace, a key and a value, each of them possibly any: empty."""


def filed(selection: Selection) -> Iterator[Place]:
    """The places of an index where a selection is kept, so that each class that may match it finds it once."""
    if selection.labels is None:
        return
    namespaces = ("",) if selection.spaces is not None else selection.namespaces
    anchor = next((one for one in selection.labels if one.operator == "In" and one.values), None)
    for namespace in namespaces:
        if anchor is None:
            yield namespace, "", ""
        else:
            yield from ((namespace, anchor.key, value) for value in anchor.values)


def sought(namespace: str, labels: Labels) -> Iterator[Place]:
    """The places where pods find the selections that may match them."""
    for where in (namespace, ""):
        yield where, "", ""
        yield from ((where, key, value) for key, value in labels.items())


def meets(requirements: Requirements, labels: Labels) -> bool:
    return all(one.holds(labels) for one in requirements)


def compiled(selector: LabelSelector | None) -> Requirements | None:
    """Nothing matches where there is no selector, everything where it is empty."""
    if selector is None:
        return None
    found = {Requirement(key, "In", (value,)) for key, value in (selector.match_labels or {}).items()}
    found |= {Requirement(one.key, one.operator, tuple(sorted(one.values))) for one in selector.match_expressions}
    return tuple(sorted(found))


def of_term(term: PodTerm, namespace: str) -> Selection:
    """The neighbours that a term of a pod in the namespace speaks of."""
    namespaces = tuple(sorted(set(term.namespaces)))
    if not namespaces and term.namespace_selector is None:
        namespaces = (namespace,)
    return Selection(compiled(term.label_selector), namespaces, compiled(term.namespace_selector))


def of_constraint(constraint: TopologySpreadConstraint, namespace: str, labels: Labels) -> Selection:
    """The pods that a spread constraint of a pod with these labels counts."""
    found = compiled(constraint.label_selector)
    if found is not None:
        merged = {Requirement(key, "In", (labels[key],)) for key in constraint.match_label_keys if key in labels}
        found = tuple(sorted({*found, *merged}))
    return Selection(found, (namespace,))


def terms(spec: PodSpec) -> Iterator[PodTerm]:
    """All terms about neighbours."""
    if spec.affinity is None:
        return
    for affinity in (spec.affinity.pod_affinity, spec.affinity.pod_anti_affinity):
        if affinity is not None:
            yield from affinity.required
            yield from (one.pod_affinity_term for one in affinity.preferred)


def spoken(spec: PodSpec) -> frozenset[str]:
    """The keys of pods' labels that a spec asks for: `Classes.speak_of` is told them before any pod is classed."""
    if spec.affinity is None and not spec.topology_spread_constraints:
        return _NONE
    constraints = spec.topology_spread_constraints
    selectors = [*(one.label_selector for one in terms(spec)), *(one.label_selector for one in constraints)]
    keys = {one.key for selector in selectors for one in compiled(selector) or ()}
    return frozenset(keys.union(*(one.match_label_keys for one in constraints)))


_NONE: Final[frozenset[str]] = frozenset()
