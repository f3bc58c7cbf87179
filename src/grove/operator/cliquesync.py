"""What must be written so that the PodCliques of an owner are as the tree says. Pure.

PodCliqueSets (for what stands outside scaling groups) and scaling groups (for their members) ask it. A PodClique is
told by its name and its owner, so that labels which somebody took away are put back. What is neither Grove's nor the
template's is never touched. A PodClique that is being deleted still holds its name: nothing is planned for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

import msgspec

from grove.api import codec, hashes, labels, statuses
from grove.api.fields import JSON, Struct
from grove.operator import views
from grove.operator.resources import POD_CLIQUES
from grove.operator.tree import TEMPLATE_REPLICAS, CliquePlace, Tree, least
from grove.operator.views import PodCliqueView

TEMPLATE_KEYS: Final = "grove.io/template-keys"
"""Annotation of PodCliques: the labels and annotations that the template gave, so that they go when it drops them."""

BOOKKEEPING: Final = frozenset({TEMPLATE_REPLICAS, TEMPLATE_KEYS})
"""Annotations of PodCliques that their pods do not carry."""


class Create(msgspec.Struct, frozen=True):
    """A PodClique that is missing."""

    place: CliquePlace
    body: JSON


class Patch(msgspec.Struct, frozen=True):
    """A PodClique that differs."""

    place: CliquePlace
    held: PodCliqueView
    change: JSON
    """A merge patch of the fields that differ."""
    guarded: bool = False
    """Whether it is for this very version only: finalizers are a list, which somebody else may have added to."""


class Plan(msgspec.Struct, frozen=True):
    """What must be written; nothing if all is as it should be."""

    creates: tuple[Create, ...] = ()
    patches: tuple[Patch, ...] = ()
    deletes: tuple[PodCliqueView, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.creates or self.patches or self.deletes)


def plan(
    tree: Tree,
    wanted: Iterable[CliquePlace],
    existing: Iterable[PodCliqueView],
    *,
    owner: JSON,
    may_follow_template: Callable[[CliquePlace], bool],
) -> Plan:
    """`existing` are all PodCliques that the owner controls, `owner` is its entry in `ownerReferences`.

    `may_follow_template` tells whether a PodClique of another template may have the new one now, by which its pods
    become old ones. Until then its pod spec, its hash, and what the template gave it stay as they are.
    """
    held = {one.metadata.name: one for one in existing}
    shape = _Shape(tree, owner)
    creates, patches = [], []
    for place in wanted:
        found = held.pop(tree.clique_name(place), None)
        if found is None:
            creates.append(Create(place, shape.body(place)))
        elif not is_going(found):
            follows = follows_template(tree, place, found) or may_follow_template(place)
            if (patch := shape.patch(place, found, follows)) is not None:
                patches.append(patch)
    deletes = tuple(one for one in held.values() if not is_going(one))
    return Plan(tuple(creates), tuple(patches), deletes)


def is_going(view: PodCliqueView) -> bool:
    """Whether a PodClique is being deleted."""
    return view.metadata.deletion_timestamp is not None


def follows_template(tree: Tree, place: CliquePlace, view: PodCliqueView) -> bool:
    """Whether a PodClique has the template that its set has now."""
    return (view.metadata.labels or {}).get(labels.POD_TEMPLATE_HASH) == tree.template_hashes[place.clique]


def replicas(held: int, told: str | None, template: int, *, has_autoscaler: bool) -> int:
    """The replicas that an object is to have, by what it has, was last told, and would be told now.

    A change of the template reaches what nobody scaled. What was scaled, and what an autoscaler scales, keeps its own.
    """
    untouched = told == str(held) and not has_autoscaler
    return template if untouched else held


class _Shape:
    """What PodCliques are to look like; what all copies of a clique have in common is worked out once."""

    def __init__(self, tree: Tree, owner: JSON) -> None:
        self._tree = tree
        self._owner = owner
        self._fingerprints: dict[str, str] = {}
        self._keys: dict[str, str] = {}

    def body(self, place: CliquePlace) -> JSON:
        tree = self._tree
        return {
            "apiVersion": POD_CLIQUES.api_version,
            "kind": POD_CLIQUES.kind,
            "metadata": {
                "name": tree.clique_name(place),
                "namespace": tree.namespace,
                "labels": tree.clique_labels(place),
                "annotations": self._annotations(place),
                "finalizers": [labels.POD_CLIQUE_FINALIZER],
                "ownerReferences": [self._owner],
            },
            "spec": tree.clique_spec(place),
        }

    def patch(self, place: CliquePlace, held: PodCliqueView, follows: bool) -> Patch | None:
        metadata = self._metadata(place, held, follows)
        lacks_finalizer = labels.POD_CLIQUE_FINALIZER not in held.metadata.finalizers
        if lacks_finalizer:
            metadata["finalizers"] = [*held.metadata.finalizers, labels.POD_CLIQUE_FINALIZER]
        spec = self._spec(place, held, follows)
        change = {key: part for key, part in (("metadata", metadata), ("spec", spec)) if part}
        return Patch(place, held, change, guarded=lacks_finalizer) if change else None

    # Metadata

    def _annotations(self, place: CliquePlace) -> dict[str, str]:
        found = self._tree.clique_annotations(place)
        keys = self._template_keys(place.clique)
        return {**found, TEMPLATE_KEYS: keys} if keys else found

    def _template_keys(self, clique: str) -> str:
        """The text of the annotation; empty where the template gives none."""
        if clique not in self._keys:
            template = self._tree.cliques[clique]
            both = {"labels": template.labels, "annotations": template.annotations}
            given = {field: sorted(keys) for field, keys in both.items() if keys}
            self._keys[clique] = msgspec.json.encode(given).decode() if given else ""
        return self._keys[clique]

    def _metadata(self, place: CliquePlace, held: PodCliqueView, follows: bool) -> JSON:
        template = self._tree.cliques[place.clique]
        had = _template_keys_of(held)
        if had:
            had["annotations"] = [*had.get("annotations", ()), TEMPLATE_KEYS]
        found: JSON = {}
        for field, wanted, given, live in (
            ("labels", self._tree.clique_labels(place), template.labels, held.metadata.labels),
            ("annotations", self._annotations(place), template.annotations, held.metadata.annotations),
        ):
            live, given = live or {}, given or {}
            if not follows:
                wanted = {key: text for key, text in wanted.items() if not _is_template(key, text, given)}
            change: JSON = {key: text for key, text in wanted.items() if live.get(key) != text}
            if follows:
                change |= dict.fromkeys(key for key in had.get(field, ()) if key in live and key not in wanted)
            if change:
                found[field] = change
        return found

    # Spec

    def _spec(self, place: CliquePlace, held: PodCliqueView, follows: bool) -> JSON:
        wanted = self._tree.clique_spec(place)
        pod_spec: JSON = wanted.pop("podSpec")
        wanted["replicas"] = self._replicas(place, held)
        before = {
            "roleName": held.spec.role_name,
            "replicas": held.spec.replicas,
            "minAvailable": held.spec.min_available,
            "startsAfter": list(held.spec.starts_after),
            "autoScalingConfig": _tree(held.spec.auto_scaling_config),
            "rollingUpdate": _tree(held.spec.rolling_update),
        }
        # What says nothing is left out by the one and empty with the other.
        before, wanted = _without_empty(before), _without_empty(wanted)
        for key, value in wanted.items():
            if key in before and _same(before[key], value):
                before[key] = value
        change = statuses.changes(before, wanted)
        if follows and self._fingerprint(place, pod_spec) != views.fingerprint(bytes(held.spec.pod_spec)):
            change["podSpec"] = statuses.changes(msgspec.json.decode(held.spec.pod_spec), pod_spec)
        return change

    def _replicas(self, place: CliquePlace, held: PodCliqueView) -> int:
        spec = self._tree.cliques[place.clique].spec
        told = (held.metadata.annotations or {}).get(TEMPLATE_REPLICAS)
        scales = spec.auto_scaling_config is not None and not place.group
        found = replicas(held.spec.replicas, told, spec.replicas, has_autoscaler=scales)
        # The API server refuses less than minAvailable, and with it the whole patch.
        return max(found, least(spec)) if found else 0

    def _fingerprint(self, place: CliquePlace, pod_spec: JSON) -> str:
        """Of the wanted pod spec; it is the same for all PodCliques of a template."""
        if place.clique not in self._fingerprints:
            self._fingerprints[place.clique] = hashes.digest(pod_spec)
        return self._fingerprints[place.clique]


_FOLLOWING: Final = frozenset({labels.POD_TEMPLATE_HASH, TEMPLATE_KEYS})


def _is_template(key: str, text: str, given: Mapping[str, str]) -> bool:
    """Whether a wanted label or annotation comes with the template, and with no other one."""
    return key in _FOLLOWING or given.get(key) == text


def _template_keys_of(held: PodCliqueView) -> dict[str, list[str]]:
    """What the template that a PodClique has gave it; nothing where that is not known."""
    text = (held.metadata.annotations or {}).get(TEMPLATE_KEYS, "")
    try:
        return msgspec.json.decode(text, type=dict[str, list[str]])
    except msgspec.DecodeError:
        return {}


def _tree(value: Struct | None) -> JSON | None:
    return None if value is None else codec.encode(value)


def _without_empty(spec: JSON) -> JSON:
    return {key: value for key, value in spec.items() if value not in (None, [], "")}


def _same(held: object, wanted: object) -> bool:
    """Whether two values mean the same, whatever the API server filled in."""
    return held == wanted or hashes.digest({"value": held}) == hashes.digest({"value": wanted})
