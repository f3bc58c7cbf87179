"""Service accounts of Grove's programs and their rights, as objects to apply: `grove manifests operator-rbac`. Pure."""

from __future__ import annotations

from typing import Final

import msgspec

from grove.api.fields import JSON
from grove.operator.permissions import PERMISSIONS as OPERATOR_PERMISSIONS
from grove.runtime.permission import Permission, Where
from grove.scheduler.permissions import PERMISSIONS as SCHEDULER_PERMISSIONS


class Rights(msgspec.Struct, frozen=True):
    """A program, by the name of its account, and all that it may do."""

    account: str
    permissions: tuple[Permission, ...]

    @property
    def cluster_role(self) -> str:
        return f"grove:system:{self.account}"

    @property
    def role(self) -> str:
        """What it needs in its own namespace, such as its lease."""
        return f"grove:system:{self.account}-lease"

    def rows(self) -> list[tuple[str, ...]]:
        """Every right with its reason, for people."""
        return [
            (one.group or "core", ",".join(one.resources), ",".join(one.verbs), one.where, one.reason)
            for one in self.permissions
        ]


OPERATOR: Final = Rights("grove-operator", OPERATOR_PERMISSIONS)
SCHEDULER: Final = Rights("grove-scheduler", SCHEDULER_PERMISSIONS)
GROUP: Final = "rbac.authorization.k8s.io"


def manifests(namespace: str, account: str = "", *, rights: Rights = OPERATOR) -> list[JSON]:
    """All objects, in the order in which they can be created."""
    account = account or rights.account
    labels = {"app.kubernetes.io/name": rights.account, "app.kubernetes.io/part-of": "grove"}

    def metadata(name: str, namespace: str = "") -> JSON:
        found: JSON = {"name": name, "labels": dict(labels)}
        return {**found, "namespace": namespace} if namespace else found

    def role(kind: str, metadata: JSON, where: Where) -> JSON:
        rules = [rule(one) for one in rights.permissions if one.where == where]
        return {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": metadata, "rules": rules}

    def binding(kind: str, role: str, metadata: JSON) -> JSON:
        return {
            "apiVersion": f"{GROUP}/v1",
            "kind": kind,
            "metadata": metadata,
            "roleRef": {"apiGroup": GROUP, "kind": role, "name": metadata["name"]},
            "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": namespace}],
        }

    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata(account, namespace)},
        role("ClusterRole", metadata(rights.cluster_role), "cluster"),
        binding("ClusterRoleBinding", "ClusterRole", metadata(rights.cluster_role)),
        role("Role", metadata(rights.role, namespace), "own namespace"),
        binding("RoleBinding", "Role", metadata(rights.role, namespace)),
    ]


def rule(permission: Permission) -> JSON:
    """The rule of a role that grants it."""
    found: JSON = {
        "apiGroups": [permission.group],
        "resources": list(permission.resources),
        "verbs": list(permission.verbs),
    }
    return {**found, "resourceNames": list(permission.names)} if permission.names else found
