import msgspec
import pytest

from grove.nodes import life, statuses
from grove.nodes.moments import stamp
from grove.nodes.objects import NodeRecord
from tests.unit.nodes.stories import BIRTH, NODE, Json, Story, plain, pod, simulated

TYPES = ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"]


def test_the_first_status_says_all_that_a_kubelet_says() -> None:
    story = Story(pod(metadata={"generation": 1}))
    story.at(0.7)
    now = stamp(BIRTH)
    container = story.container()
    assert container.container_id.startswith("simulated://")
    assert container.image_id.startswith("main:1@sha256:")
    assert story.patches == [
        {
            "metadata": {"uid": "uid-1"},
            "status": {
                "observedGeneration": 1,
                "phase": "Running",
                "startTime": now,
                "hostIP": "192.0.2.1",
                "hostIPs": [{"ip": "192.0.2.1"}],
                "podIP": "10.0.0.1",
                "podIPs": [{"ip": "10.0.0.1"}],
                "containerStatuses": [
                    {
                        "name": "main",
                        "state": {"running": {"startedAt": now}},
                        "lastState": {},
                        "ready": True,
                        "restartCount": 0,
                        "image": "main:1",
                        "imageID": container.image_id,
                        "containerID": container.container_id,
                        "started": True,
                    }
                ],
                "conditions": [
                    {
                        "type": type_,
                        "status": "True",
                        "lastTransitionTime": now,
                        "reason": None,
                        "message": None,
                        "lastProbeTime": None,
                        "observedGeneration": 1,
                    }
                    for type_ in TYPES
                ],
            },
        }
    ]


def test_what_has_not_changed_is_not_written_again() -> None:
    story = Story(pod(annotations=simulated(ready_delay="5s"))).at(0).at(5)
    status = story.patches[1]["status"]
    assert status.keys() == {"containerStatuses", "conditions"}
    assert [one["type"] for one in status["conditions"]] == ["Ready", "ContainersReady"]
    assert {one["lastTransitionTime"] for one in status["conditions"]} == {stamp(BIRTH + 5)}


def test_the_time_of_a_condition_changes_only_with_its_status() -> None:
    story = Story(pod({"name": "a"}, {"name": "b"}, annotations=simulated(a__ready_delay="5s", b__ready_delay="9s")))
    story.at(0).at(5)
    ready = next(one for one in story.pod.status.conditions if one.type == "Ready")
    assert ready.message == "containers with unready status: [b]"
    assert ready.last_transition_time == stamp(BIRTH)


def test_container_statuses_are_told_by_name_and_init_containers_in_their_order() -> None:
    story = Story(pod({"name": "b"}, {"name": "a"}, init=({"name": "z"}, {"name": "y"}))).at(0)
    assert [one.name for one in story.pod.status.container_statuses] == ["a", "b"]
    assert [one.name for one in story.pod.status.init_container_statuses] == ["z", "y"]


def test_what_others_say_of_a_pod_is_left_alone() -> None:
    theirs = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
    story = Story(pod(status={"conditions": [theirs], "message": "theirs"})).at(0)
    assert theirs.items() <= story.status["conditions"][0].items()
    assert story.status["message"] == "theirs"


def test_a_bound_pod_counts_as_scheduled_whatever_was_said_before() -> None:
    before = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no room"}
    story = Story(pod(status={"conditions": [before]})).at(0)
    assert story.condition("PodScheduled") == "True"


# Readiness gates


def test_a_pod_with_readiness_gates_is_ready_when_others_say_so() -> None:
    story = Story(pod(readinessGates=[{"conditionType": "example.com/a"}, {"conditionType": "example.com/b"}]))
    story.at(0)
    absent = 'corresponding condition of pod readiness gate "example.com/{}" does not exist.'
    assert story.condition("ContainersReady") == "True"
    assert story.condition("Ready") == f"False ReadinessGatesNotReady: {absent.format('a')}, {absent.format('b')}"
    story.apply({"status": {"conditions": [{"type": "example.com/a", "status": "True"}]}})
    story.apply({"status": {"conditions": [{"type": "example.com/b", "status": "False"}]}})
    story.at(1)
    assert story.condition("Ready") == (
        'False ReadinessGatesNotReady: the status of pod readiness gate "example.com/b" is not "True", but False'
    )
    story.apply({"status": {"conditions": [{"type": "example.com/b", "status": "True"}]}})
    assert story.at(2).condition("Ready") == "True"


