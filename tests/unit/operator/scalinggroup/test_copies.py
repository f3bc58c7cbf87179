"""How the copies of a scaling group fare."""

from __future__ import annotations

from typing import Any

from grove.kube.objects import PodView
from grove.operator.scalinggroup.copies import Copy, look
from grove.operator.tree import Tree
from grove.operator.views import PodCliqueView
from tests.unit.operator.scalinggroup.builders import (
    PLACE,
    START,
    CliqueStore,
    after,
    condition,
    leader_and_worker,
    pods,
)

TREE = Tree(leader_and_worker(), {})
LEADER, WORKER = "x-0-sg-0-leader", "x-0-sg-0-worker"
WELL = [condition("PodCliqueScheduled", "True"), condition("MinAvailableBreached", "False")]
BROKEN = [condition("PodCliqueScheduled", "True"), condition("MinAvailableBreached", "True", 100)]


def one_copy(conditions: Any = WELL) -> CliqueStore:
    store = CliqueStore.of(TREE, TREE.member_places(0, "sg", 0))
    for name in store.bodies:
        store.patch(name, {"status": {"conditions": conditions}})
    return store


def all_ready(view: PodCliqueView) -> tuple[PodView, ...]:
    return pods(view)


def the_copy(store: CliqueStore, pods_of: Any = all_ready, tree: Tree = TREE) -> Copy:
    (found,) = look(tree, PLACE, 1, store.views(), pods_of)
    return found


def test_a_copy_with_all_pods_ready_is_scheduled_available_updated_and_healthy() -> None:
    found = the_copy(one_copy())
    assert found.index == 0
    assert (found.is_scheduled, found.is_available, found.is_updated, found.is_healthy) == (True,) * 4
    assert not found.is_old
    assert found.updated_members == 2
    assert found.progressed == after(60)


def test_a_copy_that_is_not_there_is_nothing() -> None:
    assert the_copy(CliqueStore()) == Copy(index=0)


def test_a_copy_with_a_missing_or_leaving_member_is_not_available() -> None:
    store = one_copy()
    store.delete(LEADER)
    found = the_copy(store)
    assert len(found.members) == 2
    assert (found.is_scheduled, found.is_available, found.is_updated, found.is_healthy) == (False,) * 4
    store.sweep()
    assert not the_copy(store).is_available
    assert the_copy(store).updated_members == 1


def test_a_copy_is_as_available_as_its_weakest_member() -> None:
    found = the_copy(one_copy(), lambda view: () if view.metadata.name == WORKER else pods(view))
    assert not found.is_scheduled
    assert not found.is_available
    found = the_copy(one_copy(), lambda view: pods(view, ready=view.metadata.name != WORKER))
    assert found.is_scheduled
    assert not found.is_available


def test_a_copy_is_old_if_one_member_has_another_template() -> None:
    new = Tree(leader_and_worker(image="server:v2"), {})
    found = the_copy(one_copy(), tree=new)
    assert found.is_old
    assert found.is_available
    assert not found.is_updated


def test_members_that_are_leaving_do_not_make_a_copy_old() -> None:
    store = one_copy()
    store.delete(LEADER)
    store.delete(WORKER)
    assert not the_copy(store, tree=Tree(leader_and_worker(image="server:v2"), {})).is_old


def test_a_copy_is_healthy_by_its_pods_whatever_its_members_say_so_far() -> None:
    assert the_copy(one_copy(conditions=[])).is_healthy
    assert the_copy(one_copy(BROKEN)).is_healthy
    assert not the_copy(one_copy(), lambda view: pods(view, node="", ready=False)).is_healthy
    assert the_copy(one_copy(), lambda view: pods(view, ready=False)).is_healthy, "they are on their way"


def test_a_copy_is_broken_since_the_first_of_its_members_is() -> None:
    store = one_copy(BROKEN)
    worse = [condition("PodCliqueScheduled", "True"), condition("MinAvailableBreached", "True", 50)]
    store.patch(WORKER, {"status": {"conditions": worse}})
    found = the_copy(store, lambda _: ())
    assert found.breached_since == after(50)
    assert not found.is_healthy


def test_members_that_never_were_scheduled_do_not_count_as_broken() -> None:
    never = [condition("PodCliqueScheduled", "False", 1), condition("MinAvailableBreached", "True", 1)]
    assert the_copy(one_copy(never), lambda _: ()).breached_since is None


def test_a_late_status_does_not_make_a_recovered_member_broken() -> None:
    assert the_copy(one_copy(BROKEN)).breached_since is None


def test_all_copies_that_are_to_exist_are_looked_at() -> None:
    assert [copy.index for copy in look(TREE, PLACE, 3, one_copy().views(), all_ready)] == [0, 1, 2]
    assert not look(TREE, PLACE, 0, one_copy().views(), all_ready)


def test_without_pods_a_copy_came_further_when_its_members_were_made() -> None:
    assert the_copy(one_copy(), lambda _: ()).progressed == START


def test_pods_that_on_delete_left_old_are_seen() -> None:
    found = the_copy(one_copy(), lambda view: pods(view, hash="old"))
    assert found.has_old_pods
    assert not found.is_old
    assert not found.is_updated
    assert not the_copy(one_copy()).has_old_pods
