"""When a large group is looked at again."""

import pytest

from grove.operator.ease import Ease


def test_what_was_looked_at_rests_ten_times_as_long_as_it_took() -> None:
    ease: Ease[str] = Ease()
    assert ease.wait("a", 100.0) == 0.0
    ease.looked("a", 100.0, 100.01)
    assert ease.wait("a", 100.01) == pytest.approx(0.1)
    assert ease.wait("a", 100.06) == pytest.approx(0.05)
    assert ease.wait("a", 101.0) == 0.0
    assert ease.wait("b", 100.01) == 0.0


def test_looks_add_up_and_no_rest_is_long() -> None:
    ease: Ease[str] = Ease()
    ease.looked("a", 100.0, 100.01)
    ease.looked("a", 100.02, 100.03)
    assert ease.wait("a", 100.03) == pytest.approx(0.18)
    ease.looked("a", 101.0, 103.0)
    assert ease.wait("a", 103.0) == 0.25


def test_what_is_gone_is_forgotten() -> None:
    ease: Ease[str] = Ease()
    ease.looked("a", 1.0, 2.0)
    ease.forget("a")
    ease.forget("never seen")
    assert len(ease) == 0
    assert ease.wait("a", 2.0) == 0.0
