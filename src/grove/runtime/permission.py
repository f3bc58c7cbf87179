"""A right that a program needs, with its reason. Data; `grove.install` renders them as roles."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from grove.kube.resources import Resource

Where = Literal["cluster", "own namespace"]

FOLLOW: Final = ("list", "watch")
"""What a cache asks."""


class Permission(msgspec.Struct, frozen=True):
    """Verbs on resources of one API group, `plural` or `plural/subresource`."""

    group: str
    resources: tuple[str, ...]
    verbs: tuple[str, ...]
    reason: str
    where: Where = "cluster"
    names: tuple[str, ...] = ()
    """Only these objects; all where none is named."""
    by_request: bool = True
    """False for what no request of ours asks for by itself: the API server looks whether we hold it, on occasion of
    another one."""


def of(resource: Resource, verbs: tuple[str, ...], reason: str, *, subresource: str = "") -> Permission:
    plural = f"{resource.plural}/{subresource}" if subresource else resource.plural
    return Permission(resource.group, (plural,), verbs, reason)
