"""What waiters are allowed, and under which names."""

from grove.operator.podcliqueset import access
from grove.operator.tree import Tree
from tests.unit.operator.podcliqueset.builders import Stage, clique, pcs

IN_ORDER = "CliqueStartupTypeInOrder"


def test_where_nobody_waits_nobody_is_allowed_anything() -> None:
    stage = Stage(pcs(clique("a"), clique("b")))
    stage.settle()
    assert not stage.roles
    assert not stage.role_bindings


def test_waiters_may_see_pods_and_do_nothing_else() -> None:
    (role,) = access.wanted_role(Tree(pcs(clique("a"), clique("b"), cliqueStartupType=IN_ORDER), {}))
    assert role["metadata"]["name"] == "grove.io:pcs:demo"
    assert role["metadata"]["labels"]["app.kubernetes.io/name"] == "grove.io-pcs-demo"
    assert role["rules"] == [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]}]


def test_only_accounts_of_pods_that_wait_are_bound() -> None:
    cliques = [
        clique("a", pod={"serviceAccountName": "first"}),
        clique("b", pod={"serviceAccountName": "second"}),
        clique("c"),
        clique("d", pod={"serviceAccountName": "second"}),
    ]
    (binding,) = access.wanted_binding(Tree(pcs(*cliques, cliqueStartupType=IN_ORDER), {}))
    assert binding["subjects"] == [
        {"kind": "ServiceAccount", "name": name, "namespace": "default"} for name in ("default", "second")
    ]
    assert binding["roleRef"] == {
        "apiGroup": "rbac.authorization.k8s.io",
        "kind": "Role",
        "name": "grove.io:pcs:demo",
    }


def test_rules_and_subjects_that_somebody_changed_are_put_right() -> None:
    stage = Stage(pcs(clique("a"), clique("b"), cliqueStartupType=IN_ORDER))
    stage.settle()
    stage.roles["grove.io:pcs:demo"]["rules"] = []
    stage.role_bindings["grove.io:pcs:demo"]["subjects"][0]["name"] = "somebody"
    found = stage.snapshot()
    assert access.plan_role(stage.tree, found.roles).patches[0].change == {"rules": access.RULES}
    (patch,) = access.plan_binding(stage.tree, found.role_bindings).patches
    assert [one["name"] for one in patch.change["subjects"]] == ["default"]


def test_another_account_of_the_template_is_bound_instead() -> None:
    stage = Stage(pcs(clique("a"), clique("b"), cliqueStartupType=IN_ORDER))
    stage.settle()
    stage.pcs = pcs(clique("a"), clique("b", pod={"serviceAccountName": "new"}), cliqueStartupType=IN_ORDER)
    (patch,) = access.plan_binding(stage.tree, stage.snapshot().role_bindings).patches
    assert [one["name"] for one in patch.change["subjects"]] == ["new"]


def test_a_binding_to_another_role_is_deleted_since_it_cannot_be_changed() -> None:
    stage = Stage(pcs(clique("a"), clique("b"), cliqueStartupType=IN_ORDER))
    stage.settle()
    stage.role_bindings["grove.io:pcs:demo"]["roleRef"]["name"] = "admin"
    found = access.plan_binding(stage.tree, stage.snapshot().role_bindings)
    assert [one.name for one in found.deletes] == ["grove.io:pcs:demo"]
    assert not found.patches
