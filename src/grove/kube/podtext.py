"""Pods whose specs are not decoded yet: most pods of a cluster have a spec that was decoded before.

A PodText reads of a pod what a PodView reads. Of its spec it keeps the parts as the JSON they came as, without what no
PodSpec reads; two pods of one template then differ in nothing but the node, and their texts are equal. `Sharing` makes
PodViews of them.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from grove.api.kinds.meta import ObjectMeta
from grove.kube.objects import Container, PodSpec, PodStatus, Volume, kept_volumes

PLAIN: Final = (str, int, bool)
ABSENT: Final = msgspec.Raw()


def with_texts(view: type[msgspec.Struct], **kept: Any) -> Any:
    """A struct that reads what `view` reads: texts and numbers as they are, everything else as JSON.

    `kept` are types of fields that are to be read further.
    """
    fields = []
    for field in msgspec.structs.fields(view):
        is_plain = field.type in PLAIN
        kind = kept.get(field.name, field.type if is_plain else msgspec.Raw)
        default = () if field.name in kept else field.default if is_plain else ABSENT
        if field.required:
            default = msgspec.NODEFAULT
        fields.append((field.name, kind, msgspec.field(default=default, name=field.encode_name)))
    name = f"{view.__name__}Text"
    return msgspec.defstruct(name, fields, frozen=True, kw_only=True, gc=False, omit_defaults=True, module=__name__)


ContainerText: Any = with_texts(Container)
_containers: Any = tuple[ContainerText, ...]
VolumeText: Any = with_texts(Volume)
_volumes: Any = tuple[VolumeText, ...]
PodSpecText: Any = with_texts(PodSpec, containers=_containers, init_containers=_containers, volumes=_volumes)


class PodText(msgspec.Struct, gc=False):
    """A pod with the text of its spec."""

    metadata: ObjectMeta
    spec: PodSpecText = PodSpecText()
    status: PodStatus = PodStatus()


_set: Final = msgspec.structs.force_setattr
_encode: Final = msgspec.json.Encoder().encode
decode_spec: Final = msgspec.json.Decoder(PodSpec).decode
"""The spec that `taken_apart` gave the text of."""


def taken_apart(spec: Any) -> tuple[str, bytes]:
    """The node of a PodSpecText, which is taken out of it, and the rest as JSON."""
    node_name: str = spec.moved
    if node_name:
        _set(spec, "moved", "")
    if spec.volumes:
        _set(spec, "volumes", tuple(kept_volumes(spec.volumes)))
    return node_name, _encode(spec)
