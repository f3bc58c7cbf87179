"""The rights of Grove's programs as they are rendered."""

from collections.abc import Iterator

import pytest

from grove.api.fields import JSON
from grove.install import rbac
from grove.install.rbac import OPERATOR, SCHEDULER, Rights
from grove.operator.permissions import CLUSTER_ROLE

PROGRAMS = pytest.mark.parametrize("program", [OPERATOR, SCHEDULER], ids=lambda one: one.account)


def rights(program: Rights = OPERATOR) -> Iterator[tuple[str, str, str, str]]:
    for one in program.permissions:
        for resource in one.resources:
            for verb in one.verbs:
                yield one.where, one.group, resource, verb


def by_kind(program: Rights = OPERATOR) -> dict[str, JSON]:
    return {one["kind"]: one for one in rbac.manifests("grove-system", rights=program)}


def test_the_names_are_those_of_go_groves_chart() -> None:
    found = by_kind()
    assert found["ServiceAccount"]["metadata"]["name"] == "grove-operator"
    assert found["ClusterRole"]["metadata"]["name"] == "grove:system:grove-operator"
    assert found["ClusterRoleBinding"]["roleRef"]["name"] == "grove:system:grove-operator"
    assert found["Role"]["metadata"] == found["RoleBinding"]["metadata"]
    assert found["Role"]["metadata"]["name"] == "grove:system:grove-operator-lease"
    for kind in ("ClusterRoleBinding", "RoleBinding"):
        assert found[kind]["subjects"] == [
            {"kind": "ServiceAccount", "name": "grove-operator", "namespace": "grove-system"}
        ]


@PROGRAMS
def test_every_right_is_granted_once_with_a_reason(program: Rights) -> None:
    found = list(rights(program))
    assert len(set(found)) == len(found)
    assert all(one.reason for one in program.permissions)
    granted = by_kind(program)["ClusterRole"]["rules"] + by_kind(program)["Role"]["rules"]
    assert sum(len(rule["resources"]) * len(rule["verbs"]) for rule in granted) == len(found)


@PROGRAMS
def test_nothing_is_granted_wholesale(program: Rights) -> None:
    for _, group, resource, verb in rights(program):
        assert "*" not in (group, resource, verb)
        assert verb not in ("escalate", "bind", "impersonate")


@PROGRAMS
def test_secrets_and_leases_are_reached_in_its_own_namespace_alone(program: Rights) -> None:
    found = {where for where, _, resource, _ in rights(program) if resource in ("secrets", "leases")}
    assert found == {"own namespace"}


def test_the_scheduler_reads_no_secrets_and_makes_no_pods() -> None:
    found = {(resource, verb) for _, _, resource, verb in rights(SCHEDULER)}
    assert not {resource for resource, _ in found} & {"secrets", "configmaps"}
    assert not {("pods", "create"), ("pods", "patch"), ("podgangs", "create"), ("podgangs", "delete")} & found


def test_the_operator_holds_what_it_grants_to_waiters() -> None:
    """Or the API server would not let it make their Roles."""
    assert {("cluster", "", "pods", verb) for verb in ("get", "list", "watch")} <= set(rights())


def test_the_role_that_owns_the_webhooks_is_the_operators() -> None:
    assert by_kind()["ClusterRole"]["metadata"]["name"] == CLUSTER_ROLE


def test_a_right_on_some_objects_names_them() -> None:
    [rule] = [one for one in by_kind()["ClusterRole"]["rules"] if one["resources"] == ["clusterroles"]]
    assert (rule["verbs"], rule["resourceNames"]) == (["get"], [CLUSTER_ROLE])
