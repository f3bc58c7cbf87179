"""Who belongs to whom."""

from grove.api.kinds.meta import ObjectMeta, OwnerReference
from grove.operator import owners
from grove.operator.resources import POD_CLIQUE_SETS


def reference(uid: str, *, controller: bool | None = True) -> OwnerReference:
    return OwnerReference(
        api_version="grove.io/v1alpha1", kind="PodCliqueSet", name="demo", uid=uid, controller=controller
    )


def test_only_the_controller_counts_however_many_owners_there_are() -> None:
    child = ObjectMeta(owner_references=(reference("other", controller=None), reference("mine")))
    assert owners.is_controlled_by(child, ObjectMeta(name="demo", uid="mine"))
    assert not owners.is_controlled_by(child, ObjectMeta(name="demo", uid="other"))
    assert owners.controller_uids(child, None) == ("mine",)


def test_what_nobody_controls_belongs_to_nobody() -> None:
    for found in ((), (reference("mine", controller=False),)):
        child = ObjectMeta(owner_references=found)
        assert owners.controller_of(child) is None
        assert owners.controller_uids(child, None) == ()
        assert not owners.is_controlled_by(child, ObjectMeta(name="demo", uid="mine"))


def test_an_owner_of_the_same_name_before_is_another() -> None:
    child = ObjectMeta(owner_references=(reference("before"),))
    assert not owners.is_controlled_by(child, ObjectMeta(name="demo", uid="after"))


def test_a_reference_makes_the_owner_the_controller() -> None:
    assert owners.reference(POD_CLIQUE_SETS, ObjectMeta(name="demo", uid="u")) == {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "PodCliqueSet",
        "name": "demo",
        "uid": "u",
        "controller": True,
        "blockOwnerDeletion": True,
    }
