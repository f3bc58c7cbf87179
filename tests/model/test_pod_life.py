"""Any pod on a simulated node, whatever it is told to do: what holds of its life and of the status that tells it."""

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from grove.nodes import life, plans, statuses
from grove.nodes.life import Life, PodPlan
from grove.nodes.marks import BEHAVIOURS, DOMAIN
from grove.nodes.objects import PodRecord
from grove.nodes.plans import Defaults
from grove.nodes.statuses import View
from tests.unit.nodes.stories import BIRTH, NODE, Story, pod

ORDER = ("Pending", "Running", "Succeeded", "Failed")

SECONDS = st.sampled_from((0, 1, 2, 3, 7, 10, 30, 100, 599, 600, 900))
SPANS = SECONDS.map(lambda seconds: f"{seconds}s")
MOMENTS = st.integers(0, 2000)


@st.composite
def words(draw: st.DrawFn, *, is_settled: bool) -> dict[str, str]:
    """What one container is told. Settled ones start at once: nothing is under way that no status tells of."""
    made = {}
    for word in ("ready-delay", "stop-delay", "complete-after", "crash-after"):
        if draw(st.booleans()):
            made[word] = draw(SPANS)
    if draw(st.booleans()):
        made["crashes"] = draw(st.sampled_from("012"))
    if draw(st.booleans()):
        made["exit-code"] = draw(st.sampled_from(("0", "1", "42")))
    if draw(st.integers(0, 4)) == 0:
        made["never-ready"] = "true"
    if draw(st.booleans()):
        made["start-delay"] = draw(SPANS)
    if not is_settled and draw(st.integers(0, 4)) == 0:
        made["image-pull-error"] = "true"
    return made


@st.composite
def pods(draw: st.DrawFn, *, is_settled: bool = False) -> PodRecord:
    annotations: dict[str, str] = {}

    def container(name: str) -> dict[str, Any]:
        for word, text in draw(words(is_settled=is_settled)).items():
            annotations[f"{name}.{DOMAIN}/{word}"] = text
        made: dict[str, Any] = {"name": name}
        if draw(st.booleans()):
            made["readinessProbe"] = {"initialDelaySeconds": draw(SECONDS)}
        return made

    init = []
    for index in range(draw(st.integers(0, 3))):
        made = container(f"init-{index}")
        if draw(st.booleans()):
            made["restartPolicy"] = "Always"
            made["startupProbe"] = {"initialDelaySeconds": draw(SECONDS)}
        init.append(made)
    regular = [container(f"main-{index}") for index in range(draw(st.integers(1, 2)))]
    for made in regular:
        if draw(st.integers(0, 3)) == 0:
            made["restartPolicy"] = draw(st.sampled_from(("Always", "OnFailure", "Never")))
    deadline = draw(st.none() | st.integers(1, 1500))
    limits: dict[str, Any] = {} if deadline is None else {"activeDeadlineSeconds": deadline}
    return pod(
        *regular,
        init=tuple(init),
        annotations=annotations,
        restartPolicy=draw(st.sampled_from(("Always", "OnFailure", "Never"))),
        terminationGracePeriodSeconds=draw(SECONDS),
        **limits,
    )


def plan_of(told: PodRecord) -> PodPlan:
    plan, problems = plans.of_pod(told, {}, Defaults())
    assert problems == ()
    return plan


def born(plan: PodPlan) -> Life:
    return life.begun(plan, admitted=BIRTH, ip="10.0.0.1")


def lived_through(lived: Life, plan: PodPlan, until: float, looks: list[float]) -> tuple[Life, list[Life]]:
    """The life at a moment, looked at when it asks for it and at some moments more; and all that it was on the way."""
    told: list[Life] = []
    moments = sorted(one for one in looks if lived.at <= one < until)
    wake: float | None = lived.at
    while True:
        following = [one for one in (*moments[:1], wake) if one is not None]
        moment = min([*following, until])
        moments = [one for one in moments if one > moment]
        lived, wake = life.step(lived, plan, moment)
        assert wake is None or wake > moment
        known = msgspec.structs.replace(lived, at=0.0)
        if not told or told[-1] != known:
            told.append(known)
        if moment >= until:
            return lived, told


@given(pods(), MOMENTS, st.lists(MOMENTS), st.none() | MOMENTS, st.none() | MOMENTS, SECONDS)
def test_a_late_look_tells_the_same_as_many_in_time(
    told: PodRecord, until: int, looks: list[int], stop: int | None, reboot: int | None, grace: int
) -> None:
    plan = plan_of(told)
    moments = [BIRTH + one for one in looks]
    late = often = seldom = born(plan)
    tales: list[tuple[list[Life], list[Life]]] = []
    events = sorted({one for one in (stop, reboot) if one is not None and one < until} | {until})
    for event in events:
        moment = BIRTH + event
        late, _ = life.step(late, plan, moment)
        often, tale = lived_through(often, plan, moment, moments)
        seldom, other = lived_through(seldom, plan, moment, [])
        tales.append((tale, other))

        def happens(lived: Life, event: int = event, moment: float = moment) -> Life:
            if event == stop:
                lived = life.stopped(lived, since=moment, deadline=moment + grace)
            if event == reboot:
                lived = life.rebooted(lived, plan, moment)
            return lived

        late, often, seldom = happens(late), happens(often), happens(seldom)
    assert late == often == seldom
    for tale, other in tales:
        assert tale == other


