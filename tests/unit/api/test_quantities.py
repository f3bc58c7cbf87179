import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grove.api import quantities
from grove.api.quantities import LARGEST, NANO, InvalidQuantity

# As apimachinery 0.36 reads them: the quantity in nano-units.
READ = [
    ("0", 0),
    ("1", NANO),
    ("+1", NANO),
    ("-1", -NANO),
    ("007", 7 * NANO),
    ("1.5", 1_500_000_000),
    ("1.", NANO),
    (".5", 500_000_000),
    ("-.5", -500_000_000),
    ("1n", 1),
    ("1u", 1_000),
    ("1m", 1_000_000),
    ("1k", 10**3 * NANO),
    ("1M", 10**6 * NANO),
    ("1G", 10**9 * NANO),
    ("1T", 10**12 * NANO),
    ("1P", 10**15 * NANO),
    ("1E", 10**18 * NANO),
    ("1Ki", 2**10 * NANO),
    ("1Mi", 2**20 * NANO),
    ("1Gi", 2**30 * NANO),
    ("1Ti", 2**40 * NANO),
    ("1Pi", 2**50 * NANO),
    ("1Ei", 2**60 * NANO),
    ("1.5Gi", 3 * 2**29 * NANO),
    ("0.1Ki", 102_400_000_000),
    ("1e3", 1_000 * NANO),
    ("1E3", 1_000 * NANO),
    ("1e+3", 1_000 * NANO),
    ("1e-3", 1_000_000),
    ("9E", 9 * 10**18 * NANO),
    ("0e100", 0),
]
NO_QUANTITIES = [
    *("", " ", "1 ", " 1", "1\n", "x", "1,000", "1_000", "0x10", "１"),
    *("--1", "+-1", "1K", "1ki", "1i", "1B", "1GB", "1Gib", "1e", "1e-", "1e1.5", "1e3k", "1mi", "NaN", "inf"),
    *(".", "+", "-", "Ki", "e3"),
    *("9" * 5_000, "1e" + "9" * 5_000, "0." + "1" * 5_000),
]
SMALLEST_FIRST = ["-1", "0", "1n", "1u", "1m", "999m", "1", "1001m", "1k", "1Ki", "1M", "1Mi", "1G", "1Gi", "1E", "1Ei"]

SUFFIXES = ["", *"numkMGTPE", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "e2", "E-2"]
TEXTS = st.builds(
    "{}{}{}".format,
    st.sampled_from(["", "+", "-"]),
    st.one_of(
        st.integers(0, 10**12).map(str),
        st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)).map(lambda parts: f"{parts[0]}.{parts[1]}"),
    ),
    st.sampled_from(SUFFIXES),
)


@pytest.mark.parametrize(("text", "expected"), READ)
def test_a_quantity_is_read_as_kubernetes_reads_it(text: str, expected: int) -> None:
    """Every form and suffix has its exact value."""
    assert quantities.nano(text) == expected


@pytest.mark.parametrize("text", NO_QUANTITIES, ids=lambda text: repr(text[:20]))
def test_what_is_no_quantity_is_refused(text: str) -> None:
    """Neither a wrong suffix nor a number without end is read."""
    with pytest.raises(InvalidQuantity, match="is not a quantity"):
        quantities.nano(text)


@pytest.mark.parametrize(
    ("text", "expected"), [("0.1n", 1), ("-0.1n", -1), ("1.0000000001", NANO + 1), ("1e-100", 1), ("-1e-100", -1)]
)
def test_what_is_finer_than_a_nano_unit_is_rounded_away_from_zero(text: str, expected: int) -> None:
    """Who asks for a little gets a little, not nothing."""
    assert quantities.nano(text) == expected


@pytest.mark.parametrize("text", ["8Ei", "10Ei", "9223372036854775808", "100E", "1e64", "1e100", "1e999999999"])
def test_counting_ends_at_the_largest_quantity(text: str) -> None:
    """A greater quantity is the largest one, whatever its exponent."""
    assert quantities.nano(text) == LARGEST
    assert quantities.nano(f"-{text}") == -LARGEST


@pytest.mark.parametrize(
    ("text", "whole", "milli"),
    [("1", 1, 1000), ("1500m", 2, 1500), ("1u", 1, 1), ("1.5Ki", 1536, 1536000), ("-1.5", -2, -1500), ("-1u", -1, -1)],
)
def test_whole_units_and_thousandths_are_rounded_away_from_zero(text: str, whole: int, milli: int) -> None:
    """Bytes and milli-CPU are never fewer than was asked for."""
    assert (quantities.whole(text), quantities.milli(text)) == (whole, milli)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1000m", "1"), ("1024", "1024"), ("1Ki", "1024"), ("1000", "1k"), ("1.5", "1500m"), ("1e18", "1E"), ("-0", "0")],
)
def test_equal_quantities_are_written_alike(text: str, expected: str) -> None:
    """The canonical text does not depend on how a quantity was written."""
    assert quantities.canonical(text) == expected


@pytest.mark.parametrize("number", [0, 1, -3, 2**40, 2**70])
def test_a_number_is_its_own_text(number: int) -> None:
    """An integer in JSON is the quantity that its digits are."""
    assert quantities.nano(number) == quantities.nano(str(number))


def test_quantities_compare_by_value() -> None:
    """Suffixes of both kinds have one order."""
    values = [quantities.nano(text) for text in SMALLEST_FIRST]
    assert values == sorted(set(values))


@given(TEXTS)
def test_the_canonical_text_has_the_same_value(text: str) -> None:
    """Nothing is lost in writing, and writing what was written changes nothing."""
    canonical = quantities.canonical(text)
    assert quantities.nano(canonical) == quantities.nano(text)
    assert quantities.canonical(canonical) == canonical


@given(st.integers(-LARGEST, LARGEST))
def test_every_value_can_be_written_and_read(value: int) -> None:
    """A whole number of nano-units survives."""
    assert quantities.nano(quantities.canonical(f"{value}n")) == value


@given(TEXTS)
def test_rounding_stays_below_one_unit(text: str) -> None:
    """The rounded amount is at least the exact one, and by less than a unit."""
    exact = abs(quantities.nano(text))
    assert 0 <= abs(quantities.whole(text)) * NANO - exact < NANO
    assert 0 <= abs(quantities.milli(text)) * 10**6 - exact < 10**6


@given(TEXTS.filter(lambda text: text[0] not in "+-"))
def test_a_minus_sign_turns_the_value(text: str) -> None:
    """A sign changes nothing else."""
    assert quantities.nano(f"-{text}") == -quantities.nano(text) == -quantities.nano(f"+{text}")


@given(st.text())
def test_any_text_is_a_quantity_or_refused(text: str) -> None:
    """No text raises anything but the error for it."""
    with contextlib.suppress(InvalidQuantity):
        assert abs(quantities.nano(text)) <= LARGEST
