import pytest

from grove.nodes.moments import Now, seconds, stamp
from grove.testing.virtualtime import EPOCH, World


@pytest.mark.parametrize(
    ("moment", "text"),
    [(0, "1970-01-01T00:00:00Z"), (1_800_000_000.999, "2027-01-15T08:00:00Z"), (951_782_400, "2000-02-29T00:00:00Z")],
)
def test_a_moment_is_written_to_the_second_and_never_as_to_come(moment: float, text: str) -> None:
    assert stamp(moment) == text
    assert seconds(text) == int(moment)


@pytest.mark.parametrize("text", ["2027-01-15T08:00:00.250000Z", "2027-01-15T09:00:00.25+01:00"])
def test_other_forms_of_a_moment_are_read_too(text: str) -> None:
    assert seconds(text) == 1_800_000_000.25


def test_what_is_not_written_is_no_moment() -> None:
    assert seconds(None) is seconds("") is None


def test_now_goes_on_with_time_and_does_not_jump_with_the_time_of_day() -> None:
    with World() as world:
        process = world.process()
        now = Now(process.clock)
        assert now() == EPOCH.timestamp()
        world.advance(2.5)
        assert now() == EPOCH.timestamp() + 2.5
