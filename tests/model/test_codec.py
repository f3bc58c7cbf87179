"""Decoding and encoding lose nothing that a kind declares."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grove.api import codec
from grove.api.fields import fields_of, is_struct
from grove.api.kinds.catalog import KINDS, Kind
from tests.model.strategies import JSON, structs

EACH_KIND = pytest.mark.parametrize("kind", [pytest.param(kind, id=f"{kind.name}.{kind.group}") for kind in KINDS])


@EACH_KIND
@given(st.data())
def test_what_was_decoded_is_encoded_again(kind: Kind, data: st.DataObject) -> None:
    tree = data.draw(structs(kind.struct))
    encoded = codec.encode(codec.decode(tree, kind.struct))
    assert _lost(tree, encoded, "") == []


@EACH_KIND
@given(st.data())
def test_encoding_is_stable(kind: Kind, data: st.DataObject) -> None:
    once = codec.encode(codec.decode(data.draw(structs(kind.struct)), kind.struct))
    assert codec.encode(codec.decode(once, kind.struct)) == once


@EACH_KIND
@given(st.data())
def test_json_is_the_same_as_the_tree(kind: Kind, data: st.DataObject) -> None:
    decoded = codec.decode(data.draw(structs(kind.struct)), kind.struct)
    assert codec.encode(codec.decode_json(codec.encode_json(decoded), kind.struct)) == codec.encode(decoded)


@EACH_KIND
@given(st.data())
def test_undeclared_fields_are_dropped(kind: Kind, data: st.DataObject) -> None:
    tree = data.draw(structs(kind.struct))
    assert codec.decode(tree | {"undeclared": 1}, kind.struct) == codec.decode(tree, kind.struct)
    assert "undeclared" not in codec.encode(codec.decode(tree | {"undeclared": 1}, kind.struct))


def test_every_field_of_every_kind_is_reached() -> None:
    """The strategy follows the declarations, so a new field is tested from its first day."""
    for kind in KINDS:
        assert [info.json_name for info in fields_of(kind.struct) if is_struct(info.type)]


def _lost(tree: Any, encoded: Any, path: str) -> list[str]:
    """Where something of the tree is missing or different."""
    if isinstance(tree, dict) and isinstance(encoded, dict):
        return [place for key, value in tree.items() for place in _lost_field(key, value, encoded, path)]
    if isinstance(tree, list) and isinstance(encoded, list) and len(tree) == len(encoded):
        return [
            place
            for number, pair in enumerate(zip(tree, encoded, strict=True))
            for place in _lost(*pair, f"{path}[{number}]")
        ]
    return [] if tree == encoded else [f"{path}: {tree!r} became {encoded!r}"]


def _lost_field(key: str, value: Any, encoded: JSON, path: str) -> list[str]:
    if key not in encoded:
        return [] if value in (None, [], "") else [f"{path}.{key}"]
    return _lost(value, encoded[key], f"{path}.{key}")
