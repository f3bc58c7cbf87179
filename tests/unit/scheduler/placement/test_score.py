"""How good placements are."""

from __future__ import annotations

from grove.scheduler.gangs import Pack, Scope
from grove.scheduler.placement.options import Options
from grove.scheduler.placement.problem import Problem
from grove.scheduler.placement.score import WHOLE, score, worth
from tests.unit.scheduler.fleets import BLOCK, KEYS, RACK, fleet, gang, group, spec


def test_a_pod_is_worth_less_for_each_level_that_its_scope_is_wider() -> None:
    assert [worth(2, reached) for reached in (3, 2, 1, 0, -1)] == [
        WHOLE,
        WHOLE,
        WHOLE // 2,
        WHOLE // 3,
        WHOLE // 4,
    ]


def test_only_what_reaches_the_bound_is_one() -> None:
    assert score(WHOLE, WHOLE) == 1.0
    assert score(0, 0) == 1.0
    assert score(10**6 * WHOLE - 1, 10**6 * WHOLE) < 1.0


def test_the_pods_of_all_scopes_with_a_preference_count() -> None:
    cluster = fleet(2, 2, blocks=2)
    inner = Scope("inner", Pack(None, RACK), KEYS, (), (group(cluster, "w", 2, spec(gpus=8)),))
    wanted = gang(group(cluster, "v", 1, spec(gpus=1)), scopes=[inner], preferred=BLOCK)
    problem = Problem(cluster, wanted, Options())
    assert problem.quality([[0], [0, 1]]) == 3 * WHOLE + 2 * WHOLE
    assert problem.quality([[2], [0, 1]]) == 3 * WHOLE // 2 + 2 * WHOLE
    assert problem.quality([[2], [0, 2]]) == 3 * WHOLE // 2 + 2 * WHOLE // 3
