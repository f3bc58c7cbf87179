"""The operator's rights as they are rendered."""

from collections.abc import Iterator

from grove.api.fields import JSON
from grove.install import rbac
from grove.operator.permissions import PERMISSIONS


def rights() -> Iterator[tuple[str, str, str, str]]:
    for one in PERMISSIONS:
        for resource in one.resources:
            for verb in one.verbs:
                yield one.where, one.group, resource, verb


def by_kind() -> dict[str, JSON]:
    return {one["kind"]: one for one in rbac.manifests("grove-system")}


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


def test_every_right_is_granted_once_with_a_reason() -> None:
    found = list(rights())
    assert len(set(found)) == len(found)
    assert all(one.reason for one in PERMISSIONS)
    granted = by_kind()["ClusterRole"]["rules"] + by_kind()["Role"]["rules"]
    assert sum(len(rule["resources"]) * len(rule["verbs"]) for rule in granted) == len(found)


def test_nothing_is_granted_wholesale() -> None:
    for _, group, resource, verb in rights():
        assert "*" not in (group, resource, verb)
        assert verb not in ("escalate", "bind", "impersonate")


def test_secrets_and_leases_are_reached_in_its_own_namespace_alone() -> None:
    assert {where for where, _, resource, _ in rights() if resource in ("secrets", "leases")} == {"own namespace"}


def test_the_operator_holds_what_it_grants_to_waiters() -> None:
    """Or the API server would not let it make their Roles."""
    assert {("cluster", "", "pods", verb) for verb in ("get", "list", "watch")} <= set(rights())
