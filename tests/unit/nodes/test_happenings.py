from grove.nodes import life
from grove.nodes.happenings import Happening
from tests.unit.nodes.stories import BIRTH, Story, pod, simulated


def test_a_life_without_trouble_is_not_worth_telling() -> None:
    story = Story(pod(annotations=simulated(complete_after="5s"), restartPolicy="Never")).at(0).at(9)
    assert story.told_to_stop(10).happened == []


def test_every_back_off_is_told_once_and_none_that_does_not_wait() -> None:
    story = Story(pod(annotations=simulated(crash_after="1s")))
    told = Happening("BackOff", "Back-off restarting failed container main in pod pod_default(uid-1)")
    assert story.at(1).happened == []
    assert story.at(2).at(3).happened == [told]
    assert story.at(13).at(14).happened == [told, told]


def test_every_image_that_could_not_be_pulled_is_told() -> None:
    story = Story(pod(annotations=simulated(image_pull_error="denied"))).at(0).at(1).at(5)
    told = Happening("Failed", 'Failed to pull image "main:1": denied')
    assert story.happened == [told]
    assert story.at(11).happened == [told, told]


def test_an_end_with_a_reason_is_told() -> None:
    story = Story(pod(activeDeadlineSeconds=5)).at(0).at(5).at(6)
    message = "Pod was active on the node longer than the specified deadline"
    assert story.happened == [Happening("DeadlineExceeded", message)]


def test_a_rejection_is_told_without_saying_so_twice() -> None:
    story = Story(pod())
    story.life = life.rejected(story.plan, at=BIRTH, reason="OutOfcpu", message="Pod was rejected: no cpu")
    assert story.at(0).happened == [Happening("OutOfcpu", "no cpu")]


def test_what_was_told_before_the_simulator_was_started_again_is_not_told_again() -> None:
    for story in (
        Story(pod(annotations=simulated(crash_after="1s"))).at(3),
        Story(pod(activeDeadlineSeconds=2)).at(3),
    ):
        told = list(story.happened)
        assert len(told) == 1
        assert story.restarted().at(4).happened == told


def test_what_happened_while_the_simulator_was_away_is_told() -> None:
    story = Story(pod(activeDeadlineSeconds=5)).at(0).restarted().at(60)
    assert [one.reason for one in story.happened] == ["DeadlineExceeded"]


def test_a_container_that_fails_in_a_pod_that_ends_is_not_worth_telling() -> None:
    story = Story(pod(annotations=simulated(crash_after="1s", stop_delay="9s"))).at(1)
    assert story.told_to_stop(1.5).at(2).happened == []
