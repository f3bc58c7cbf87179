"""From structs to structural OpenAPI schemas, as a CRD holds them."""

from __future__ import annotations

import functools
import typing
from collections.abc import Callable
from typing import Any, Final, Literal

from grove.api import embedded
from grove.api.fields import JSON, Field, FieldInfo, Struct, fields_of, is_struct, unwrap
from grove.api.kinds.catalog import Kind
from grove.api.kinds.meta import ObjectMeta

DURATION_PATTERN: Final = r"^[+-]?(0|([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+$"

FIXED: Final = "Fixed once the object exists."

_SCALARS: Final[dict[Any, str]] = {str: "string", int: "integer", bool: "boolean", float: "number"}


Embed = Callable[[str], JSON]
"""Gives the schema of an embedded Kubernetes type by its name."""


@functools.cache
def of_kind(kind: Kind, embed: Embed = embedded.schema) -> JSON:
    """The schema of a whole object. Shared between callers: copy it before changing it."""
    whole = of_struct(kind.struct, embed)
    properties = {
        **whole["properties"],
        "apiVersion": {"type": "string", "description": f"{kind.api_version}, the version of the API."},
        "kind": {"type": "string", "description": f"{kind.name}, the kind of the object."},
    }
    if "metadata" in properties:
        properties["metadata"] = {"type": "object"}
    return {**whole, "properties": properties}


def of_struct(struct: type[Struct], embed: Embed = embedded.schema) -> JSON:
    """The schema of a struct, with the rules that it declares."""
    properties = {info.json_name: of_field(info, embed) for info in fields_of(struct)}
    schema: JSON = {"type": "object", "description": documentation(struct), "properties": properties}
    required = [info.json_name for info in fields_of(struct) if info.required and info.type is not ObjectMeta]
    if required:
        schema["required"] = required
    if struct.RULES:
        schema["x-kubernetes-validations"] = [_validation(rule) for rule in struct.RULES]
    return schema


def documentation(struct: type[Struct]) -> str:
    """What a struct says of itself, as one paragraph."""
    return " ".join((struct.__doc__ or "").split())


def of_field(info: FieldInfo, embed: Embed = embedded.schema) -> JSON:
    """The schema of a field."""
    schema = of_type(info.type, info.declared, embed)
    doc = f"{info.declared.doc} {FIXED}" if info.declared.immutable else info.declared.doc
    if doc:
        schema = {**schema, "description": doc}
    if info.default is not None and not is_struct(type(info.default)):
        schema = {**schema, "default": list(info.default) if isinstance(info.default, tuple) else info.default}
    return schema


def of_type(bare: Any, declared: Field, embed: Embed) -> JSON:
    """The schema of a type with what is declared about it."""
    if declared.embeds is not None and typing.get_origin(bare) is not tuple:
        return embed(declared.embeds)
    origin = typing.get_origin(bare)
    if origin is Literal:
        return {"type": "string", "enum": list(typing.get_args(bare))}
    if origin is tuple:
        return _with_list(of_type(*unwrap(typing.get_args(bare)[0]), embed), declared)
    if origin is dict:
        value_type = typing.get_args(bare)[1]
        if value_type is Any:
            return {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        return {"type": "object", "additionalProperties": of_type(*unwrap(value_type), embed)}
    if is_struct(bare):
        return of_struct(bare, embed)
    return _with_limits({"type": _SCALARS[bare]}, declared)


def _with_list(items: JSON, declared: Field) -> JSON:
    schema: JSON = {"type": "array", "items": items}
    if declared.list_type:
        schema["x-kubernetes-list-type"] = declared.list_type
    if declared.list_keys:
        schema["x-kubernetes-list-map-keys"] = list(declared.list_keys)
    if declared.min_items is not None:
        schema["minItems"] = declared.min_items
    return schema


def _with_limits(schema: JSON, declared: Field) -> JSON:
    limits = {
        "minimum": declared.minimum,
        "maximum": declared.maximum,
        "minLength": declared.min_length,
        "maxLength": declared.max_length,
        "pattern": declared.pattern,
    }
    schema |= {key: value for key, value in limits.items() if value is not None}
    if declared.format == "duration":
        schema["pattern"] = DURATION_PATTERN
    elif declared.format is not None:
        schema["format"] = declared.format
    return schema


def _validation(rule: Any) -> JSON:
    validation: JSON = {"rule": rule.cel, "message": rule.message}
    if rule.reason != "FieldValueInvalid":
        validation["reason"] = rule.reason
    if rule.field_path:
        validation["fieldPath"] = rule.field_path
    if rule.on_create_only:
        validation["optionalOldSelf"] = True
    return validation
