"""What is written to one object before pods that use it are bound. Data."""

from __future__ import annotations

from typing import Any, Final, Literal, NamedTuple, TypeAlias

from grove.kube.objects import NodeView, PodView
from grove.kube.resources import Resource

JSON: TypeAlias = dict[str, Any]
User: TypeAlias = tuple[PodView, NodeView]
"""A pod and the node that it is to run on."""
Progress: TypeAlias = Literal["done", "waiting"]

STATUS: Final = "status"


class Write(NamedTuple):
    """One merge patch, of the object or of its subresource."""

    patch: JSON
    subresource: str = ""


class Step(NamedTuple):
    """What is written to one object."""

    kind: Literal["make a volume", "give a volume", "give devices"]
    resource: Resource
    namespace: str
    name: str
    uid: str
    resource_version: str
    """Empty: it may have changed."""
    writes: tuple[Write, ...]
    """None: it was written before, and is only waited for."""
    claim: str
    """`namespace/name` of the claim that is waited for."""
    users: tuple[User, ...]
    """The pods that wait for it, and their nodes."""


class Refused(Exception):
    """What a pod was promised cannot be any more; says why."""


def has_seen(version: str | None, written: str) -> bool:
    """Whether an object is as new as what was written. Versions are numbers that grow."""
    if not written or version == written:
        return True
    if version is None or not version.isdigit() or not written.isdigit():
        return False
    return int(version) >= int(written)
