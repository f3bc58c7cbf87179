"""One declaration per field.

A field of a kind is declared once, as `name: Annotated[type, Field("what it means", …)] = default`. From that come the
struct (msgspec), the default, the structural schema of the CRD (`schema`), what `structural` checks offline, the
reference page and `grove explain` (`reference`). Absent optional values are `None`, absent lists the empty tuple.
"""

from __future__ import annotations

import functools
import types
import typing
from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar, Final, Literal, TypeAlias, Union

import msgspec

JSON: TypeAlias = dict[str, Any]
ListType: TypeAlias = Literal["atomic", "set", "map"]


ABSENT: Final = (None, (), "")
"""Values that stand for a field that is not there."""


class Rule(msgspec.Struct, frozen=True):
    """A rule over a value: once in CEL for the API server, once in Python for everyone else, with one message."""

    cel: str
    holds: Callable[[JSON], bool]
    message: str
    remedy: str
    reason: Literal["FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired"] = "FieldValueInvalid"
    field_path: str = ""
    on_create_only: bool = False


class Field(msgspec.Struct, frozen=True):
    """What is known of a field beside its name, type and default."""

    doc: str = ""
    minimum: int | None = None
    maximum: int | None = None
    min_length: int | None = None
    max_length: int | None = None
    min_items: int | None = None
    pattern: str | None = None
    format: str | None = None
    list_type: ListType | None = None
    list_keys: tuple[str, ...] = ()
    embeds: str | None = None
    """The Kubernetes type (`io.k8s.api.core.v1.PodSpec`) whose schema stands here; the value passes untouched."""
    alias_for: str | None = None
    """The canonical field that an older spelling stands for; defaulting moves the value there."""
    immutable: bool = False
    required: bool | None = None
    """Required in the schema although Python has a default (or the other way round)."""


class Struct(msgspec.Struct, frozen=True, kw_only=True, gc=False, rename="camel"):
    """A part of an object. Immutable; unknown fields are passed over when decoding."""

    RULES: ClassVar[tuple[Rule, ...]] = ()


Int32 = Annotated[int, Field(format="int32")]
Int64 = Annotated[int, Field(format="int64")]
Time = Annotated[str, Field(format="date-time")]
Quantity = Annotated[str | int, Field(embeds="io.k8s.apimachinery.pkg.api.resource.Quantity")]


class FieldInfo(msgspec.Struct, frozen=True):
    """A field of a struct, its annotation taken apart."""

    name: str
    json_name: str
    type: Any
    """The bare type: without Annotated and without `| None`."""
    declared: Field
    default: Any
    """The default that the API server fills in; None where there is none."""
    required: bool


@functools.cache
def fields_of(struct: type[msgspec.Struct]) -> tuple[FieldInfo, ...]:
    """The fields of a struct in the order of their declaration."""
    hints = typing.get_type_hints(struct, include_extras=True)
    infos = []
    for info in msgspec.structs.fields(struct):
        bare, declared = unwrap(hints[info.name])
        default = None if info.default in (msgspec.NODEFAULT, *ABSENT) else info.default
        required = info.required if declared.required is None else declared.required
        infos.append(FieldInfo(info.name, info.encode_name, bare, declared, default, required))
    return tuple(infos)


def unwrap(annotation: Any) -> tuple[Any, Field]:
    """The bare type of an annotation and its declarations merged, the outermost winning."""
    declared: Field | None = None
    while True:
        if typing.get_origin(annotation) is Annotated:
            annotation, *metadata = typing.get_args(annotation)
            for one in metadata:
                if isinstance(one, Field):
                    declared = _merge(one, declared)
        elif typing.get_origin(annotation) in (Union, types.UnionType) and type(None) in typing.get_args(annotation):
            rest = [one for one in typing.get_args(annotation) if one is not type(None)]
            annotation = functools.reduce(lambda left, right: left | right, rest)
        else:
            return annotation, declared or Field()


def _merge(inner: Field, outer: Field | None) -> Field:
    if outer is None:
        return inner
    plain: Final = Field()
    changes = {
        name: getattr(outer, name) for name in Field.__struct_fields__ if getattr(outer, name) != getattr(plain, name)
    }
    return msgspec.structs.replace(inner, **changes)


def is_struct(candidate: Any) -> bool:
    return isinstance(candidate, type) and issubclass(candidate, msgspec.Struct)


def as_mapping(value: Any) -> Mapping[str, Any]:
    """The value where it is an object, an empty one otherwise: rules read trees that may be of any shape."""
    return value if isinstance(value, dict) else {}
