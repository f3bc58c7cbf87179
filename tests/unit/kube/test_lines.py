"""The line splitter: however the stream is cut, the lines are the same."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grove.kube.errors import UnexpectedAnswer
from grove.kube.lines import LineSplitter

LINES = st.lists(st.binary(min_size=1, max_size=30).filter(lambda line: b"\n" not in line and line[-1:] != b"\r"))


@settings(deadline=None)
@given(LINES, st.sampled_from([b"\n", b"\r\n", b"\n\n"]), st.data())
def test_any_cutting_gives_the_same_lines(lines: list[bytes], end: bytes, data: st.DataObject) -> None:
    stream = b"".join(line + end for line in lines)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)))))
    splitter = LineSplitter()
    found: list[bytes] = []
    for start, stop in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        found += splitter.feed(stream[start:stop])
    assert found == lines
    assert splitter.unfinished == 0


@settings(deadline=None)
@given(LINES, st.binary(min_size=1).filter(lambda rest: b"\n" not in rest))
def test_a_line_without_its_end_is_not_given(lines: list[bytes], rest: bytes) -> None:
    splitter = LineSplitter()
    assert splitter.feed(b"".join(line + b"\n" for line in lines) + rest) == lines
    assert splitter.unfinished == len(rest)


def test_a_line_may_be_longer_than_any_chunk() -> None:
    splitter = LineSplitter()
    for _ in range(1000):
        assert splitter.feed(b"x" * 4096) == []
    assert splitter.feed(b"\n") == [b"x" * 4_096_000]


def test_a_stream_without_line_ends_is_no_watch() -> None:
    splitter = LineSplitter(longest=10)
    splitter.feed(b"0123456789\n0123456789")
    with pytest.raises(UnexpectedAnswer, match="more than 10 bytes"):
        splitter.feed(b"x")
