"""A PodGang as it is to be, and what must be written to make it so. Pure.

The gang controller calls it with what the caches hold. Of what is stored only Grove's own keys are compared: schedulers
and users write to PodGangs too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from grove.api import codec, labels, statuses
from grove.api.fields import JSON, fields_of
from grove.api.kinds.meta import ObjectMeta
from grove.api.kinds.podgang import PodGang, PodGangSpec
from grove.operator import owners
from grove.operator.podgang import marks
from grove.operator.podgang.members import Member
from grove.operator.podgang.spec import is_constrained, spec
from grove.operator.resources import POD_CLIQUE_SETS, POD_GANGS
from grove.operator.topology import levels
from grove.operator.tree import GangPlace, GroupPlace, Tree


class Wanted(msgspec.Struct, frozen=True):
    """A PodGang as it is to be."""

    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    spec: PodGangSpec
    dropped: frozenset[str] = frozenset()
    """Annotations of Grove's that are to go."""


def wanted(tree: Tree, place: GangPlace, members: Sequence[Member], keys: levels.Keys, scheduler: str) -> Wanted:
    """The PodGang of a place. `keys` are those of `levels.keys`, `scheduler` the name of the set's scheduler."""
    gang = spec(tree, place, members, keys)
    metadata = tree.pcs.metadata
    own = {
        **labels.common(tree.name),
        labels.COMPONENT: labels.COMPONENT_POD_GANG,
        labels.POD_CLIQUE_SET: tree.name,
        labels.POD_CLIQUE_SET_REPLICA_INDEX: str(place.replica),
        labels.SCHEDULER_NAME: scheduler,
    }
    if place.is_scaled:
        own[labels.SCALING_GROUP] = tree.group_name(GroupPlace(place.replica, place.group))
        own[labels.SCALING_GROUP_REPLICA_INDEX] = str(place.copy)
        own[labels.BASE_POD_GANG] = tree.gang_name(GangPlace(place.replica))
    mirrored_labels, mirrored_annotations = marks.mirrored(metadata.labels), marks.mirrored(metadata.annotations)
    annotations = mirrored_annotations | marks.record(mirrored_labels.keys() - own.keys(), mirrored_annotations)
    if is_constrained(gang):
        annotations[labels.TOPOLOGY_NAME] = levels.binding_name(tree.template)
    dropped = frozenset({labels.TOPOLOGY_NAME, marks.RECORD} - annotations.keys())
    return Wanted(mirrored_labels | own, annotations, gang, dropped)


class Change(msgspec.Struct, frozen=True):
    """What must be written."""

    patch: JSON
    touched: tuple[str, ...]
    """What changes, in the words of the object: labels, annotations, fields of the spec. Pod references do not count:
    they change with each pod, and mean nothing to people."""

    @property
    def references_only(self) -> bool:
        return not self.touched


def creation(tree: Tree, place: GangPlace, wanted: Wanted) -> JSON:
    """The body of a new PodGang."""
    metadata: JSON = {
        "name": tree.gang_name(place),
        "namespace": tree.namespace,
        "labels": dict(wanted.labels),
        "ownerReferences": [owners.reference(POD_CLIQUE_SETS, tree.pcs.metadata)],
    }
    if wanted.annotations:
        metadata["annotations"] = dict(wanted.annotations)
    return {
        "apiVersion": POD_GANGS.api_version,
        "kind": POD_GANGS.kind,
        "metadata": metadata,
        "spec": codec.encode(wanted.spec),
    }


def change(held: PodGang, wanted: Wanted) -> Change | None:
    """The merge patch from the stored PodGang to the wanted one; None where nothing has to be written."""
    touched: list[str] = []
    metadata: JSON = {}
    kept = marks.recorded(held.metadata.annotations)
    for field, stored, after, gone in (
        ("labels", held.metadata.labels, wanted.labels, kept.labels),
        ("annotations", held.metadata.annotations, wanted.annotations, {*kept.annotations, *wanted.dropped}),
    ):
        if changed := marks.difference(stored, after, gone):
            metadata[field] = changed
            touched.append(field)
    fields = _changed_fields(held.spec, wanted.spec)
    touched += sorted(name for name in fields if name != "podgroups" or _terms(held.spec) != _terms(wanted.spec))
    if not metadata and not fields:
        return None
    patch: JSON = {"metadata": _for_this_very(held.metadata) | metadata}
    return Change(patch | ({"spec": fields} if fields else {}), tuple(touched))


OURS: Final = tuple(info for info in fields_of(PodGangSpec) if info.name != "reuse_reservation_ref")
"""The fields of the spec that the operator decides."""


def _changed_fields(held: PodGangSpec, wanted: PodGangSpec) -> JSON:
    different = [one for one in OURS if getattr(held, one.name) != getattr(wanted, one.name)]
    if not different:
        return {}
    names = {one.json_name for one in different}
    before, after = (
        {name: value for name, value in codec.encode(one).items() if name in names}
        for one in (replace(held, podgroups=()), wanted)  # a list is replaced whole, so the stored one need not be read
    )
    return statuses.changes(before, after)


def _terms(spec: PodGangSpec) -> list[Any]:
    """The pod groups without their pods."""
    return [(one.name, one.min_replicas, one.topology_constraint) for one in spec.podgroups]


def _for_this_very(metadata: ObjectMeta) -> JSON:
    """Makes the server refuse the patch for another object that has taken the name."""
    return {"uid": metadata.uid}
