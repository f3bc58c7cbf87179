"""Whole lives of pods, as the API sees them. What kubelets do is read from the kubelet of Kubernetes 1.36."""

import itertools

import pytest

from grove.nodes import life, statuses
from grove.nodes.behaviour import Span
from grove.nodes.plans import Defaults
from grove.nodes.statuses import View
from tests.unit.nodes.stories import BIRTH, NODE, Story, pod, simulated

# One container


def test_a_pod_of_one_container_runs_and_is_ready_at_once() -> None:
    story = Story(pod()).tells((0, "Running; main running 0 ready"))
    assert story.wakes is None
    assert len(story.patches) == 1


def test_a_container_starts_and_is_ready_when_its_delays_have_passed() -> None:
    story = Story(pod(annotations=simulated(start_delay="5s", ready_delay="10s")))
    story.tells((0, "Pending; main waiting ContainerCreating"))
    assert story.wakes == 5
    story.tells((5, "Running; main running 5 started"))
    assert story.wakes == 15
    story.tells((14, "Running; main running 5 started"), (15, "Running; main running 5 ready"))
    assert story.wakes is None


def test_the_delays_of_the_fleet_are_those_of_containers_of_which_nothing_is_said() -> None:
    defaults = Defaults(start_delay=Span(2, 2), ready_delay=Span(3, 3))
    Story(pod(init=({"name": "setup"},)), defaults=defaults).tells(
        (0, "Pending; setup terminated 0 Completed 0-0 ready; main waiting PodInitializing"),
        (2, "Running; setup terminated 0 Completed 0-0 ready; main running 2 started"),
        (5, "Running; setup terminated 0 Completed 0-0 ready; main running 2 ready"),
    )


def test_probes_are_waited_for_as_long_as_they_say_from_the_start_of_the_container() -> None:
    probed = {
        "name": "main",
        "startupProbe": {"initialDelaySeconds": 4},
        "readinessProbe": {"initialDelaySeconds": 3},
    }
    Story(pod(probed)).tells(
        (0, "Running; main running 0"),
        (3, "Running; main running 0"),
        (4, "Running; main running 0 ready"),
    )


def test_a_container_that_is_never_to_be_ready_starts_but_is_not() -> None:
    Story(pod(annotations=simulated(never_ready="true"))).tells((0, "Running; main running 0 started"))


def test_a_step_that_comes_late_tells_what_happened_at_its_own_moments() -> None:
    story = Story(pod(annotations=simulated(start_delay="1s", complete_after="2s"), restartPolicy="Never"))
    story.tells((100, "Succeeded; main terminated 0 Completed 1-3"))


def test_what_becomes_due_because_the_annotations_changed_is_done_now_and_not_in_the_past() -> None:
    story = Story(pod(restartPolicy="Never")).at(0).at(50)
    story.apply({"metadata": {"annotations": simulated(complete_after="10s")}})
    story.tells((60, "Succeeded; main terminated 0 Completed 0-60"))


# Restarts


@pytest.mark.parametrize(
    ("policy", "code", "phase", "state"),
    [
        ("Always", "0", "Running", "waiting CrashLoopBackOff"),
        ("Always", "3", "Running", "waiting CrashLoopBackOff"),
        ("OnFailure", "0", "Succeeded", "terminated 0 Completed 0-1"),
        ("OnFailure", "3", "Running", "waiting CrashLoopBackOff"),
        ("Never", "0", "Succeeded", "terminated 0 Completed 0-1"),
        ("Never", "3", "Failed", "terminated 3 Error 0-1"),
    ],
)
def test_the_restart_policy_says_what_follows_an_exit(policy: str, code: str, phase: str, state: str) -> None:
    told = simulated(complete_after="1s", exit_code=code)
    story = Story(pod(annotations=told, restartPolicy=policy)).at(3)
    assert (story.phase, story.state()) == (phase, state)


