"""The rights of the scheduler, after all other tests here: nothing was forbidden, and nothing was in vain.

Named so that it runs last; alone it says little.
"""

import pytest

from grove.scheduler.permissions import PERMISSIONS
from tests.cluster.audit import Audit
from tests.cluster.scheduling.scheduler import Scheduler

RARE = frozenset(
    {
        # Asked after a conflict, a lost answer, or when a pod was refused by its node.
        ("get", "pods"),
        # An event that happened again.
        ("patch", "events"),
    }
)


def test_nothing_was_forbidden(scheduler: Scheduler, audit: Audit) -> None:
    assert audit.forbidden() == []


def test_every_right_was_used(request: pytest.FixtureRequest, scheduler: Scheduler, audit: Audit) -> None:
    modules = {item.path.name for item in request.session.items}
    needed = {path.name for path in request.path.parent.glob("test_*.py")}
    if not needed <= modules:
        return  # not all tests ran: what was not asked for says nothing
    assert audit.unused(PERMISSIONS, RARE) == []
