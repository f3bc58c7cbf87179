from grove.nodes import behaviour, marks


def test_every_behaviour_has_a_word_and_the_other_way_round() -> None:
    words = {word.replace("-", "_") for word in marks.BEHAVIOURS}
    assert words == set(behaviour.Behaviour.__struct_fields__)


def test_all_words_are_in_the_domain_that_simulation_has() -> None:
    for name in (marks.FLEET, marks.FAIL, marks.DRAIN):
        assert name.startswith(f"{marks.DOMAIN}/")
