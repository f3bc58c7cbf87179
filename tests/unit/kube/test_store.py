"""The store: what is news and what is an echo, case by case. Any order of anything is in tests/model."""

from __future__ import annotations

import pytest

from grove.api.kinds.meta import ObjectMeta
from grove.kube.history import GRAVES, number
from grove.kube.indexes import by_label, by_owner
from grove.kube.store import Change, Store
from tests.unit.kube.fakes import Thing, owned_by, thing


def names(things: tuple[Thing, ...]) -> list[str]:
    return [one.metadata.name for one in things]


@pytest.fixture
def store() -> Store[Thing]:
    return Store(indexes={"owner": by_owner, "app": by_label("app")})


@pytest.mark.parametrize("version", ["", "0", "007", "-1", "1.5", "1e3", "a7", "٣", "²"])
def test_only_what_kubernetes_writes_is_a_number(version: str) -> None:
    assert number(version) is None
    assert number("1234567890123456789012") == 1234567890123456789012


def test_an_event_adds_updates_and_deletes(store: Store[Thing]) -> None:
    first, second = thing("a", 5), thing("a", 6)
    assert store.apply_event("ADDED", first) == (Change(None, first),)
    assert store.apply_event("MODIFIED", second) == (Change(first, second),)
    assert store.get("ns", "a") is store.by_uid("uid-a") is second
    assert store.apply_event("DELETED", thing("a", 7)) == (Change(second, None),)
    assert store.list() == store.list("ns") == ()
    assert store.revision == "7"


def test_an_older_event_changes_nothing(store: Store[Thing]) -> None:
    store.apply_event("ADDED", thing("a", 10))
    for version in (9, 10):  # 9 is greater than 10 as a text
        assert store.apply_event("MODIFIED", thing("a", version)) == ()
    assert store.apply_event("DELETED", thing("a", 9)) == ()
    assert store.statistics().echoes == 3


def test_a_write_of_ours_is_held_and_older_events_are_echoes(store: Store[Thing]) -> None:
    store.apply_event("ADDED", thing("a", 5))
    ours = thing("a", 8)
    assert len(store.apply_write(ours)) == 1
    assert store.apply_event("MODIFIED", thing("a", 7)) == ()
    assert store.apply_event("MODIFIED", thing("a", 8)) == ()
    assert store.get("ns", "a") is ours
    assert len(store.apply_event("MODIFIED", thing("a", 9))) == 1
    assert store.apply_write(ours) == (), "the answer came after the watch"


def test_what_we_deleted_does_not_come_back(store: Store[Thing]) -> None:
    store.apply_event("ADDED", thing("a", 5))
    assert len(store.apply_delete(thing("a", 5))) == 1
    assert store.apply_event("MODIFIED", thing("a", 6)) == (), "someone wrote before we deleted"
    assert store.replace([thing("a", 6)], "6") == ()
    assert store.apply_event("DELETED", thing("a", 7)) == ()
    assert store.statistics().graves == 1
    store.apply_bookmark("7")
    assert store.statistics().graves == 0
    assert store.apply_event("MODIFIED", thing("a", 6)) == (), "not even when the grave is forgotten"


def test_a_list_without_what_we_deleted_ends_the_wait_for_its_deletion(store: Store[Thing]) -> None:
    store.apply_event("ADDED", thing("a", 5))
    store.apply_delete(thing("a", 5))
    store.replace([], "4")
    assert store.statistics().graves == 1, "older than the object"
    store.replace([], "9")
    assert store.statistics().graves == 0


def test_a_deletion_of_ours_that_the_watch_told_first_leaves_no_grave(store: Store[Thing]) -> None:
    store.apply_event("ADDED", thing("a", 5))
    store.apply_event("DELETED", thing("a", 7))
    store.apply_bookmark("8")
    assert store.apply_delete(thing("a", 5)) == ()
    assert store.statistics().graves == 0


def test_the_last_finalizer_takes_the_object_along(store: Store[Thing]) -> None:
    held = thing("a", 5, deletion_timestamp="2026-11-18T00:00:00Z", finalizers=("hold",))
    store.apply_event("ADDED", held)
    last = thing("a", 6, deletion_timestamp="2026-11-18T00:00:00Z", deletion_grace_period_seconds=0)
    assert store.apply_write(last) == (Change(held, None),)
    terminating = thing("b", 7, deletion_timestamp="2026-11-18T00:00:00Z", deletion_grace_period_seconds=30)
    assert store.apply_write(terminating) == (Change(None, terminating),), "a pod that still has time"


def test_the_answer_to_a_create_that_comes_after_the_deletion_is_an_echo(store: Store[Thing]) -> None:
    store.apply_event("ADDED", thing("a", 5))
    store.apply_event("DELETED", thing("a", 6))
    assert store.apply_write(thing("a", 5)) == ()
    store.apply_bookmark("6")
    assert store.apply_write(thing("a", 5)) == ()


