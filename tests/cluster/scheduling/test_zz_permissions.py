"""The rights of the scheduler, after all other tests here: nothing was forbidden, and nothing was in vain.

Named so that it runs last; alone it says little.
"""

import pytest

from grove.runtime.permission import Permission
from grove.scheduler.permissions import PERMISSIONS
from tests.cluster.audit import NAMESPACE, Asked, Audit
from tests.cluster.scheduling.scheduler import Scheduler

RARE = frozenset(
    {
        # Asked after a conflict, a lost answer, or when a pod was refused by its node.
        ("get", "pods"),
    }
)


def uses(permission: Permission, resource: str, verb: str, asked: set[Asked]) -> bool:
    return any(
        (one.group, one.resource, one.verb) == (permission.group, resource, verb)
        and (permission.where == "cluster" or one.namespace == NAMESPACE)
        for one in asked
    )


def test_nothing_was_forbidden(scheduler: Scheduler, audit: Audit) -> None:
    assert audit.forbidden() == []


def test_every_right_was_used(request: pytest.FixtureRequest, scheduler: Scheduler, audit: Audit) -> None:
    modules = {item.path.name for item in request.session.items}
    needed = {path.name for path in request.path.parent.glob("test_*.py")}
    if not needed <= modules:
        return  # not all tests ran: what was not asked for says nothing
    asked = audit.asked()
    unused = [
        f"{verb} {resource}.{permission.group}"
        for permission in PERMISSIONS
        if permission.by_request
        for resource in permission.resources
        for verb in permission.verbs
        if not (verb == "list" and uses(permission, resource, "watch", asked))  # where the server streams no lists
        and (verb, resource) not in RARE
        and not uses(permission, resource, verb, asked)
    ]
    assert not unused