def test_the_first_restart_comes_at_once_and_the_next_ones_later_and_later_up_to_five_minutes() -> None:
    story = Story(pod(annotations=simulated(crash_after="1s")))
    starts: list[int] = []
    while len(starts) < 9:
        story.at(story.wakes or 0)
        if story.state().startswith("running"):
            starts.append(int(story.state().split()[1]))
    pauses = [after - before - 1 for before, after in itertools.pairwise(starts)]
    assert pauses == [0, 10, 20, 40, 80, 160, 300, 300]


def test_a_crash_loop_reads_as_a_kubelet_tells_it() -> None:
    story = Story(pod(annotations=simulated(crash_after="1s"))).tells(
        (0, "Running; main running 0 ready"),
        (1, "Running; main running 1 ready x1"),
        (2, "Running; main waiting CrashLoopBackOff x1"),
    )
    waiting = story.container().state.waiting
    assert waiting is not None
    assert waiting.message == "back-off 10s restarting failed container=main pod=pod_default(uid-1)"
    assert story.last() == "terminated 1 Error 1-2"
    assert story.condition("Ready") == "False ContainersNotReady: containers with unready status: [main]"
    story.tells((12, "Running; main running 12 ready x2"))
    assert story.last() == "terminated 1 Error 1-2"
    waiting = story.at(13).container().state.waiting
    assert waiting is not None
    assert waiting.message.startswith("back-off 20s restarting")


def test_ten_good_minutes_are_forgiven() -> None:
    story = Story(pod(annotations=simulated(crash_after="600s")))
    story.tells((600, "Running; main running 600 ready x1"), (1200, "Running; main running 1200 ready x2"))
    short = Story(pod(annotations=simulated(crash_after="599s")))
    short.tells((599, "Running; main running 599 ready x1"), (1198, "Running; main waiting CrashLoopBackOff x1"))


def test_a_container_that_crashes_only_so_often_runs_on_afterwards() -> None:
    story = Story(pod(annotations=simulated(crash_after="1s", crashes="2")))
    story.tells((2, "Running; main waiting CrashLoopBackOff x1"), (12, "Running; main running 12 ready x2"))
    assert story.wakes is None


def test_a_container_completes_after_its_crashes_if_it_is_to_complete() -> None:
    told = simulated(crash_after="1s", crashes="1", complete_after="5s", exit_code="7")
    story = Story(pod(annotations=told, restartPolicy="OnFailure"))
    story.tells((1, "Running; main running 1 ready x1"))
    assert story.last() == "terminated 7 Error 0-1"
    story.tells((6, "Succeeded; main terminated 0 Completed 1-6 x1"))
    assert story.last() == "terminated 7 Error 0-1"


def test_a_container_has_its_own_restart_policy_and_rules() -> None:
    told = simulated(a__complete_after="1s", b__complete_after="1s", b__exit_code="42", b__crashes="1")
    rules = [{"action": "Restart", "exitCodes": {"operator": "In", "values": [42]}}]
    story = Story(
        pod(
            {"name": "a", "restartPolicy": "Always"},
            {"name": "b", "restartPolicy": "Never", "restartPolicyRules": rules},
            annotations=told,
            restartPolicy="Never",
        )
    )
    story.tells(
        (1, "Running; a running 1 ready x1; b running 1 ready x1"),
        (2, "Running; a waiting CrashLoopBackOff x1; b terminated 0 Completed 1-2 x1"),
    )


# Several containers


def test_a_pod_fails_when_all_have_ended_and_one_of_them_badly() -> None:
    told = simulated(good__complete_after="1s", bad__crash_after="2s")
    story = Story(pod({"name": "good"}, {"name": "bad"}, annotations=told, restartPolicy="Never"))
    story.tells(
        (1, "Running; bad running 0 ready; good terminated 0 Completed 0-1"),
        (2, "Failed; bad terminated 1 Error 0-2; good terminated 0 Completed 0-1"),
    )
    assert story.condition("Ready") == "False PodFailed"
    assert story.condition("ContainersReady") == "False PodFailed"
    assert story.condition("Initialized") == "True"
    assert story.condition("PodReadyToStartContainers") == "False"
    assert story.wakes is None