def test_of_unready_containers_and_closed_gates_the_containers_are_told() -> None:
    told = simulated(never_ready="true")
    story = Story(pod(annotations=told, readinessGates=[{"conditionType": "example.com/a"}])).at(0)
    assert story.condition("Ready") == "False ContainersNotReady: containers with unready status: [main]"


# Addresses


def test_a_node_that_moved_is_told_in_place_of_where_it_was() -> None:
    story = Story(pod()).at(0)
    moved = plain(NODE)
    moved["status"]["addresses"] = [{"type": "InternalIP", "address": "192.0.2.9"}]
    story.node = msgspec.convert(moved, NodeRecord)
    story.at(1)
    assert story.patches[1]["status"] == {
        "hostIP": "192.0.2.9",
        "hostIPs": [{"$patch": "replace"}, {"ip": "192.0.2.9"}],
    }
    assert story.pod.status.host_ip == "192.0.2.9"


def test_a_pod_without_addresses_lives_and_ends_as_others_do() -> None:
    nowhere = msgspec.structs.replace(NODE, status=msgspec.structs.replace(NODE.status, addresses=()))
    story = Story(pod(annotations=simulated(complete_after="1s"), restartPolicy="Never"), node=nowhere)
    story.life = life.begun(story.plan, admitted=BIRTH, ip="")
    story.at(0).at(1)
    assert not any("hostIP" in one["status"] or "podIP" in one["status"] for one in story.patches)
    assert (story.phase, story.condition("Ready")) == ("Succeeded", "False PodCompleted")
    assert not story.restarted().at(2).lived.is_rejected


# Generations


def test_a_generation_is_observed_even_if_nothing_else_has_changed() -> None:
    story = Story(pod(metadata={"generation": 1})).at(0)
    story.apply({"metadata": {"generation": 2}})
    assert story.at(1).patches[1] == {"metadata": {"uid": "uid-1"}, "status": {"observedGeneration": 2}}


def test_that_a_pod_is_to_go_is_not_worth_a_write_of_its_own() -> None:
    story = Story(pod(metadata={"generation": 1}, annotations=simulated(stop_delay="5s"))).at(0)
    story.told_to_stop(1)
    assert story.pod.metadata.generation == 2
    assert len(story.patches) == 1
    assert story.at(6).patches[1]["status"]["observedGeneration"] == 2


def test_a_server_that_counts_no_generations_is_not_told_of_any() -> None:
    story = Story(pod()).at(0)
    assert "observedGeneration" not in story.patches[0]["status"]
    assert all("observedGeneration" not in one for one in story.patches[0]["status"]["conditions"])


# What became of containers


def test_every_run_of_a_container_has_an_id_of_its_own() -> None:
    story = Story(pod(annotations=simulated(crash_after="1s"))).at(0)
    first = story.container().container_id
    story.at(1)
    second, last = story.container().container_id, story.container().last_state.terminated
    assert last is not None
    assert last.container_id == first != second
    story.at(2)
    assert story.container().container_id == second
    last = story.container().last_state.terminated
    assert last is not None
    assert last.container_id == second


def test_the_last_state_of_a_container_that_has_ended_for_good_is_that_before() -> None:
    told = simulated(crash_after="1s", crashes="1", complete_after="2s")
    story = Story(pod(annotations=told, restartPolicy="OnFailure")).at(0).at(9)
    assert (story.state(), story.last()) == ("terminated 0 Completed 1-3", "terminated 1 Error 0-1")
    assert story.restarted().at(10).last() == "terminated 1 Error 0-1"


@pytest.mark.parametrize("image", ["main@sha256:abc", "main:1", ""])
def test_an_image_has_an_id_whatever_its_name_is(image: str) -> None:
    story = Story(pod({"name": "main", "image": image})).at(0)
    assert story.container().image_id.startswith(f"{image.partition('@')[0]}@sha256:")


# The way back


def test_a_pod_that_no_kubelet_has_taken_in_has_no_life_to_take_up() -> None:
    story = Story(pod())
    assert statuses.taken_up(story.pod, story.plan) is None


TAKEN_IN: Json = {"startTime": stamp(BIRTH), "podIP": "10.0.0.1"}


