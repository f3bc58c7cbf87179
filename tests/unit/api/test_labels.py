"""Labels are what other programs, and users' own commands, rely on: as the specification spells them."""

from grove.api import labels

COMMON = "app.kubernetes.io/managed-by=grove-operator,app.kubernetes.io/part-of=simple1"


def test_every_object_of_a_set_is_labelled_with_who_keeps_it_and_for_what() -> None:
    assert labels.common("simple1") == {
        "app.kubernetes.io/managed-by": "grove-operator",
        "app.kubernetes.io/part-of": "simple1",
    }


def test_selectors_for_autoscalers_are_those_of_the_specification() -> None:
    assert labels.set_selector("simple1") == COMMON
    assert labels.clique_selector("simple1", "simple1-0-pca") == f"{COMMON},grove.io/podclique=simple1-0-pca"
    group = "grove.io/podcliquescalinggroup=simple1-0-sga"
    assert labels.group_selector("simple1", "simple1-0-sga") == f"{COMMON},{group}"


def test_groves_own_keys_are_told_by_their_prefix() -> None:
    assert labels.is_groves("grove.io/podgang")
    assert not labels.is_groves("scheduler.grove.io/x")