def test_the_pod_is_pending_until_all_containers_have_run() -> None:
    Story(pod({"name": "fast"}, {"name": "slow"}, annotations=simulated(slow__start_delay="9s"))).tells(
        (0, "Pending; fast running 0 ready; slow waiting ContainerCreating"),
        (9, "Running; fast running 0 ready; slow running 9 ready"),
    )


# Init containers and sidecars


def test_init_containers_run_one_after_the_other_and_then_all_others_at_once() -> None:
    told = simulated(one__complete_after="2s", two__start_delay="1s", two__complete_after="3s")
    story = Story(pod({"name": "a"}, {"name": "b"}, init=({"name": "one"}, {"name": "two"}), annotations=told))
    story.at(0)
    assert story.condition("Initialized") == (
        "False ContainersNotInitialized: containers with incomplete status: [one two]"
    )
    waiting = "a waiting PodInitializing; b waiting PodInitializing"
    story.tells(
        (0, f"Pending; one running 0 started; two waiting PodInitializing; {waiting}"),
        (2, f"Pending; one terminated 0 Completed 0-2 ready; two waiting PodInitializing; {waiting}"),
        (3, f"Pending; one terminated 0 Completed 0-2 ready; two running 3 started; {waiting}"),
    )
    assert story.condition("Initialized").endswith("[two]")
    story.at(6)
    assert story.phase == "Running"
    assert (story.state("two"), story.state("a"), story.state("b")) == (
        "terminated 0 Completed 3-6",
        "running 6",
        "running 6",
    )
    assert [story.condition(one) for one in ("Initialized", "Ready", "PodScheduled")] == ["True"] * 3


def test_an_init_container_that_fails_runs_again_later_and_later() -> None:
    told = simulated(setup__crash_after="1s", setup__crashes="2")
    story = Story(pod(init=({"name": "setup"},), annotations=told))
    story.tells(
        (1, "Pending; setup running 1 started x1; main waiting PodInitializing"),
        (2, "Pending; setup waiting CrashLoopBackOff x1; main waiting PodInitializing"),
        (12, "Running; setup terminated 0 Completed 12-12 ready x2; main running 12 ready"),
    )


def test_an_init_container_that_fails_and_may_not_run_again_is_the_end_of_the_pod() -> None:
    story = Story(
        pod(
            init=({"name": "proxy", "restartPolicy": "Always"}, {"name": "setup"}, {"name": "later"}),
            annotations=simulated(setup__crash_after="1s"),
            restartPolicy="Never",
        )
    )
    story.tells(
        (
            1,
            (
                "Failed; proxy terminated 0 Completed 0-1; setup terminated 1 Error 0-1; "
                "later waiting PodInitializing; main waiting PodInitializing"
            ),
        )
    )
    assert story.condition("Initialized") == (
        "False ContainersNotInitialized: containers with incomplete status: [proxy setup later]"
    )
    assert story.condition("Ready") == "False PodFailed"


def test_a_sidecar_starts_before_the_next_init_container_and_runs_beside_all_others() -> None:
    told = simulated(proxy__start_delay="1s", setup__complete_after="2s")
    sidecar = {"name": "proxy", "restartPolicy": "Always", "startupProbe": {"initialDelaySeconds": 3}}
    story = Story(pod(init=(sidecar, {"name": "setup"}), annotations=told))
    story.tells(
        (0, "Pending; proxy waiting PodInitializing; setup waiting PodInitializing; main waiting PodInitializing"),
        (1, "Pending; proxy running 1; setup waiting PodInitializing; main waiting PodInitializing"),
        (4, "Pending; proxy running 1 ready; setup running 4 started; main waiting PodInitializing"),
        (6, "Running; proxy running 1 ready; setup terminated 0 Completed 4-6 ready; main running 6 ready"),
    )


def test_a_sidecar_that_crashes_before_it_has_started_lets_nobody_pass() -> None:
    sidecar = {"name": "proxy", "restartPolicy": "Always", "startupProbe": {"initialDelaySeconds": 5}}
    story = Story(pod(init=(sidecar,), annotations=simulated(proxy__crash_after="2s")))
    story.tells(
        (3, "Pending; proxy running 2 x1; main waiting PodInitializing"),
        (4, "Pending; proxy waiting CrashLoopBackOff x1; main waiting PodInitializing"),
        (100, "Pending; proxy waiting CrashLoopBackOff x4; main waiting PodInitializing"),
    )


