"""When a gang is whole, and which pods must be told that they are of it."""

import datetime

from grove.operator.podgang import members
from tests.unit.operator.podgang.builders import MADE, Cluster, clique, pcs, pod, with_metadata


def cluster() -> Cluster:
    return Cluster(pcs([clique("a", 2), clique("b", 1)]))


def test_it_is_whole_when_every_clique_has_its_pods() -> None:
    assert members.is_whole(cluster().members())


def test_more_pods_than_wished_for_are_no_harm() -> None:
    found = cluster()
    found.pods["set-0-a"].append(pod("more"))
    assert members.is_whole(found.members())
    assert found.is_all_whole()


def test_it_is_not_whole_without_a_clique_or_without_a_pod() -> None:
    for spoil in ("clique", "pod", "lost", "going"):
        found = cluster()
        if spoil == "clique":
            del found.cliques["set-0-b"]
        elif spoil == "pod":
            found.pods["set-0-a"].pop()
        elif spoil == "lost":
            found.pods["set-0-b"] = [pod("lost", phase="Failed")]
        else:
            found.pods["set-0-b"] = [pod("going", metadata={"deletionTimestamp": MADE})]
        assert not members.is_whole(found.members()), spoil
        assert not found.is_all_whole(), spoil


def test_it_waits_five_seconds_from_its_first_clique() -> None:
    found = cluster()
    assert members.due(found.cliques.values()) == datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)
    found.cliques["set-0-b"] = with_metadata(found.cliques["set-0-b"], creationTimestamp="2026-01-02T03:04:09Z")
    assert members.due(found.cliques.values()) == datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)
    found.cliques.clear()
    assert members.due(found.cliques.values()) is None


def test_where_many_gangs_are_awaited_it_waits_longer_and_not_for_ever() -> None:
    def second(others: int) -> float:
        due = members.due(cluster().cliques.values(), others)
        assert due is not None
        return (due - datetime.datetime(2026, 1, 2, 3, 4, 0, tzinfo=datetime.UTC)).total_seconds()

    assert [second(others) for others in (0, 50, 200, 2000)] == [5.0, 10.0, 25.0, 30.0]


def test_pods_with_another_label_or_none_are_strays() -> None:
    found = cluster()
    found.pods["set-0-b"] = [pod("other", gang="set-1"), pod("none", metadata={"labels": None})]
    assert [one.metadata.name for one in members.strays(found.members(), "set-0")] == ["other", "none"]
