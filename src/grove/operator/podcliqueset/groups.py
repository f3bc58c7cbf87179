"""The PodCliqueScalingGroups of each replica. Pure.

What is neither Grove's nor the template's is never touched. How often a group exists belongs to users and autoscalers
once one of them has changed it.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from grove.api import codec, labels, statuses
from grove.api.fields import JSON
from grove.api.kinds.meta import ObjectMeta
from grove.api.kinds.scalinggroup import PodCliqueScalingGroup
from grove.operator import cliquesync
from grove.operator.cliquesync import TEMPLATE_KEYS
from grove.operator.podcliqueset import children
from grove.operator.podcliqueset.children import Patch, Plan
from grove.operator.resources import SCALING_GROUPS
from grove.operator.tree import TEMPLATE_REPLICAS, GroupPlace, Tree


def plan(tree: Tree, existing: Iterable[PodCliqueScalingGroup]) -> Plan:
    """What must be written so that every replica has its scaling groups."""
    places = {tree.group_name(place): place for place in wanted_places(tree)}

    def change(body: JSON, held: PodCliqueScalingGroup) -> Patch | None:
        return _change(tree, places[held.metadata.name], body, held)

    return children.plan([_body(tree, place) for place in places.values()], existing, change)


def wanted_places(tree: Tree) -> list[GroupPlace]:
    return [GroupPlace(replica, name) for replica in range(tree.pcs.spec.replicas) for name in tree.groups]


def _body(tree: Tree, place: GroupPlace) -> JSON:
    body = children.body(tree, SCALING_GROUPS, tree.group_name(place), tree.group_labels(place))
    metadata = {
        **body["metadata"],
        "annotations": _annotations(tree, place),
        "finalizers": [labels.SCALING_GROUP_FINALIZER],
    }
    return {**body, "metadata": metadata, "spec": tree.group_spec(place)}


def _annotations(tree: Tree, place: GroupPlace) -> dict[str, str]:
    """Those of the tree, and which of them the template gave, so that they go when it drops them."""
    found = tree.group_annotations(place)
    given = sorted(key for key in found if key != TEMPLATE_REPLICAS)
    return {**found, TEMPLATE_KEYS: msgspec.json.encode(given).decode()} if given else found


def _change(tree: Tree, place: GroupPlace, body: JSON, held: PodCliqueScalingGroup) -> Patch | None:
    metadata: JSON = {}
    lacks_finalizer = labels.SCALING_GROUP_FINALIZER not in held.metadata.finalizers
    if lacks_finalizer:
        metadata["finalizers"] = [*held.metadata.finalizers, labels.SCALING_GROUP_FINALIZER]
    if annotations := _annotation_changes(body["metadata"]["annotations"], held.metadata):
        metadata["annotations"] = annotations
    wanted = {**body["spec"], "replicas": _replicas(tree, place, held)}
    spec = statuses.changes(codec.encode(held.spec), wanted)
    patch = children.patch_of(body, held.metadata, {"spec": spec} if spec else {})
    change = {} if patch is None else patch.change
    if metadata:
        change = {**change, "metadata": {**change.get("metadata", {}), **metadata}}
    # Somebody may be scaling it at this moment; theirs wins, and this is decided anew.
    return Patch(held.metadata, change, guarded=lacks_finalizer or "replicas" in spec) if change else None


def _annotation_changes(wanted: dict[str, str], held: ObjectMeta) -> JSON:
    live = held.annotations or {}
    change: JSON = {key: text for key, text in wanted.items() if live.get(key) != text}
    dropped = (key for key in _given(live.get(TEMPLATE_KEYS, "")) if key in live and key not in wanted)
    return change | dict.fromkeys(dropped)


def _given(text: str) -> list[str]:
    try:
        return [*msgspec.json.decode(text, type=list[str]), TEMPLATE_KEYS]
    except msgspec.DecodeError:
        return []


def _replicas(tree: Tree, place: GroupPlace, held: PodCliqueScalingGroup) -> int:
    config = tree.groups[place.group]
    told = (held.metadata.annotations or {}).get(TEMPLATE_REPLICAS)
    scales = config.scale_config is not None
    found = cliquesync.replicas(held.spec.replicas, told, config.replicas, has_autoscaler=scales)
    # The API server refuses less than minAvailable, and with it the whole patch.
    return max(found, config.min_available) if found else 0