def test_a_sidecar_that_crashes_later_holds_nobody_up_and_takes_nothing_back() -> None:
    told = simulated(proxy__crash_after="10s", setup__complete_after="15s", main__start_delay="10s")
    story = Story(pod(init=({"name": "proxy", "restartPolicy": "Always"}, {"name": "setup"}), annotations=told))
    story.at(14)
    assert story.container("proxy").restart_count == 1
    story.tells(
        (
            24,
            (
                "Pending; proxy waiting CrashLoopBackOff x1; setup terminated 0 Completed 0-15 ready; "
                "main waiting PodInitializing"
            ),
        ),
        (
            25,
            (
                "Running; proxy waiting CrashLoopBackOff x1; setup terminated 0 Completed 0-15 ready; "
                "main running 25 ready"
            ),
        ),
    )
    assert story.condition("Initialized") == "True"
    assert story.condition("Ready") == "False ContainersNotReady: containers with unready status: [proxy]"


def test_a_sidecar_that_starts_again_does_not_take_the_pod_back_to_pending() -> None:
    sidecar = {"name": "proxy", "restartPolicy": "Always", "startupProbe": {"initialDelaySeconds": 5}}
    story = Story(pod(init=(sidecar,), annotations=simulated(proxy__crash_after="10s")))
    story.tells((10, "Running; proxy running 10 x1; main running 5 ready"))
    assert story.condition("Initialized") == "True"


def test_sidecars_do_not_keep_a_pod_from_completing_and_end_after_it_the_last_one_first() -> None:
    sidecars = tuple({"name": name, "restartPolicy": "Always"} for name in ("a", "b"))
    told = simulated(complete_after="10s", a__stop_delay="2s", b__stop_delay="3s")
    story = Story(pod(init=sidecars, annotations=told, restartPolicy="OnFailure"))
    main = "main terminated 0 Completed 0-10"
    story.tells(
        (10, f"Running; a running 0 ready; b running 0 ready; {main}"),
        (13, f"Running; a running 0 ready; b terminated 0 Completed 0-13; {main}"),
        (15, f"Succeeded; a terminated 0 Completed 0-15; b terminated 0 Completed 0-13; {main}"),
    )
    assert story.condition("Initialized") == "True PodCompleted"
    assert story.condition("Ready") == "False PodCompleted"


def test_a_sidecar_that_does_not_end_after_its_pod_is_killed_when_the_grace_period_is_over() -> None:
    story = Story(
        pod(
            init=({"name": "proxy", "restartPolicy": "Always"},),
            annotations=simulated(complete_after="1s", proxy__stop_delay="1h"),
            restartPolicy="Never",
            terminationGracePeriodSeconds=5,
        )
    )
    story.tells((6, "Succeeded; proxy terminated 137 Error 0-6; main terminated 0 Completed 0-1"))


def test_a_crash_looping_sidecar_does_not_keep_a_pod_from_completing() -> None:
    told = simulated(complete_after="25s", proxy__crash_after="10s")
    story = Story(pod(init=({"name": "proxy", "restartPolicy": "Always"},), annotations=told, restartPolicy="Never"))
    story.tells((24, "Running; proxy waiting CrashLoopBackOff x1; main running 0 ready"))
    story.tells((25, "Succeeded; proxy terminated 1 Error 10-20 x1; main terminated 0 Completed 0-25"))


# Images


def test_an_image_that_is_not_to_be_had_is_asked_for_later_and_later_until_it_is_there() -> None:
    story = Story(pod(annotations=simulated(image_pull_error="no such image")))
    story.tells((0, "Pending; main waiting ErrImagePull"), (1, "Pending; main waiting ImagePullBackOff"))
    waiting = story.container().state.waiting
    assert waiting is not None
    assert waiting.message == 'Back-off pulling image "main:1": ErrImagePull: no such image'
    story.tells(
        (10, "Pending; main waiting ImagePullBackOff"),
        (11, "Pending; main waiting ErrImagePull"),
        (12, "Pending; main waiting ImagePullBackOff"),
        (31, "Pending; main waiting ImagePullBackOff"),
        (32, "Pending; main waiting ErrImagePull"),
        (40, "Pending; main waiting ImagePullBackOff"),
    )
    assert story.container().container_id == story.container().image_id == ""
    story.apply({"metadata": {"annotations": None}})
    story.tells((45, "Running; main running 45 ready"))


