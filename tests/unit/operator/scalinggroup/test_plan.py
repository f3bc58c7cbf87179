"""Which members of a scaling group are created, patched and deleted."""

from __future__ import annotations

from typing import Any

from grove.operator import cliquesync
from grove.operator.scalinggroup.plan import plan
from grove.operator.tree import CliquePlace, Tree
from tests.unit.operator.scalinggroup.builders import OWNER, PLACE, CliqueStore, leader_and_worker


def tree(**fields: Any) -> Tree:
    return Tree(leader_and_worker(**fields), {})


def members(of: Tree, *indices: int) -> CliqueStore:
    """A store with the members of these copies."""
    return CliqueStore.of(of, [place for index in indices for place in of.member_places(0, "sg", index)])


def made(found: cliquesync.Plan) -> list[str]:
    return [one.body["metadata"]["name"] for one in found.creates]


def gone(found: cliquesync.Plan) -> set[str]:
    return {one.metadata.name for one in found.deletes}


def test_the_members_of_a_copy_are_made_together() -> None:
    found = plan(tree(), PLACE, 2, (), owner=OWNER)
    assert made(found) == ["x-0-sg-0-leader", "x-0-sg-0-worker", "x-0-sg-1-leader", "x-0-sg-1-worker"]
    assert found.creates[0].body["metadata"]["ownerReferences"] == [OWNER]


def test_a_hole_is_filled_while_what_is_beyond_goes() -> None:
    store = members(tree(), 0, 2)
    found = plan(tree(), PLACE, 2, store.views(), owner=OWNER)
    assert made(found) == ["x-0-sg-1-leader", "x-0-sg-1-worker"]
    assert gone(found) == {"x-0-sg-2-leader", "x-0-sg-2-worker"}


def test_a_single_missing_member_is_made() -> None:
    store = members(tree(), 0)
    del store.bodies["x-0-sg-0-leader"]
    assert made(plan(tree(), PLACE, 1, store.views(), owner=OWNER)) == ["x-0-sg-0-leader"]


def test_copies_that_leave_lose_all_members_and_get_none() -> None:
    store = members(tree(), 0, 1)
    del store.bodies["x-0-sg-0-leader"]
    found = plan(tree(), PLACE, 2, store.views(), owner=OWNER, leaving={0})
    assert gone(found) == {"x-0-sg-0-worker"}
    assert not made(found)


def test_members_keep_their_template_until_they_are_made_anew() -> None:
    store = members(tree(), 0)
    assert not plan(tree(image="server:v2"), PLACE, 1, store.views(), owner=OWNER)


def test_with_on_delete_members_follow_the_template_where_they_are() -> None:
    store = members(tree(), 0)
    found = plan(tree(image="server:v2"), PLACE, 1, store.views(), owner=OWNER, on_delete=True)
    assert [one.held.metadata.name for one in found.patches] == ["x-0-sg-0-leader", "x-0-sg-0-worker"]
    store.apply(found)
    assert not plan(tree(image="server:v2"), PLACE, 1, store.views(), owner=OWNER)


def test_what_was_never_a_member_goes_if_it_is_the_groups() -> None:
    store = members(tree(), 0)
    body = (
        cliquesync.plan(
            tree(), [CliquePlace(0, "leader", "sg", 7)], (), owner=OWNER, may_follow_template=lambda _: False
        )
        .creates[0]
        .body
    )
    store.create({**body, "metadata": {**body["metadata"], "name": "x-0-sg-stray"}})
    assert gone(plan(tree(), PLACE, 1, store.views(), owner=OWNER)) == {"x-0-sg-stray"}


def test_a_group_that_is_scaled_to_zero_has_no_members() -> None:
    assert gone(plan(tree(), PLACE, 0, members(tree(), 0).views(), owner=OWNER)) == {
        "x-0-sg-0-leader",
        "x-0-sg-0-worker",
    }
