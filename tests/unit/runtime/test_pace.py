"""When a status that changes again and again is written."""

import pytest

from grove.runtime.pace import COMING_UP, Pace


def test_a_status_waits_until_it_has_been_the_same_for_a_second() -> None:
    pace: Pace[str] = Pace()
    assert pace.wait("a", 1, 10.0) == 1.0
    assert pace.wait("a", 1, 10.4) == pytest.approx(0.6)
    assert pace.wait("a", 1, 11.0) == 0.0


def test_a_change_makes_it_wait_anew() -> None:
    pace: Pace[str] = Pace()
    pace.wait("a", 1, 10.0)
    assert pace.wait("a", 2, 10.9) == 1.0


def test_what_never_rests_is_written_after_five_seconds() -> None:
    pace: Pace[str] = Pace()
    waits = [pace.wait("a", number, 10.0 + number / 2) for number in range(11)]
    assert waits[0] == 1.0
    assert waits[10] == 0.0
    assert all(wait > 0.0 for wait in waits[:10])


def test_keys_wait_by_themselves_and_what_is_written_is_forgotten() -> None:
    pace: Pace[str] = Pace()
    pace.wait("a", 1, 10.0)
    assert pace.wait("b", 1, 11.0) == 1.0
    pace.forget("a")
    pace.forget("never seen")
    assert len(pace) == 1
    assert pace.wait("a", 1, 12.0) == 1.0


def test_what_comes_up_may_wait_longer() -> None:
    pace: Pace[str] = Pace()
    assert pace.wait("a", 1, 10.0, COMING_UP) == 3.0
    assert pace.wait("a", 2, 12.0, COMING_UP) == 3.0
    assert pace.wait("a", 3, 19.5, COMING_UP) == pytest.approx(0.5)


def test_in_a_crowd_what_comes_up_waits_longer_and_what_is_steady_does_not() -> None:
    pace: Pace[int] = Pace()
    for number in range(200):
        pace.wait(number, 1, 10.0, COMING_UP)
    assert pace.wait(0, 1, 10.0, COMING_UP) == pytest.approx(3.0 + 199 * 0.05)
    assert pace.wait(0, 1, 10.0) == 1.0
    for number in range(2000):
        pace.wait(number, 1, 10.0, COMING_UP)
    assert pace.wait(0, 1, 10.0, COMING_UP) == 23.0
    for number in range(1, 2000):
        pace.forget(number)
    assert pace.wait(0, 1, 13.0, COMING_UP) == 0.0