# The end


def test_a_pod_that_is_told_to_stop_is_gone_when_its_containers_have_ended() -> None:
    story = Story(pod(annotations=simulated(stop_delay="4s"))).told_to_stop(10)
    story.tells((13, "Running; main running 0 ready"))
    assert not story.lived.is_gone
    assert story.wakes == 14
    story.tells((14, "Succeeded; main terminated 0 Completed 0-14"))
    assert story.lived.is_gone
    assert story.wakes is None


def test_a_container_that_takes_longer_than_the_grace_period_is_killed() -> None:
    story = Story(pod(annotations=simulated(stop_delay="1h"))).told_to_stop(10, grace=5)
    story.tells((14, "Running; main running 0 ready"), (15, "Failed; main terminated 137 Error 0-15"))
    assert story.lived.is_gone


def test_only_an_earlier_deadline_counts_when_a_pod_is_told_to_stop_again() -> None:
    story = Story(pod(annotations=simulated(stop_delay="1h"))).told_to_stop(0, grace=30)
    story.told_to_stop(5, grace=60)
    assert story.wakes == 30
    story.told_to_stop(6, grace=2)
    assert story.wakes == 8


def test_a_container_may_end_by_itself_while_it_is_told_to_stop() -> None:
    told = simulated(stop_delay="10s", crash_after="5s")
    story = Story(pod(annotations=told)).told_to_stop(3)
    story.tells((5, "Failed; main terminated 1 Error 0-5"))
    assert story.lived.is_gone


def test_sidecars_stop_after_the_others_and_init_containers_are_not_waited_for() -> None:
    sidecars = tuple({"name": name, "restartPolicy": "Always"} for name in ("a", "b"))
    story = Story(
        pod(init=sidecars, annotations=simulated(stop_delay="3s", b__stop_delay="2s", a__stop_delay="1s"))
    ).told_to_stop(10)
    story.at(100)
    assert [story.state(one) for one in ("main", "b", "a")] == [
        "terminated 0 Completed 0-13",
        "terminated 0 Completed 0-15",
        "terminated 0 Completed 0-16",
    ]
    early = Story(
        pod(
            init=(sidecars[0], {"name": "setup"}),
            annotations=simulated(setup__complete_after="1h", setup__stop_delay="9s", a__stop_delay="2s"),
        )
    ).told_to_stop(10)
    early.tells(
        (12, "Pending; a terminated 0 Completed 0-12; setup running 0 started; main waiting PodInitializing"),
        (
            19,
            (
                "Failed; a terminated 0 Completed 0-12; setup terminated 0 Completed 0-19 ready; "
                "main terminated 137 ContainerStatusUnknown"
            ),
        ),
    )


def test_sidecars_whose_turn_does_not_come_end_with_the_grace_period() -> None:
    sidecars = tuple({"name": name, "restartPolicy": "Always"} for name in ("a", "b"))
    told = simulated(stop_delay="1h", a__stop_delay="1s")
    story = Story(pod(init=sidecars, annotations=told)).told_to_stop(0, grace=7)
    story.tells((7, "Failed; a terminated 137 Error 0-7; b terminated 0 Completed 0-7; main terminated 137 Error 0-7"))


