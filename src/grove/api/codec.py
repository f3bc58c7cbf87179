"""Between trees (what YAML and JSON give) and structs. What a struct does not declare is dropped, nothing else is."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from grove.api.fields import ABSENT, JSON, Struct, fields_of

S = TypeVar("S", bound=Struct)


def decode(tree: JSON, struct: type[S]) -> S:
    """The struct of a tree that has passed `structural.check`; raises msgspec.ValidationError for any other."""
    return msgspec.convert(tree, type=struct)


def decode_json(raw: bytes, struct: type[S]) -> S:
    """The struct of a JSON document."""
    return msgspec.json.decode(raw, type=struct)


def encode_json(value: Struct) -> bytes:
    """The JSON document of a struct."""
    return msgspec.json.encode(encode(value))


def readable(value: Any) -> Any:
    """Any value of a struct's field as plain data, for a message."""
    return _plain(value)


def encode(value: Struct) -> JSON:
    """The tree of a struct: without what is absent (None, empty lists and texts), with every number, also zero.

    Values that pass through (pod specs) are the very objects that were decoded, not copies.
    """
    tree: JSON = {}
    for info in fields_of(type(value)):
        one = getattr(value, info.name)
        if one is None or (one in ABSENT and info.default is None and not info.required):
            continue
        tree[info.json_name] = _plain(one)
    return tree


def _plain(value: Any) -> Any:
    if isinstance(value, Struct):
        return encode(value)
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    return value
