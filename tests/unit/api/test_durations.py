import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grove.api import durations
from grove.api.durations import HOUR, MICROSECOND, MILLISECOND, MINUTE, NANOSECOND, SECOND, InvalidDuration

LARGEST = 2**63 - 1

# As Go 1.26 reads them with time.ParseDuration.
READ = [
    ("0", 0),
    ("-0", 0),
    ("+0", 0),
    ("0s", 0),
    ("1ns", NANOSECOND),
    ("1us", MICROSECOND),
    ("1µs", MICROSECOND),
    ("1μs", MICROSECOND),
    ("250ms", 250 * MILLISECOND),
    ("5s", 5 * SECOND),
    ("+5s", 5 * SECOND),
    ("-5s", -5 * SECOND),
    ("15m", 15 * MINUTE),
    ("4h", 4 * HOUR),
    ("1h30m", HOUR + 30 * MINUTE),
    ("30m1h", HOUR + 30 * MINUTE),
    ("1h1h", 2 * HOUR),
    ("1.5h", 90 * MINUTE),
    ("1.s", SECOND),
    (".5s", SECOND // 2),
    ("3.3us", 3_300),
    ("1.9ns", 1),
    ("0.100000000000000000000h", 6 * MINUTE),
    ("0.3333333333333333333h", 20 * MINUTE),
    ("00s", 0),
    ("0" * 5_000 + "1s", SECOND),
    ("9223372036854775807ns", LARGEST),
    ("2562047h47m16.854775807s", LARGEST),
    ("-9223372036854775808ns", -LARGEST - 1),
]
NO_DURATIONS = [
    *("", " ", "s", ".s", "1", "1.5", "1d", "1H", "1S", " 1s", "1s ", "1s\n", "1e3s", "1,5s", "１s", "forever"),
    *("-", "+", "--1s", "+-1s", "1h-1m", "1h 30m"),
    *("9223372036854775808ns", "-9223372036854775809ns", "3000000h", "9999999999999999999s", "9" * 5_000 + "s"),
]
# As Go prints them with Duration.String.
WRITTEN = [
    (0, "0s"),
    (1, "1ns"),
    (1_100, "1.1µs"),
    (2_200_000, "2.2ms"),
    (3_300_000_000, "3.3s"),
    (999_999_999, "999.999999ms"),
    (SECOND, "1s"),
    (MINUTE, "1m0s"),
    (4 * MINUTE + 5 * SECOND + MILLISECOND, "4m5.001s"),
    (HOUR, "1h0m0s"),
    (5 * HOUR + 6 * MINUTE + 7 * SECOND + MILLISECOND, "5h6m7.001s"),
    (8 * MINUTE + 1, "8m0.000000001s"),
    (LARGEST, "2562047h47m16.854775807s"),
    (-LARGEST - 1, "-2562047h47m16.854775808s"),
    (-MILLISECOND, "-1ms"),
]


@pytest.mark.parametrize(("text", "expected"), READ, ids=lambda value: str(value)[:30])
def test_a_duration_is_read_as_go_reads_it(text: str, expected: int) -> None:
    """Every unit, sign and fraction has Go's value."""
    assert durations.parse(text) == expected


@pytest.mark.parametrize("text", NO_DURATIONS, ids=lambda text: repr(text[:30]))
def test_what_is_no_duration_is_refused(text: str) -> None:
    """Neither a missing unit nor more than 64 bits are read."""
    with pytest.raises(InvalidDuration, match="is not a duration"):
        durations.parse(text)


@pytest.mark.parametrize(("nanoseconds", "expected"), WRITTEN)
def test_a_duration_is_written_as_go_writes_it(nanoseconds: int, expected: str) -> None:
    """The text starts with the largest unit that is not zero."""
    assert durations.text(nanoseconds) == expected


@given(st.integers(-LARGEST - 1, LARGEST))
def test_what_is_written_is_read_back(nanoseconds: int) -> None:
    """Writing loses nothing."""
    assert durations.parse(durations.text(nanoseconds)) == nanoseconds


@given(st.integers(0, LARGEST))
def test_a_minus_sign_turns_the_value(nanoseconds: int) -> None:
    """A sign changes nothing else."""
    text = durations.text(nanoseconds)
    assert durations.parse(f"-{text}") == -nanoseconds == -durations.parse(f"+{text}")


@given(st.integers(0, 10**6), st.sampled_from(["ns", "us", "ms", "s", "m"]))
def test_more_of_a_unit_is_longer(count: int, unit: str) -> None:
    """Durations compare by value."""
    assert (
        durations.parse(f"{count}{unit}")
        < durations.parse(f"{count}.9{unit}1ns")
        < durations.parse(f"{count + 1}{unit}1ns")
    )


@given(st.lists(st.tuples(st.integers(0, 1000), st.sampled_from(["ns", "us", "ms", "s", "m", "h"])), min_size=1))
def test_parts_add_up(parts: list[tuple[int, str]]) -> None:
    """A duration is the sum of its parts, in any order and however often a unit comes."""
    texts = [f"{count}{unit}" for count, unit in parts]
    assert durations.parse("".join(texts)) == sum(durations.parse(text) for text in texts)


@given(st.text())
def test_any_text_is_a_duration_or_refused(text: str) -> None:
    """No text raises anything but the error for it."""
    with contextlib.suppress(InvalidDuration):
        assert abs(durations.parse(text)) <= LARGEST + 1