@pytest.mark.parametrize(
    ("story", "line"),
    [
        (
            Story(pod(annotations=simulated(start_delay="1h"))),
            "Failed; main terminated 137 ContainerStatusUnknown",
        ),
        (
            Story(pod(annotations=simulated(crash_after="1s"))),
            "Failed; main terminated 1 Error 1-2 x1",
        ),
        (
            Story(pod(init=({"name": "setup"}, {"name": "later"}), annotations=simulated(setup__start_delay="1h"))),
            (
                "Failed; setup terminated 137 ContainerStatusUnknown; later waiting PodInitializing; "
                "main waiting PodInitializing"
            ),
        ),
    ],
    ids=["creating", "backing off", "initializing"],
)
def test_a_pod_of_which_nothing_runs_is_gone_as_soon_as_it_is_told_to_stop(story: Story, line: str) -> None:
    story.told_to_stop(3)
    assert story.line() == line
    assert story.lived.is_gone


def test_a_pod_that_is_over_is_gone_as_soon_as_it_is_told_to_stop() -> None:
    story = Story(pod(annotations=simulated(complete_after="1s"), restartPolicy="Never")).at(5)
    written = len(story.patches)
    assert story.told_to_stop(6).lived.is_gone
    assert (story.phase, len(story.patches)) == ("Succeeded", written)


def test_a_pod_is_ended_at_its_deadline() -> None:
    told = simulated(main__stop_delay="2s", broken__image_pull_error="true")
    story = Story(pod({"name": "main"}, {"name": "broken"}, annotations=told, activeDeadlineSeconds=10))
    story.at(9)
    assert story.wakes == 10
    story.tells(
        (10, "Pending; broken waiting ImagePullBackOff; main running 0 ready"),
        (12, "Failed; broken terminated 137 ContainerStatusUnknown; main terminated 0 Completed 0-12"),
    )
    assert (story.status["reason"], story.status["message"]) == (
        "DeadlineExceeded",
        "Pod was active on the node longer than the specified deadline",
    )


def test_a_deadline_of_which_the_node_hears_late_is_kept_now() -> None:
    story = Story(pod()).at(0).at(100)
    story.apply({"spec": {"activeDeadlineSeconds": 10}})
    story.tells((150, "Failed; main terminated 0 Completed 0-150"))


def test_a_pod_that_winds_up_may_be_told_to_stop_too() -> None:
    story = Story(
        pod(
            init=({"name": "proxy", "restartPolicy": "Always"},),
            annotations=simulated(complete_after="1s", proxy__stop_delay="20s"),
            restartPolicy="Never",
        )
    )
    story.told_to_stop(5, grace=3)
    assert not story.lived.is_gone
    story.tells((8, "Succeeded; proxy terminated 137 Error 0-8; main terminated 0 Completed 0-1"))
    assert story.lived.is_gone


# What comes from outside


def test_an_init_container_that_really_works_ends_when_it_is_said_to() -> None:
    story = Story(pod(init=({"name": "grove-initc"},), annotations=simulated(grove_initc__crash_after="1s")))
    story.tells((50, "Pending; grove-initc running 0 started; main waiting PodInitializing"))
    story.finished(60, 0, 1, "no luck")
    assert story.line() == "Pending; grove-initc running 60 started x1; main waiting PodInitializing"
    last = story.container("grove-initc").last_state.terminated
    assert last is not None
    assert last.message == "no luck"
    story.finished(90, 0, 0)
    assert story.line() == "Running; grove-initc terminated 0 Completed 60-90 ready x1; main running 90 ready"


def test_word_of_a_run_that_has_ended_already_says_nothing() -> None:
    story = Story(pod(init=({"name": "grove-initc"},))).at(5)
    for run in (1, -1):
        assert life.finished(story.lived, ("init", 0), run, story.now, 1, "") is story.lived
    story.finished(6, 0, 0)
    assert life.finished(story.lived, ("init", 0), 0, story.now, 1, "") is story.lived


def test_a_pod_begins_anew_when_its_node_was_without_power() -> None:
    told = simulated(setup__complete_after="5s")
    sidecar = {"name": "proxy", "restartPolicy": "Always"}
    story = Story(pod(init=(sidecar, {"name": "setup"}), annotations=told)).at(20).rebooted(30)
    # As kubelets have it, the pod is pending again while it is initialized, though it goes on being Initialized.
    assert (
        story.line()
        == "Pending; proxy running 30 ready x1; setup running 30 started x1; main waiting PodInitializing x1"
    )
    assert (story.last("proxy"), story.last()) == ("terminated 255 Unknown 0-30", "terminated 255 Unknown 5-30")
    assert story.condition("Initialized") == "True"
    story.tells(
        (
            35,
            "Running; proxy running 30 ready x1; setup terminated 0 Completed 30-35 ready x1; main running 35 ready x1",
        )
    )


