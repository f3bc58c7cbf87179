"""Encoding what was decoded loses nothing that is declared, for every kind."""

import typing
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from grove.api import codec
from grove.api.fields import ABSENT, Field, Struct, fields_of, is_struct, unwrap
from grove.api.kinds import catalog

TEXT = st.text("abc-.", min_size=1, max_size=6)
ANYTHING: SearchStrategy[Any] = st.one_of(st.none(), TEXT, st.integers(0, 9), st.just({}), st.just([]))
FREE: SearchStrategy[dict[str, Any]] = st.dictionaries(TEXT, ANYTHING, max_size=3)


def values(bare: Any, declared: Field) -> SearchStrategy[Any]:
    """Trees for a declared type; limits do not matter to the codec."""
    origin = typing.get_origin(bare)
    if origin is tuple:
        return st.lists(values(*unwrap(typing.get_args(bare)[0])), max_size=2)
    if origin is Literal:
        return st.sampled_from(typing.get_args(bare))
    if origin is dict:
        inner = typing.get_args(bare)[1]
        return FREE if inner is Any else st.dictionaries(TEXT, values(*unwrap(inner)), max_size=2)
    if is_struct(bare):
        return objects(bare)
    if declared.embeds is not None:
        return st.one_of(TEXT, st.integers(0, 9))
    scalars: dict[Any, SearchStrategy[Any]] = {
        str: TEXT,
        int: st.integers(0, 99),
        bool: st.booleans(),
        float: st.floats(0, 9),
    }
    return scalars[bare]


def objects(struct: type[Struct]) -> SearchStrategy[dict[str, Any]]:
    needed = {info.json_name: values(info.type, info.declared) for info in fields_of(struct) if info.required}
    optional = {info.json_name: values(info.type, info.declared) for info in fields_of(struct) if not info.required}
    return st.fixed_dictionaries(needed, optional=optional)


def stated(tree: Any, struct: type[Struct]) -> Any:
    """The tree without absent values in declared fields: an empty list says the same as none."""
    result = {}
    for info in fields_of(struct):
        may_be_left_out = not info.required and info.default is None
        if info.json_name not in tree or (may_be_left_out and tree[info.json_name] in (*ABSENT, [])):
            continue
        result[info.json_name] = _stated_value(tree[info.json_name], info.type)
    return result


def _stated_value(value: Any, bare: Any) -> Any:
    if is_struct(bare):
        return stated(value, bare)
    if typing.get_origin(bare) is tuple:
        item, _ = unwrap(typing.get_args(bare)[0])
        return [_stated_value(one, item) for one in value]
    return value


def contains(whole: Any, part: Any) -> bool:
    """Whether everything in the part is in the whole; the whole may have defaults beside it."""
    if isinstance(part, dict) and isinstance(whole, dict):
        return all(key in whole and contains(whole[key], value) for key, value in part.items())
    if isinstance(part, list) and isinstance(whole, list):
        return len(whole) == len(part) and all(map(contains, whole, part))
    return bool(whole == part)


@pytest.mark.parametrize("kind", catalog.KINDS, ids=lambda kind: f"{kind.name}.{kind.group}")
def test_encoding_what_was_decoded_loses_nothing_that_is_declared(kind: catalog.Kind) -> None:
    @given(objects(kind.struct))
    def check(tree: dict[str, Any]) -> None:
        decoded = codec.decode(tree, kind.struct)
        encoded = codec.encode(decoded)
        assert contains(encoded, stated(tree, kind.struct))
        assert codec.decode(encoded, kind.struct) == decoded
        assert codec.decode_json(codec.encode_json(decoded), kind.struct) == decoded

    check()
