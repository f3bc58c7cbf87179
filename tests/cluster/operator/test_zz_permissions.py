"""The rights of the operator, after all other tests here: nothing was forbidden, and nothing was in vain.

Named so that it runs last; alone it says little.
"""

import pytest

from grove.operator.permissions import PERMISSIONS
from tests.cluster.audit import Audit
from tests.cluster.operator.operator import Operator

RARE = frozenset(
    {
        # Asked when the answer to a creation was lost just there, which tests leave to chance.
        ("get", "pods"),
        ("get", "podgangs"),
        # A waiter's rights go with its set; alone only where a set changes so that nobody waits any more.
        ("delete", "roles"),
        ("delete", "rolebindings"),
    }
)


def test_nothing_was_forbidden(operator: Operator, audit: Audit) -> None:
    assert audit.forbidden() == []


def test_every_right_was_used(request: pytest.FixtureRequest, operator: Operator, audit: Audit) -> None:
    modules = {item.path.name for item in request.session.items}
    needed = {path.name for path in request.path.parent.glob("test_*.py")}
    if not needed <= modules:
        return  # not all tests ran: what was not asked for says nothing
    assert audit.unused(PERMISSIONS, RARE) == []
