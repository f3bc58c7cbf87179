"""The operator's service account and its rights, as objects to apply: `grove manifests operator-rbac`. Pure."""

from __future__ import annotations

from typing import Final

from grove.api.fields import JSON
from grove.operator.permissions import CLUSTER_ROLE, PERMISSIONS, Permission, Where

ACCOUNT: Final = "grove-operator"
ROLE: Final = "grove:system:grove-operator-lease"
"""What the operator needs in its own namespace: its lease, and the certificate of its webhooks."""
GROUP: Final = "rbac.authorization.k8s.io"
LABELS: Final = {"app.kubernetes.io/name": ACCOUNT, "app.kubernetes.io/part-of": "grove"}


def manifests(namespace: str, account: str = ACCOUNT) -> list[JSON]:
    """All objects, in the order in which they can be created."""
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": _metadata(account, namespace)},
        _role("ClusterRole", _metadata(CLUSTER_ROLE), "cluster"),
        _binding("ClusterRoleBinding", "ClusterRole", _metadata(CLUSTER_ROLE), namespace, account),
        _role("Role", _metadata(ROLE, namespace), "own namespace"),
        _binding("RoleBinding", "Role", _metadata(ROLE, namespace), namespace, account),
    ]


def rule(permission: Permission) -> JSON:
    """The rule of a role that grants it."""
    found: JSON = {
        "apiGroups": [permission.group],
        "resources": list(permission.resources),
        "verbs": list(permission.verbs),
    }
    return {**found, "resourceNames": list(permission.names)} if permission.names else found


def _role(kind: str, metadata: JSON, where: Where) -> JSON:
    rules = [rule(one) for one in PERMISSIONS if one.where == where]
    return {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": metadata, "rules": rules}


def _binding(kind: str, role: str, metadata: JSON, namespace: str, account: str) -> JSON:
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": kind,
        "metadata": metadata,
        "roleRef": {"apiGroup": GROUP, "kind": role, "name": metadata["name"]},
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": namespace}],
    }


def _metadata(name: str, namespace: str = "") -> JSON:
    found: JSON = {"name": name, "labels": dict(LABELS)}
    return {**found, "namespace": namespace} if namespace else found


def rows() -> list[tuple[str, ...]]:
    """Every right with its reason, for people."""
    return [
        (one.group or "core", ",".join(one.resources), ",".join(one.verbs), one.where, one.reason)
        for one in PERMISSIONS
    ]