@given(pods(), st.lists(MOMENTS, max_size=8), st.none() | MOMENTS, SECONDS)
def test_the_phase_and_the_restarts_of_a_pod_only_go_forward(
    told: PodRecord, looks: list[int], stop: int | None, grace: int
) -> None:
    story = Story(told)
    phase, restarts = 0, 0
    for moment in sorted({0, *looks, *([] if stop is None else [stop])}):
        story.told_to_stop(moment, grace) if moment == stop else story.at(moment)
        rows = story.pod.status.init_container_statuses + story.pod.status.container_statuses
        assert ORDER.index(story.phase) >= phase
        assert not (story.phase == "Failed" and phase == ORDER.index("Succeeded"))
        assert sum(one.restart_count for one in rows) >= restarts
        phase, restarts = ORDER.index(story.phase), sum(one.restart_count for one in rows)
        is_over = story.phase in ("Succeeded", "Failed")
        assert (story.lived.over is not None) == is_over
        assert not (is_over and any(one.is_running for one in story.lived.containers))
        ready = all(one.ready for one in story.pod.status.container_statuses)
        assert story.condition("Ready").startswith("True") <= ready


@given(pods(), MOMENTS, SECONDS)
def test_a_pod_that_is_told_to_stop_is_gone_by_its_deadline(told: PodRecord, stop: int, grace: int) -> None:
    plan = plan_of(told)
    lived, _ = life.step(born(plan), plan, BIRTH + stop)
    lived = life.stopped(lived, since=BIRTH + stop, deadline=BIRTH + stop + grace)
    lived, wake = life.step(lived, plan, BIRTH + stop)
    while not lived.is_gone:
        assert wake is not None
        assert wake <= BIRTH + stop + grace
        lived, wake = life.step(lived, plan, wake)
    assert not any(one.is_running for one in lived.containers)


@given(pods(is_settled=True), MOMENTS, MOMENTS)
def test_a_simulator_that_was_started_again_goes_on_with_a_pod_as_if_nothing_had_been(
    told: PodRecord, break_: int, until: int
) -> None:
    kept, taken_up = Story(told), Story(told)
    for story in (kept, taken_up):
        story.at(break_)
    taken_up.restarted().at(break_)
    assert taken_up.status == kept.status
    if not knows_more_than_it_tells(kept):
        assert taken_up.wake == kept.wake
        assert remembered(taken_up.at(break_ + until)) == remembered(kept.at(break_ + until))


def remembered(story: Story) -> Any:
    """The status without the runs before the last ones: of a container in a crash loop, only the last is told."""
    status = story.status
    for one in status["initContainerStatuses"] + status["containerStatuses"]:
        if one["state"].keys() == {"terminated"}:
            one.pop("lastState", None)
    return status


def knows_more_than_it_tells(story: Story) -> bool:
    """Whether what comes next depends on what no status tells.

    That a container's back-off began anew after a long run, and since when one is being created beside others that
    have restarted since.
    """
    rows = story.lived.containers
    is_forgiven = any(one.run and one.streak != one.run + one.has_exited for one in rows)
    is_creating = any(one.state == "creating" for one in rows) and any(one.exit and one.run for one in rows)
    return is_forgiven or is_creating


@given(pods(), MOMENTS, MOMENTS)
def test_a_simulator_that_was_started_again_takes_nothing_back(told: PodRecord, break_: int, until: int) -> None:
    story = Story(told).at(break_)
    before = {one.name: one for one in story.pod.status.init_container_statuses + story.pod.status.container_statuses}
    phase, ready = story.phase, story.condition("Ready")
    story.restarted().at(break_)
    assert (story.phase, story.condition("Ready")) == (phase, ready)
    for one in story.pod.status.init_container_statuses + story.pod.status.container_statuses:
        was = before[one.name]
        assert one.restart_count == was.restart_count
        assert (one.state.running, one.state.terminated) == (was.state.running, was.state.terminated)
    story.at(break_ + until)
    assert ORDER.index(story.phase) >= ORDER.index(phase)


@given(pods(), st.lists(MOMENTS, max_size=5), st.integers(1, 3))
def test_what_was_written_is_not_written_again(told: PodRecord, looks: list[int], generation: int) -> None:
    metadata = msgspec.structs.replace(told.metadata, generation=generation)
    story = Story(msgspec.structs.replace(told, metadata=metadata))
    for moment in sorted(looks):
        story.at(moment)  # asks for the difference again once it was applied
        written = len(story.patches)
        later = View(story.pod, NODE, story.plan, story.lived, story.now + 0.5)
        if story.wake is None or story.wake > later.now:
            assert statuses.difference(later) is None
        story.at(moment)
        assert len(story.patches) == written
        assert story.pod.status.observed_generation == generation


PLACES = st.sampled_from((DOMAIN, f"main.{DOMAIN}", f"nobody.{DOMAIN}", f".{DOMAIN}", "example.com", ""))
TEXTS = (
    st.text(max_size=20) | SPANS | st.sampled_from(("true", "false", "1s-3s", "3s-1s", "-1s", "9" * 5000, "1e9", "٣"))
)


@given(
    st.dictionaries(st.tuples(PLACES, st.sampled_from(BEHAVIOURS) | st.text(max_size=9)), TEXTS, max_size=8), MOMENTS
)
def test_annotations_of_any_form_are_understood_or_told_as_problems(
    annotations: dict[tuple[str, str], str], moment: int
) -> None:
    told = {"/".join(name): text for name, text in annotations.items()}
    told_by_node = Story(pod(), node=with_annotations(told)).at(0).told_to_stop(moment)
    story = Story(pod({"name": "main"}, init=({"name": "setup"},), annotations=told)).at(0).told_to_stop(moment)
    for problem in (*story.problems, *told_by_node.problems):
        assert told[problem.annotation] == problem.value
        assert problem.remedy
        assert "None" not in str(problem)
    assert story.lived.stop is not None


def with_annotations(told: dict[str, str]) -> Any:
    return msgspec.structs.replace(NODE, metadata=msgspec.structs.replace(NODE.metadata, annotations=told))
