"""Who belongs to whom: by the controlling owner's uid, never by a name."""

from __future__ import annotations

from grove.api.fields import JSON
from grove.api.kinds.meta import ObjectMeta, OwnerReference
from grove.kube.resources import Resource


def controller_of(metadata: ObjectMeta) -> OwnerReference | None:
    """The owner that controls an object; others may be listed beside it."""
    for owner in metadata.owner_references:
        if owner.controller:
            return owner
    return None


def is_controlled_by(metadata: ObjectMeta, owner: ObjectMeta) -> bool:
    """Whether an object is this very owner's, not that of one of the same name before it."""
    found = controller_of(metadata)
    return found is not None and found.uid == owner.uid


def controller_uids(metadata: ObjectMeta, _: object) -> tuple[str, ...]:
    """The keys of an index of objects by the owner that controls them."""
    found = controller_of(metadata)
    return () if found is None else (found.uid,)


def reference(resource: Resource, owner: ObjectMeta) -> JSON:
    """The entry in `ownerReferences` that makes an object the owner's."""
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "name": owner.name,
        "uid": owner.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