def test_a_name_that_is_used_again_is_another_object(store: Store[Thing]) -> None:
    old, new = thing("a", 5, uid="one"), thing("a", 9, uid="two")
    store.apply_event("ADDED", old)
    assert store.apply_event("ADDED", new) == (Change(old, None), Change(None, new)), "the deletion was missed"
    assert store.by_uid("one") is None
    assert store.apply_event("MODIFIED", thing("a", 6, uid="one")) == ()
    assert store.apply_event("DELETED", thing("a", 7, uid="one")) == ()
    assert store.get("ns", "a") is new


def test_what_gave_its_name_to_another_does_not_come_back_when_that_is_gone(store: Store[Thing]) -> None:
    store.apply_event("ADDED", thing("a", 5, uid="one"))
    store.apply_write(thing("a", 8, uid="two"))
    store.apply_delete(thing("a", 8, uid="two"))
    assert store.apply_event("MODIFIED", thing("a", 6, uid="one")) == ()


def test_a_list_of_the_past_does_not_bring_back_what_is_long_forgotten(store: Store[Thing]) -> None:
    store.replace([thing("a", 5)], "5")
    store.apply_event("DELETED", thing("a", 9))
    store.apply_bookmark("10")
    assert store.statistics().graves == 0
    assert store.replace([thing("a", 5)], "8") == ()


def test_a_list_is_taken_over_as_a_difference(store: Store[Thing]) -> None:
    kept, changed, lost = thing("kept", 3), thing("changed", 4), thing("lost", 5)
    store.replace([kept, changed, lost], "5")
    newer, added = thing("changed", 7), thing("added", 8)
    assert store.replace([thing("kept", 3), newer, added], "9") == (
        Change(lost, None),
        Change(changed, newer),
        Change(None, added),
    )
    assert store.get("ns", "kept") is kept


def test_a_list_of_the_past_takes_nothing_back(store: Store[Thing]) -> None:
    store.replace([thing("a", 5), thing("b", 4)], "5")
    store.apply_event("MODIFIED", thing("a", 8))
    store.apply_event("DELETED", thing("b", 9))
    store.apply_bookmark("10")
    store.apply_write(thing("c", 11))
    assert store.replace([thing("a", 5), thing("b", 4)], "6") == ()
    assert sorted(names(store.list())) == ["a", "c"]
    assert store.revision == "10"


def test_a_list_heals_what_a_watch_has_lost(store: Store[Thing]) -> None:
    store.replace([thing("a", 5)], "5")
    store.apply_bookmark("20")  # and nobody told of b at 7, nor of the end of a
    assert len(store.replace([thing("b", 7)], "21")) == 2
    assert names(store.list()) == ["b"]


def test_indexes_follow_every_change(store: Store[Thing]) -> None:
    store.apply_event("ADDED", thing("a", 1, labels={"app": "x"}, owner_references=owned_by("p") + owned_by("q")))
    store.apply_event("ADDED", thing("b", 2, owner_references=owned_by("p")))
    assert names(store.find("owner", "p")) == ["a", "b"]
    assert names(store.find("app", ("ns", "x"))) == ["a"]
    store.apply_write(thing("a", 3, labels={"app": "y"}, owner_references=owned_by("q")))
    assert names(store.find("owner", "p")) == ["b"]
    assert store.find("app", ("ns", "x")) == ()
    assert store.find("owner", "q")[0] is store.get("ns", "a")
    store.replace([], "9")
    assert store.keys("owner") == store.keys("app") == ()


def test_what_leaves_the_selection_through_us_is_let_go() -> None:
    store: Store[Thing] = Store(matches=lambda metadata, _: metadata.labels == {"app": "x"})
    store.apply_event("ADDED", thing("a", 5, labels={"app": "x"}))
    assert len(store.apply_write(thing("a", 7, labels={"app": "y"}))) == 1
    assert store.apply_event("MODIFIED", thing("a", 6, labels={"app": "x"})) == ()
    assert store.apply_write(thing("b", 8)) == ()
    assert len(store.apply_event("ADDED", thing("a", 9, labels={"app": "x"}))) == 1, "back again"


def test_plain_dicts_are_objects_too() -> None:
    store: Store[dict[str, object]] = Store(indexes={"owner": by_owner})
    metadata = {"name": "n", "uid": "u", "resourceVersion": "4", "ownerReferences": [
        {"apiVersion": "v1", "kind": "K", "name": "o", "uid": "owner"}]}  # fmt: skip
    store.apply_event("ADDED", {"metadata": metadata})
    assert store.get("", "n") == {"metadata": metadata}
    assert len(store.find("owner", "owner")) == 1


def test_an_object_without_identity_is_refused(store: Store[Thing]) -> None:
    with pytest.raises(ValueError, match="ns/a: without uid or resource version"):
        store.apply_event("ADDED", thing("a", ""))


