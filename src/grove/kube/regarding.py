"""The object that an event of the operator is about."""

from __future__ import annotations

from grove.api.kinds.meta import ObjectMeta
from grove.kube.events import Regarding
from grove.kube.resources import Resource


def regarding(resource: Resource, about: ObjectMeta) -> Regarding:
    return Regarding(resource.api_version, resource.kind, about.namespace or "", about.name, about.uid or "")
