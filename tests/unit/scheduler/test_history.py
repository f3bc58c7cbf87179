"""The lines of histories, as they are written and read."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec import inspect

from grove.scheduler import assembly, history, lines
from grove.scheduler.lines import KINDS, NotAHistory, Told
from tests.unit.cli.clusters import SETTINGS


def sample(type: inspect.Type, *, whole: bool) -> Any:
    """A value in which everything is set that can be, or only what must be."""
    match type:
        case inspect.StructType():
            found = [field for field in type.fields if whole or field.required]
            return type.cls(**{field.name: sample(field.type, whole=whole) for field in found})
        case inspect.UnionType():
            return sample(next(one for one in type.types if not isinstance(one, inspect.NoneType)), whole=whole)
        case inspect.VarTupleType() | inspect.ListType():
            return (sample(type.item_type, whole=whole),)
        case inspect.TupleType():
            return tuple(sample(one, whole=whole) for one in type.item_types)
        case inspect.DictType():
            return {"key": sample(type.value_type, whole=whole)}
        case inspect.LiteralType():
            return type.values[0]
        case inspect.Metadata():
            return sample(type.type, whole=whole)
    return {
        inspect.StrType: "2026-11-20T10:00:00Z",
        inspect.IntType: 3,
        inspect.FloatType: 1.5,
        inspect.BoolType: True,
        inspect.AnyType: {"any": [1, "thing"]},
    }[type.__class__]


@pytest.mark.parametrize("whole", [True, False], ids=["whole", "least"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_comes_out_as_it_went_in(kind: str, whole: bool) -> None:
    view = sample(inspect.type_info(KINDS[kind]), whole=whole)
    read = lines.decode(lines.encode(Told(kind, view)))
    assert isinstance(read, Told)
    assert msgspec.convert(read.object, KINDS[kind]) == view


def test_the_configuration_is_that_of_the_first_line() -> None:
    assert lines.configuration(lines.decode(lines.encode(lines.start(SETTINGS, 1.0)))) == SETTINGS


@pytest.mark.parametrize("text", [b"", b"{}", b"[1]", b'{"line":"nothing"}', b"\xff"])
def test_other_text_is_no_history(text: bytes) -> None:
    with pytest.raises(NotAHistory):
        lines.decode(text)


def test_a_history_that_speaks_of_what_it_never_told_is_none() -> None:
    engine = assembly.engine(SETTINGS)
    for line in (
        Told("unicorn", {}),
        Told("node", {"metadata": 1}),
        lines.Seat("uid", "n0", 0),
        lines.Room("default/g", "n0", {}, "head"),
    ):
        with pytest.raises(NotAHistory):
            history.tell(engine, line)
