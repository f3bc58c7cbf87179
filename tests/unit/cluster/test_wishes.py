"""The test's own idea of what a user wants is right before it judges anybody."""

from tests.cluster.operator.wishes import Clique, Group, Wish


def served(**more: object) -> Wish:
    cliques = [Clique("router", 2, 1), Clique("leader", 1, 1), Clique("worker", 2, 2)]
    return Wish("s", cliques, [Group("model", ["leader", "worker"], 3, 1)], **more)  # type: ignore[arg-type]


def test_copies_beyond_the_minimum_have_gangs_of_their_own() -> None:
    assert {gang: [one.name for one in places] for gang, places in served().gangs().items()} == {
        "s-0": ["s-0-router", "s-0-model-0-leader", "s-0-model-0-worker"],
        "s-0-model-0": ["s-0-model-1-leader", "s-0-model-1-worker"],
        "s-0-model-1": ["s-0-model-2-leader", "s-0-model-2-worker"],
    }


def test_a_template_count_reaches_only_what_nobody_has_scaled() -> None:
    wish = served(replicas=2)
    wish.scale("s-0-router", 5)
    wish.edit_replicas("router", 3)
    assert (wish.pods("s-0-router"), wish.pods("s-1-router")) == (5, 3)
    wish.edit_replicas("model", 1)
    assert "s-0-model-1-leader" not in wish.counts


def test_what_is_made_anew_begins_with_the_template() -> None:
    wish = served()
    wish.scale("s-0-model-0-worker", 4)
    wish.scale("s-0-router", 4)
    wish.edit_image("leader", "main:v2")
    assert (wish.pods("s-0-model-0-worker"), wish.pods("s-0-router")) == (2, 4)
    wish.scale_set(0)
    wish.scale_set(1)
    assert wish.pods("s-0-router") == 2


def test_in_a_scaled_gang_only_members_of_the_same_copy_are_waited_for() -> None:
    wish = served(in_order=True)
    parents = {place.name: wish.parents(place) for place in wish.places()}
    assert parents["s-0-model-0-leader"] == ["s-0-router"]
    assert parents["s-0-model-1-leader"] == []
    assert parents["s-0-model-1-worker"] == ["s-0-model-1-leader"]
    assert parents["s-0-model-0-worker"] == ["s-0-model-0-leader"]
