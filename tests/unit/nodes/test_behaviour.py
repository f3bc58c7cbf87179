import pytest

from grove.nodes import behaviour
from grove.nodes.behaviour import ONE_SHOT, REGULAR, Behaviour, Problem, Span
from tests.unit.nodes.stories import simulated


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("2s", Span(2, 2)),
        ("500ms", Span(0.5, 0.5)),
        ("0", Span(0, 0)),
        ("1m30s", Span(90, 90)),
        ("1s-3s", Span(1, 3)),
        ("1s - 3s", Span(1, 3)),
    ],
)
def test_a_span_is_a_duration_or_two(text: str, span: Span) -> None:
    assert behaviour.span(text) == span


@pytest.mark.parametrize("text", ["", "-", "2", "soon", "-1s", "3s-1s", "1s-", "1s-2s-3s", "1e3s"])
def test_what_is_no_span_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="write "):
        behaviour.span(text)


def test_a_span_chooses_by_its_seed_and_always_the_same() -> None:
    chosen = [Span(1, 3).choose(f"seed-{number}") for number in range(200)]
    assert chosen == [Span(1, 3).choose(f"seed-{number}") for number in range(200)]
    assert 1 <= min(chosen) < 1.2
    assert 2.8 < max(chosen) < 3
    assert Span(2, 2).choose("any") == 2


# How runs end


@pytest.mark.parametrize(
    ("found", "ends"),
    [
        (REGULAR, [None, None]),
        (ONE_SHOT, [(0, 0), (0, 0)]),
        (Behaviour(complete_after=Span(5, 5)), [(5, 0), (5, 0)]),
        (Behaviour(complete_after=Span(5, 5), exit_code=3), [(5, 3), (5, 3)]),
        (Behaviour(complete_after=Span(5, 5), exit_code=3, crashes=1), [(5, 3), (5, 0)]),
        (Behaviour(crash_after=Span(1, 1)), [(1, 1), (1, 1)]),
        (Behaviour(crash_after=Span(1, 1), exit_code=0), [(1, 0), (1, 0)]),
        (Behaviour(crash_after=Span(1, 1), crashes=0), [None, None]),
        (Behaviour(crash_after=Span(1, 1), crashes=1), [(1, 1), None]),
        (Behaviour(crash_after=Span(1, 1), crashes=1, complete_after=Span(9, 9)), [(1, 1), (9, 0)]),
        (Behaviour(exit_code=3), [None, None]),
        (Behaviour(crashes=3), [None, None]),
    ],
)
def test_a_run_ends_as_it_is_told_to(found: Behaviour, ends: list[tuple[float, int] | None]) -> None:
    said = [found.end(run) for run in (0, 1)]
    assert [None if one is None else (one.after.choose(""), one.code) for one in said] == ends


# Whose word counts


def found(
    *told: dict[str, str], is_regular: bool = True, default: Behaviour = REGULAR
) -> tuple[Behaviour, tuple[Problem, ...]]:
    return behaviour.of_container("main", is_regular=is_regular, default=default, told=told)


def test_without_a_word_a_container_behaves_as_the_default() -> None:
    assert found({}, {}) == (REGULAR, ())
    assert found({}, {}, default=ONE_SHOT, is_regular=False) == (ONE_SHOT, ())


def test_every_word_is_understood() -> None:
    told = simulated(
        start_delay="1s",
        ready_delay="2s",
        stop_delay="3s",
        crash_after="4s",
        complete_after="5s-6s",
        exit_code="7",
        crashes="8",
        never_ready="true",
        image_pull_error="manifest unknown",
    )
    assert found(told) == (
        Behaviour(
            start_delay=Span(1, 1),
            ready_delay=Span(2, 2),
            stop_delay=Span(3, 3),
            crash_after=Span(4, 4),
            complete_after=Span(5, 6),
            exit_code=7,
            crashes=8,
            never_ready=True,
            image_pull_error="manifest unknown",
        ),
        (),
    )


def test_a_name_counts_more_than_none_and_the_pod_more_than_its_node() -> None:
    def delay(own: dict[str, str], nodes: dict[str, str], *, is_regular: bool = True) -> float:
        return found(own, nodes, is_regular=is_regular)[0].start_delay.shortest

    all_, mine = simulated(start_delay="1s"), simulated(main__start_delay="2s")
    other, nodes = simulated(other__start_delay="3s"), simulated(start_delay="4s", main__start_delay="5s")
    assert delay(all_ | mine, nodes) == 2
    assert delay(all_, nodes) == 1
    assert delay(other, nodes) == 5
    assert delay({}, simulated(start_delay="4s")) == 4
    # Init containers and sidecars hear only what is said to them by name.
    assert delay(all_, simulated(start_delay="4s"), is_regular=False) == 0
    assert delay(mine, {}, is_regular=False) == 2


@pytest.mark.parametrize(
    ("word", "text", "remedy"),
    [
        ("start-delay", "soon", "write a duration as in 500ms or 2s, or two as in 1s-3s"),
        ("start-delay", "3s-1s", "write durations that are not negative, the shorter one first"),
        ("exit-code", "256", "write a whole number from 0 to 255"),
        ("exit-code", "-1", "write a whole number from 0 to 255"),
        ("exit-code", "٣", "write a whole number from 0 to 255"),
        ("exit-code", "9" * 5000, "write a whole number from 0 to 255"),
        ("crashes", "2147483648", "write a whole number from 0 to 2147483647"),
        ("never-ready", "yes", "write true or false"),
    ],
)
def test_what_is_not_understood_is_told_and_the_next_word_counts(word: str, text: str, remedy: str) -> None:
    name = f"simulate.grove.io/{word}"
    nodes = {"start-delay": "4s", "exit-code": "4", "crashes": "4", "never-ready": "true"}[word]
    said, problems = found({name: text}, {name: nodes})
    assert problems == (Problem(name, text, remedy),)
    assert said == found({}, {name: nodes})[0] != REGULAR
    assert str(problems[0]) == f'annotation {name}: "{text}" is not understood: {remedy}'


@pytest.mark.parametrize(
    ("text", "error"),
    [("false", ""), ("true", "the image is not to be had"), ("", "the image is not to be had"), ("denied", "denied")],
)
def test_an_image_pull_error_may_say_what_the_registry_says(text: str, error: str) -> None:
    assert found(simulated(image_pull_error=text))[0].image_pull_error == error


# Words that nobody hears


def test_only_annotations_of_ours_are_looked_at() -> None:
    mine = {"simulate.grove.io/crashes": "1", "main.simulate.grove.io/crashes": "1", "simulate.grove.io/": ""}
    others = {"simulate.grove.io": "", "notsimulate.grove.io/crashes": "1", "crashes": "1", "grove.io/simulate": ""}
    assert behaviour.ours(mine | others) == mine
    assert behaviour.ours(None) == {}


def test_a_word_or_a_container_that_is_not_known_is_told() -> None:
    told = {
        "simulate.grove.io/crash-afer": "1s",
        "main.simulate.grove.io/": "",
        "mian.simulate.grove.io/crash-after": "1s",
        "main.simulate.grove.io/crash-after": "1s",
        "simulate.grove.io/crash-after": "1s",
    }
    problems = list(behaviour.unknown(told, ("main", "proxy")))
    assert [one.annotation for one in problems] == list(told)[:3]
    assert problems[0].remedy.startswith("use one of start-delay, ready-delay, ")
    assert problems[2].remedy == "name one of the pod's containers: main, proxy"
