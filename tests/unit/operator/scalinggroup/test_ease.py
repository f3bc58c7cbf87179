"""When a large group is looked at again."""

from grove.operator.scalinggroup.ease import Ease


def test_what_was_looked_at_rests_ten_times_as_long_as_it_took() -> None:
    ease: Ease[str] = Ease()
    assert ease.wait("a", 100.0) == 0.0
    ease.looked("a", 100.0, 100.5)
    assert ease.wait("a", 100.5) == 5.0
    assert ease.wait("a", 104.5) == 1.0
    assert ease.wait("a", 106.0) == 0.0
    assert ease.wait("b", 100.5) == 0.0


def test_what_is_gone_is_forgotten() -> None:
    ease: Ease[str] = Ease()
    ease.looked("a", 1.0, 2.0)
    ease.forget("a")
    ease.forget("never seen")
    assert len(ease) == 0
    assert ease.wait("a", 2.0) == 0.0