def status_of_main(**fields: object) -> Json:
    return {"name": "main", "ready": False, "restartCount": 0, "image": "", "imageID": ""} | fields


def test_a_container_without_a_status_has_not_begun() -> None:
    story = Story(pod(status=TAKEN_IN, annotations=simulated(start_delay="5s"))).restarted()
    story.tells((3, "Pending; main waiting ContainerCreating"), (5, "Running; main running 5 ready"))


def test_a_container_that_somebody_else_told_of_without_times_is_taken_up_as_it_is() -> None:
    ended = status_of_main(state={"terminated": {"exitCode": 137, "reason": "ContainerStatusUnknown"}}, started=False)
    over = TAKEN_IN | {"phase": "Failed", "hostIP": "192.0.2.1", "containerStatuses": [ended]}
    story = Story(pod(status=over)).restarted().at(5)
    assert story.line() == "Failed; main terminated 137 ContainerStatusUnknown"
    assert story.restarted().at(6).line() == "Failed; main terminated 137 ContainerStatusUnknown"
    running = status_of_main(state={"running": {}})
    story = Story(pod(status=TAKEN_IN | {"phase": "Running", "containerStatuses": [running]})).restarted()
    story.tells((5, "Running; main running 0 ready"))


def test_a_container_that_waits_after_it_was_lost_begins_with_its_next_run() -> None:
    told = simulated(setup__complete_after="5s")
    story = Story(pod(init=({"name": "setup"},), annotations=told)).at(20).rebooted(30)
    story.restarted().at(31)
    assert story.line() == "Pending; setup running 30 started x1; main waiting PodInitializing x1"
    assert story.last() == "terminated 255 Unknown 5-30"


def test_a_pod_that_was_ended_by_others_while_the_simulator_was_away_is_over() -> None:
    story = Story(pod()).at(0)
    story.apply({"status": {"phase": "Failed", "reason": "NodeLost"}})
    story.restarted().at(5)
    assert story.lived.over == life.Over("Failed", "NodeLost")
    assert (story.wakes, story.told_to_stop(6).lived.is_gone) == (None, True)


def test_what_is_being_created_goes_on_from_when_it_had_its_turn() -> None:
    told = simulated(setup__complete_after="5s", start_delay="10s")
    story = Story(pod(init=({"name": "setup"},), annotations=told)).at(8).restarted()
    story.at(14)
    assert (story.state(), story.wakes) == ("waiting PodInitializing", 15)
    sidecar = {"name": "proxy", "restartPolicy": "Always", "startupProbe": {"initialDelaySeconds": 5}}
    story = Story(pod(init=(sidecar,), annotations=simulated(start_delay="10s")))
    for moment, wake in ((3, 5), (8, 15)):
        assert story.at(moment).restarted().at(moment).wakes == wake


def test_a_pod_that_is_being_ended_comes_to_the_same_end() -> None:
    sidecar = {"name": "proxy", "restartPolicy": "Always"}
    told = simulated(stop_delay="2s", proxy__stop_delay="20s")
    story = Story(pod(init=(sidecar,), annotations=told, restartPolicy="Never", activeDeadlineSeconds=10))
    assert story.at(13).line() == "Running; proxy running 0 ready; main terminated 0 Completed 0-12"
    story.restarted().tells((32, "Failed; proxy terminated 0 Completed 0-32; main terminated 0 Completed 0-12"))
    assert story.status["reason"] == "DeadlineExceeded"
    done = Story(
        pod(
            init=(sidecar,),
            annotations=simulated(complete_after="5s", proxy__stop_delay="20s"),
            restartPolicy="Never",
            activeDeadlineSeconds=10,
        )
    )
    done.at(13).restarted().tells((25, "Succeeded; proxy terminated 0 Completed 0-25; main terminated 0 Completed 0-5"))


def test_a_sidecar_that_had_not_started_has_let_nobody_pass() -> None:
    sidecar = {"name": "proxy", "restartPolicy": "Always", "startupProbe": {"initialDelaySeconds": 5}}
    story = Story(pod(init=(sidecar,), annotations=simulated(proxy__crash_after="2s"))).at(1).restarted()
    story.tells((6, "Pending; proxy waiting CrashLoopBackOff x1; main waiting PodInitializing"))
