import msgspec
import pytest

from grove.nodes.failure import failure, read
from grove.nodes.marks import FAIL
from tests.unit.nodes.stories import NODE


@pytest.mark.parametrize("word", ["dead", "unreachable", "not-ready"])
def test_a_node_fails_as_it_is_told_to(word: str) -> None:
    assert read({FAIL: word}) == (word, None)
    metadata = msgspec.structs.replace(NODE.metadata, annotations={FAIL: word})
    assert failure(msgspec.structs.replace(NODE, metadata=metadata)) == word


def test_a_node_that_is_told_nothing_does_not_fail() -> None:
    assert read({}) == (None, None)
    assert failure(NODE) is None


def test_a_failure_that_is_none_of_ours_is_none_and_is_told() -> None:
    failed, problem = read({FAIL: "Dead"})
    assert failed is None
    assert str(problem) == (
        'annotation simulate.grove.io/fail: "Dead" is not understood: want one of dead, unreachable, not-ready'
    )
