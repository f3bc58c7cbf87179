"""What must be written so that the children of one kind are as they are wanted. Pure.

A child is told by its name; `existing` are those that the set controls. One that is being deleted still holds its name:
nothing is planned for it until it is gone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol, TypeVar

import msgspec

from grove.api.fields import JSON
from grove.api.kinds.meta import ObjectMeta
from grove.kube.resources import Resource
from grove.operator.owners import reference
from grove.operator.resources import POD_CLIQUE_SETS
from grove.operator.tree import Tree


class Child(Protocol):
    """An object as a cache holds it."""

    @property
    def metadata(self) -> ObjectMeta: ...


H = TypeVar("H", bound=Child)


class Patch(msgspec.Struct, frozen=True):
    """A child that differs."""

    held: ObjectMeta
    change: JSON
    """A merge patch of the fields that differ."""
    guarded: bool = False
    """Whether it is for this very version only, because somebody else may be writing the same fields."""


class Plan(msgspec.Struct, frozen=True):
    """What must be written; nothing if all is as it should be."""

    creates: tuple[JSON, ...] = ()
    patches: tuple[Patch, ...] = ()
    deletes: tuple[ObjectMeta, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.creates or self.patches or self.deletes)


def plan(wanted: Iterable[JSON], existing: Iterable[H], change: Callable[[JSON, H], Patch | None]) -> Plan:
    """`change` gives the patch that makes an existing child the wanted one."""
    held = {one.metadata.name: one for one in existing}
    creates, patches = [], []
    for body in wanted:
        found = held.pop(body["metadata"]["name"], None)
        if found is None:
            creates.append(body)
        elif not is_going(found.metadata) and (patch := change(body, found)) is not None:
            patches.append(patch)
    deletes = tuple(one.metadata for one in held.values() if not is_going(one.metadata))
    return Plan(tuple(creates), tuple(patches), deletes)


def is_going(metadata: ObjectMeta) -> bool:
    """Whether an object is being deleted."""
    return metadata.deletion_timestamp is not None


def body(tree: Tree, resource: Resource, name: str, labels: dict[str, str]) -> JSON:
    """A child without what its kind adds."""
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {
            "name": name,
            "namespace": tree.namespace,
            "labels": labels,
            "ownerReferences": [reference(POD_CLIQUE_SETS, tree.pcs.metadata)],
        },
    }


def patch_of(body: JSON, held: ObjectMeta, rest: JSON) -> Patch | None:
    """The patch with this content that also puts labels back; None if there is nothing to change."""
    live = held.labels or {}
    labels = {key: text for key, text in body["metadata"]["labels"].items() if live.get(key) != text}
    change = {"metadata": {"labels": labels}, **rest} if labels else rest
    return Patch(held, change) if change else None
