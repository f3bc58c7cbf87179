"""Where a live object stands in its set, by its labels. Pure. What the set has no such place for has none."""

from __future__ import annotations

from collections.abc import Mapping

from grove.api import labels, names
from grove.api.kinds.meta import ObjectMeta
from grove.operator.tree import CliquePlace, GangPlace, GroupPlace, Tree


def replica_index(metadata: ObjectMeta) -> int | None:
    """The replica of the set that an object belongs to."""
    return _number(metadata.labels or {}, labels.POD_CLIQUE_SET_REPLICA_INDEX)


def copy_index(metadata: ObjectMeta) -> int | None:
    """The copy of its scaling group that an object belongs to."""
    return _number(metadata.labels or {}, labels.SCALING_GROUP_REPLICA_INDEX)


def group_of(tree: Tree, metadata: ObjectMeta) -> GroupPlace | None:
    """The place of a scaling group."""
    replica = replica_index(metadata)
    if replica is None:
        return None
    found = (GroupPlace(replica, group) for group in tree.groups)
    return next((place for place in found if tree.group_name(place) == metadata.name), None)


def clique_of(tree: Tree, metadata: ObjectMeta) -> CliquePlace | None:
    """The place of a PodClique, also beyond the counts that are wished for; it is about to be deleted then."""
    found = metadata.labels or {}
    replica = replica_index(metadata)
    label = found.get(labels.CLIQUE)
    if replica is None or label is None:
        return None
    clique = next((name for name in tree.cliques if names.shorten(name, names.LABEL_LIMIT) == label), None)
    if clique is None:
        return None
    group = tree.group_of.get(clique, "")
    place = CliquePlace(replica, clique, group, -1)
    if group:
        copy = copy_index(metadata)
        if copy is None:
            return None
        place = CliquePlace(replica, clique, group, copy)
    return place if tree.clique_name(place) == metadata.name else None


def gang_of(tree: Tree, metadata: ObjectMeta) -> GangPlace | None:
    """The place of a gang, also beyond the counts that are wished for."""
    replica = replica_index(metadata)
    if replica is None:
        return None
    place = GangPlace(replica)
    label = (metadata.labels or {}).get(labels.SCALING_GROUP)
    if label is not None:
        group = next((name for name in tree.groups if tree.group_name(GroupPlace(replica, name)) == label), None)
        copy = copy_index(metadata)
        if group is None or copy is None:
            return None
        place = GangPlace(replica, group, copy)
    return place if tree.gang_name(place) == metadata.name else None


def _number(found: Mapping[str, str], label: str) -> int | None:
    text = found.get(label, "")
    return int(text) if text.isascii() and text.isdigit() else None
