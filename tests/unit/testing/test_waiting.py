import pytest

from grove.testing.waiting import TimedOutError, eventually


def test_what_is_so_at_once_is_returned_even_without_time() -> None:
    assert eventually(lambda: "here", timeout=0) == "here"


def test_it_looks_until_the_condition_accepts() -> None:
    numbers = iter(range(10))
    assert eventually(lambda: next(numbers), lambda number: number >= 2, timeout=5) == 2


def test_a_wait_that_fails_says_what_was_seen_last() -> None:
    with pytest.raises(TimedOutError, match=r"pod is not there within 0\.05 s; last seen: 'Pending'"):
        eventually(lambda: "Pending", lambda phase: phase == "Running", timeout=0.05, message="pod is not there")


def test_what_looking_raises_ends_the_wait() -> None:
    def look() -> bool:
        raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        eventually(look)