def test_a_pod_is_pending_again_while_its_sidecars_start_after_a_loss_of_power() -> None:
    sidecar = {"name": "proxy", "restartPolicy": "Always", "startupProbe": {"initialDelaySeconds": 5}}
    story = Story(pod(init=(sidecar,))).at(20).rebooted(30)
    assert story.line() == "Pending; proxy running 30 x1; main waiting PodInitializing x1"
    story.tells((35, "Running; proxy running 30 ready x1; main running 35 ready x1"))


def test_what_had_completed_for_good_is_not_repeated_after_a_loss_of_power() -> None:
    told = simulated(done__complete_after="5s")
    story = Story(
        pod({"name": "done"}, {"name": "main"}, init=({"name": "setup"},), annotations=told, restartPolicy="OnFailure")
    )
    story.at(20).rebooted(30)
    assert story.line() == (
        "Running; setup terminated 0 Completed 0-0 ready; done terminated 0 Completed 0-5; main running 30 ready x1"
    )


def test_a_pod_that_had_not_begun_begins_after_a_loss_of_power() -> None:
    story = Story(pod(annotations=simulated(start_delay="5s"), restartPolicy="Never")).at(3).rebooted(4)
    story.tells((8, "Pending; main waiting ContainerCreating"), (9, "Running; main running 9 ready"))


def test_a_pod_that_never_restarts_fails_when_its_node_was_without_power() -> None:
    story = Story(pod(init=({"name": "setup"},), restartPolicy="Never")).at(20).rebooted(30)
    assert story.line() == "Failed; setup terminated 0 Completed 0-0 ready; main terminated 255 Unknown 0-30"


def test_what_had_not_begun_of_a_pod_that_never_restarts_does_not_begin_after_a_loss_of_power() -> None:
    told = simulated(slow__start_delay="1h")
    story = Story(pod({"name": "fast"}, {"name": "slow"}, annotations=told, restartPolicy="Never")).at(5).rebooted(6)
    assert story.line() == "Failed; fast terminated 255 Unknown 0-6; slow terminated 137 ContainerStatusUnknown"


def test_a_pod_that_was_told_to_stop_is_gone_when_its_node_was_without_power() -> None:
    story = Story(pod(annotations=simulated(stop_delay="1h"))).told_to_stop(5).rebooted(10)
    assert story.lived.is_gone
    assert story.line() == "Failed; main terminated 255 Unknown 0-10"


def test_a_pod_that_was_over_stays_over_when_its_node_was_without_power() -> None:
    story = Story(pod(annotations=simulated(complete_after="1s"), restartPolicy="Never")).at(5).rebooted(10)
    assert story.line() == "Succeeded; main terminated 0 Completed 0-1"


def test_a_rejected_pod_has_failed_and_nothing_is_told_of_its_containers() -> None:
    story = Story(pod())
    story.life = life.rejected(story.plan, at=BIRTH, reason="OutOfcpu", message="Pod was rejected: no")
    story.at(0)
    assert story.status == story.status | {"phase": "Failed", "reason": "OutOfcpu", "message": "Pod was rejected: no"}
    assert story.patches[0]["status"].keys() == {"phase", "reason", "message", "startTime"}
    assert story.told_to_stop(5).lived.is_gone
    story.restarted().at(7)
    assert story.lived.is_rejected
    assert len(story.patches) == 1


def test_what_the_status_says_of_an_end_is_not_taken_back_by_a_life_that_goes_on() -> None:
    story = Story(pod()).at(0)
    story.apply({"status": {"phase": "Failed", "reason": "NodeLost"}})
    assert statuses.phase(View(story.pod, NODE, story.plan, story.lived, story.now)) == "Failed"
    story.at(5)
    assert (story.phase, story.condition("Ready")) == ("Failed", "False PodFailed")