def test_versions_that_are_no_numbers_are_compared_for_equality(store: Store[Thing]) -> None:
    store.replace([thing("a", "x1"), thing("b", "y1")], "l1")
    store.apply_write(thing("a", "x3"))
    assert store.apply_event("MODIFIED", thing("a", "x2")) == (), "an echo, since x3 has not come"
    assert store.apply_event("MODIFIED", thing("a", "x3")) == ()
    assert len(store.apply_event("MODIFIED", thing("a", "x4"))) == 1
    assert len(store.apply_delete(thing("b", "y1"))) == 1
    assert store.apply_event("MODIFIED", thing("b", "y2")) == ()
    assert store.apply_event("DELETED", thing("b", "y2")) == ()
    assert not store.statistics().comparable
    assert store.statistics().graves == 0
    with pytest.raises(ValueError, match="cannot be compared"):
        store.has_reached("7")


def test_deletions_that_nobody_confirms_are_forgotten_at_last(store: Store[Thing]) -> None:
    for index in range(GRAVES + 5):
        store.apply_delete(thing(f"n{index}", 5))
    assert store.statistics().graves == GRAVES


X, Y = {"app": "x"}, {"app": "y"}


@pytest.fixture
def selecting() -> Store[Thing]:
    return Store(matches=lambda metadata, _: metadata.labels == X)


def test_a_write_of_ours_elsewhere_outdates_what_was_on_its_way_here(selecting: Store[Thing]) -> None:
    assert selecting.apply_write(thing("a", 7, labels=Y)) == ()
    assert selecting.apply_event("ADDED", thing("a", 6, labels=X)) == ()


def test_a_write_of_ours_elsewhere_ends_the_incarnation_before(selecting: Store[Thing]) -> None:
    selecting.apply_event("ADDED", thing("a", 5, uid="one", labels=X))
    assert len(selecting.apply_write(thing("a", 9, uid="two", labels=Y))) == 1
    assert selecting.apply_write(thing("a", 6, uid="one", labels=X)) == (), "an answer that comes late"


def test_what_we_deleted_does_not_come_back_through_the_selection(selecting: Store[Thing]) -> None:
    selecting.apply_event("ADDED", thing("a", 5, labels=X))
    selecting.apply_delete(thing("a", 5, labels=X))
    selecting.apply_event("DELETED", thing("a", 6, labels=X))  # not by us: someone had changed its label
    assert selecting.apply_event("ADDED", thing("a", 7, labels=X)) == (), "and back, before we deleted it"
    selecting.apply_bookmark("8")
    assert selecting.replace([thing("a", 9, labels=X)], "9") == ()


def test_what_we_deleted_elsewhere_is_dead_here_too(selecting: Store[Thing]) -> None:
    assert selecting.apply_delete(thing("a", 7, labels=Y)) == ()
    assert selecting.apply_event("ADDED", thing("a", 6, labels=X)) == ()


def test_a_first_list_is_taken_over_whole() -> None:
    store: Store[Thing] = Store(indexes={"owner": by_owner})
    one, other = thing("a", 5, owner_references=owned_by("p")), thing("a", 6, uid="u", namespace="elsewhere")
    assert store.replace([one, other], "9") == (Change(None, one), Change(None, other))
    assert (store.get("ns", "a"), store.get("elsewhere", "a"), store.by_uid("u")) == (one, other, other)
    assert store.find("owner", "p") == (one,)
    assert (store.revision, store.statistics().applied, store.statistics().echoes) == ("9", 2, 0)
    assert store.apply_event("ADDED", one) == ()
    assert store.apply_event("ADDED", thing("b", 8)) == (), "the list was complete at 9"


def test_a_first_list_with_two_incarnations_keeps_the_later_one() -> None:
    store: Store[Thing] = Store(indexes={"owner": by_owner})
    old, new = thing("a", 5, uid="old", owner_references=owned_by("p")), thing("a", 7, uid="new")
    store.replace([old, new], "9")
    assert store.list() == (new,)
    assert store.find("owner", "p") == ()


def test_a_first_list_of_the_past_revives_nobody() -> None:
    store: Store[Thing] = Store()
    store.apply_bookmark("9")
    assert store.replace([thing("a", 5)], "8") == ()
    assert len(store) == 0


def test_a_first_list_of_objects_without_identity_is_refused() -> None:
    store: Store[Thing] = Store()
    for odd in (thing("a", ""), Thing(metadata=ObjectMeta(name="a", resource_version="5"))):
        with pytest.raises(ValueError, match="without uid or resource version"):
            store.replace([thing("b", 4), odd], "9")
        assert len(store) == 0


def test_a_first_list_whose_versions_are_no_numbers_is_taken_over_as_well() -> None:
    store: Store[Thing] = Store()
    store.replace([thing("a", "x1"), thing("b", "x2")], "x3")
    assert len(store) == 2
    assert not store.statistics().comparable
