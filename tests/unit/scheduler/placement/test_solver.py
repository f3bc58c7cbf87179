"""The exact solver in a process of its own."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from grove.scheduler.placement import solver
from grove.scheduler.placement.budget import Budget
from grove.scheduler.placement.exact import Question, Solution, question
from grove.scheduler.placement.options import Options
from grove.scheduler.placement.place import place
from grove.scheduler.placement.problem import Problem
from grove.scheduler.placement.solver import MISSING, Request, Solver, solve
from grove.scheduler.placement.supply import Supply
from grove.scheduler.verdicts import Found, NotFound
from tests.model.feasible import unlike
from tests.unit.scheduler.checker import faults
from tests.unit.scheduler.fleets import RACK, fleet, gang, group, spec


@pytest.fixture
def exact() -> Iterator[Solver]:
    made = Solver()
    yield made
    made.close()


def asked(gpus: int) -> Question:
    cluster = fleet(2, 2)
    groups = [group(cluster, "a", 2, spec(gpus=gpus)), group(cluster, "b", 2, spec(gpus=8 - gpus))]
    problem = Problem(cluster, gang(*groups, required=RACK), Options())
    found = question(problem, Supply(problem))
    assert found is not None
    return found


def test_it_is_asked_where_the_search_ends_undecided_and_finds_a_place(exact: Solver) -> None:
    for seed in (6, 20, 46):
        cluster, wanted = unlike(random.Random(seed))
        answer = place(cluster, wanted, Budget(8), options=Options(exact=exact))
        assert isinstance(answer, Found)
        assert [*faults(cluster, wanted, answer)] == []
        assert answer.score == 1.0
    assert exact.asked > 0


def test_it_proves_that_there_is_no_place() -> None:
    question_ = asked(5)
    impossible = Question(
        question_.slots,
        tuple(tuple(amount // 2 for amount in free) for free in question_.free),
        *(getattr(question_, name) for name in ("requests", "most", "loads", "parents", "domains")),
    )
    assert solve(Request(question_, 1.0)).verdict == "best"
    assert solve(Request(impossible, 1.0)).verdict == "none"


def test_the_same_question_has_the_same_answer(exact: Solver) -> None:
    assert exact(asked(3)) == exact(asked(3)) == solve(Request(asked(3), solver.WORK))


def test_a_worker_that_dies_is_replaced_and_given_up_at_last(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    made = Solver()
    monkeypatch.setattr(sys, "executable", "/bin/false")
    for _ in range(5):
        answer = made(asked(3))
        assert answer.verdict == "unknown"
        assert answer.trouble.startswith("the exact solver died")
    assert made.asked == 3
    monkeypatch.undo()


def test_a_worker_is_started_again_after_it_died(exact: Solver) -> None:
    assert exact(asked(3)).verdict == "best"
    assert exact._worker is not None
    exact._worker.kill()
    exact._worker.wait()
    assert exact(asked(3)).verdict == "unknown"
    assert exact(asked(3)).verdict == "best"
    assert exact.trouble == ""


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "grove.scheduler.placement.satmodel", None)
    assert solve(Request(asked(3), 1.0)) == Solution("unknown", trouble=MISSING)
    cluster, wanted = unlike(random.Random(20))
    made = place(cluster, wanted, Budget(8), options=Options(exact=lambda one: solve(Request(one, 1.0))))
    assert isinstance(made, NotFound)
    assert not made.proven
