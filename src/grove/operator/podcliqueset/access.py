"""What the waiters in a set's pods are allowed: to see pods, under the service accounts that they run as. Pure.

Where no clique waits for another there is neither Role nor RoleBinding.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from grove.api import labels, names
from grove.api.fields import JSON
from grove.kube.resources import ROLE_BINDINGS, ROLES, Resource
from grove.operator import startup
from grove.operator.podcliqueset import children
from grove.operator.podcliqueset.children import Patch, Plan
from grove.operator.tree import Tree
from grove.operator.views import RoleBindingView, RoleView

DEFAULT_ACCOUNT: Final = "default"
"""The service account of pods that name none."""

RULES: Final[list[JSON]] = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]}]


def plan_role(tree: Tree, existing: Iterable[RoleView]) -> Plan:
    """What must be written so that the Role allows what waiters do, and no more."""
    return children.plan(wanted_role(tree), existing, _role_change)


def plan_binding(tree: Tree, existing: Iterable[RoleBindingView]) -> Plan:
    """What must be written so that the Role is given to those under whom pods wait.

    The API server lets nobody change the role of a binding: one with another role is deleted, and made anew after that.
    """
    held = list(existing)
    found = children.plan(wanted_binding(tree), held, _binding_change)
    wrong = [one.metadata for one in held if one.role_ref != _reference(tree) and not children.is_going(one.metadata)]
    if not wrong:
        return found
    names = {one.name for one in wrong} | {one.name for one in found.deletes}
    kept = tuple(one for one in found.patches if one.held.name not in names)
    return Plan(found.creates, kept, (*(one for one in found.deletes if one not in wrong), *wrong))


def wanted_role(tree: Tree) -> list[JSON]:
    return [{**_body(tree, ROLES, labels.COMPONENT_ROLE), "rules": RULES}] if startup.waits(tree) else []


def wanted_binding(tree: Tree) -> list[JSON]:
    accounts = waiting_accounts(tree)
    if not accounts:
        return []
    body = _body(tree, ROLE_BINDINGS, labels.COMPONENT_ROLE_BINDING)
    subjects = [{"kind": "ServiceAccount", "name": name, "namespace": tree.namespace} for name in accounts]
    return [{**body, "roleRef": _reference(tree), "subjects": subjects}]


def waiting_accounts(tree: Tree) -> list[str]:
    """The service accounts under which pods wait, sorted."""
    specs = (tree.cliques[clique].spec.pod_spec for clique in startup.waits(tree))
    return sorted({spec.get("serviceAccountName") or spec.get("serviceAccount") or DEFAULT_ACCOUNT for spec in specs})


def _body(tree: Tree, resource: Resource, component: str) -> JSON:
    marks = {
        **labels.common(tree.name),
        labels.NAME: names.role_label(tree.name),
        labels.POD_CLIQUE_SET: tree.name,
        labels.COMPONENT: component,
    }
    return children.body(tree, resource, names.role(tree.name), marks)


def _reference(tree: Tree) -> JSON:
    return {"apiGroup": ROLES.group, "kind": ROLES.kind, "name": names.role(tree.name)}


def _role_change(body: JSON, held: RoleView) -> Patch | None:
    same = list(held.rules or ()) == body["rules"]
    return children.patch_of(body, held.metadata, {} if same else {"rules": body["rules"]})


def _binding_change(body: JSON, held: RoleBindingView) -> Patch | None:
    same = sorted(map(_subject, held.subjects or ())) == sorted(map(_subject, body["subjects"]))
    return children.patch_of(body, held.metadata, {} if same else {"subjects": body["subjects"]})


def _subject(subject: JSON) -> tuple[str, str, str]:
    return (subject.get("kind", ""), subject.get("namespace", ""), subject.get("name", ""))
