"""Starting with the exact solver."""

from __future__ import annotations

import msgspec
import pytest

from grove.api.kinds.schedulerconfig import Placement, SchedulerConfiguration
from grove.runtime.exits import CannotRun, Exit
from grove.scheduler import process

WANTED = SchedulerConfiguration(placement=msgspec.structs.replace(Placement(), exact_solver=True))


def test_a_solver_that_is_wanted_and_not_installed_is_said_at_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(CannotRun, match=r"placement\.exactSolver") as caught:
        process.check_solver(WANTED)
    assert caught.value.code == Exit.CONFIGURATION
    assert "grove[solver]" in caught.value.remedy


def test_one_that_is_installed_is_none_of_its_business() -> None:
    process.check_solver(WANTED)
    process.check_solver(SchedulerConfiguration())
