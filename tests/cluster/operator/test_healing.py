"""What becomes of workloads whose pods fail, whose nodes are lost, and whose gangs cannot be what they must."""

import datetime
from collections.abc import Iterator
from typing import Any

import pytest

from grove.api import labels
from grove.runtime.clock import SystemClock
from grove.testing.waiting import eventually
from tests.cluster.nodes.fleet import Fleet
from tests.cluster.operator.manifests import clique, pods_of, served, workload
from tests.cluster.operator.workloads import (
    CLIQUES,
    GANGS,
    GROUPS,
    PATIENCE,
    PODS,
    Workloads,
    condition,
    image_of,
    is_active,
    is_ready,
    label,
    name_of,
)

JSON = dict[str, Any]

DELAY = 3
"""Seconds of terminationDelay."""


@pytest.fixture
def failing(fleet: Fleet) -> Iterator[set[str]]:
    """Nodes that the test lets fail; they are brought back."""
    found: set[str] = set()
    yield found
    for node in found:
        fleet.annotate(node, fail=None, drain=None)
        eventually(
            lambda node=node: [  # type: ignore[misc]
                one for one in fleet.nodes() if one["metadata"]["name"] == node and is_ready(one)
            ],
            timeout=PATIENCE,
            message=f"{node} does not come back",
        )


def annotate(workloads: Workloads, pod: JSON, **annotations: str) -> None:
    """Tells the simulated kubelet what is to become of a pod that runs."""
    found = {f"simulate.grove.io/{key.replace('_', '-')}": text for key, text in annotations.items()}
    workloads.patch(PODS, name_of(pod), {"metadata": {"annotations": found}})


def of_clique(pods: list[JSON], name: str) -> list[JSON]:
    return [pod for pod in pods if label(pod, labels.POD_CLIQUE) == name]


def moment(text: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(text)


def age(obj: JSON) -> float:
    """Seconds since it was created."""
    return (SystemClock().wall() - moment(obj["metadata"]["creationTimestamp"])).total_seconds()


def test_a_pod_that_fails_is_replaced_with_its_index(workloads: Workloads) -> None:
    workloads.apply(workload("fails", [clique("worker", 3, least=1, restartPolicy="Never")]))
    pods = workloads.ready("fails", {"fails-0-worker": 3})
    victim = pods[1]
    annotate(workloads, victim, crash_after="0s")
    workloads.gone(PODS, name_of(victim))
    after = workloads.ready("fails", {"fails-0-worker": 3})
    [new] = [pod for pod in after if name_of(pod) not in set(map(name_of, pods))]
    index = labels.POD_CLIQUE_POD_INDEX
    assert label(new, index) == label(victim, index)
    assert new["spec"]["hostname"] == victim["spec"]["hostname"]


def test_a_pod_that_ends_well_and_is_not_to_run_again_counts_as_done(workloads: Workloads) -> None:
    workloads.apply(workload("done", [clique("job", 2, restartPolicy="OnFailure")]))
    [first, _] = workloads.ready("done", {"done-0-job": 2})
    annotate(workloads, first, complete_after="0s")
    workloads.when(PODS, name_of(first), lambda pod: pod["status"]["phase"] == "Succeeded")
    workloads.when(CLIQUES, "done-0-job", lambda one: one.get("status", {}).get("readyReplicas") == 1)
    assert len(workloads.all(PODS, "done")) == 2


def test_pods_of_a_lost_node_come_up_elsewhere(workloads: Workloads, fleet: Fleet, failing: set[str]) -> None:
    tolerations = [
        {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 1}
        for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
    ]
    worker = clique("worker", 2, least=1)
    worker["spec"]["podSpec"]["tolerations"] = [*worker["spec"]["podSpec"]["tolerations"], *tolerations]
    workloads.apply(workload("lost", [worker]))
    [first, second] = workloads.ready("lost", {"lost-0-worker": 2})
    node = first["spec"]["nodeName"]
    failing.add(node)
    fleet.annotate(node, fail="dead")

    def replaced() -> bool:
        pods = [pod for pod in workloads.pods("lost") if is_ready(pod)]
        return len(pods) == 2 and all(pod["spec"]["nodeName"] != node for pod in pods)

    # The old pod stays for as long as its node is away, on its way out: it does not hold up its successor.
    eventually(replaced, timeout=PATIENCE, message="no pod elsewhere")
    assert second["spec"]["nodeName"] == node or name_of(second) in map(name_of, workloads.pods("lost"))
    indices = sorted(label(pod, labels.POD_CLIQUE_POD_INDEX) for pod in workloads.pods("lost"))
    assert indices == ["0", "1"]


def test_evicted_pods_come_up_elsewhere(workloads: Workloads, fleet: Fleet, failing: set[str]) -> None:
    workloads.apply(served("drained"))
    pods = workloads.ready("drained", pods_of("drained"))
    node = pods[0]["spec"]["nodeName"]
    failing.add(node)
    fleet.annotate(node, drain="true")
    eventually(
        lambda: [pod for pod in workloads.pods("drained") if pod["spec"].get("nodeName") == node],
        lambda left: not left,
        timeout=PATIENCE,
        message="pods stay on the drained node",
    )
    workloads.ready("drained", pods_of("drained"))


def test_a_gang_for_which_there_is_no_room_says_what_the_scheduler_says(workloads: Workloads) -> None:
    worker = clique("worker", 2)
    worker["spec"]["podSpec"]["nodeSelector"] = {"example.com/nowhere": "true"}
    workloads.apply(workload("nowhere", [worker]))
    said = "nowhere-0-worker 0 of 2; the scheduler says: 0/"

    def tells(gang: JSON) -> bool:
        conditions = gang.get("status", {}).get("conditions", ())
        return any(one["type"] == "Scheduled" and said in one["message"] for one in conditions)

    found = workloads.when(GANGS, "nowhere-0", tells)
    [message] = [one["message"] for one in found["status"]["conditions"] if one["type"] == "Scheduled"]
    assert "didn't match Pod's node affinity/selector" in message
    [pod, _] = workloads.pods("nowhere")
    [theirs] = [one["message"] for one in pod["status"]["conditions"] if one["type"] == "PodScheduled"]
    assert message.endswith(theirs)
    workloads.when(CLIQUES, "nowhere-0-worker", lambda one: one.get("status", {}).get("phase") == "Scheduling")


def test_a_pod_that_does_not_end_holds_nobody_up(workloads: Workloads) -> None:
    workloads.apply(workload("stuck", [clique("worker", 2, least=1)]))
    [first, _] = workloads.ready("stuck", {"stuck-0-worker": 2})
    workloads.patch(PODS, name_of(first), {"metadata": {"finalizers": ["example.com/hold"]}})
    workloads.kubectl.run("delete", "pod", name_of(first), "--wait=false")
    eventually(
        lambda: [pod for pod in workloads.pods("stuck") if is_ready(pod)],
        lambda ready: len(ready) == 2,
        timeout=PATIENCE,
        message="no successor",
    )
    stuck = workloads.get(PODS, name_of(first))
    assert stuck is not None
    assert not is_active(stuck)
    workloads.patch(PODS, name_of(first), {"metadata": {"finalizers": None}})
    workloads.ready("stuck", {"stuck-0-worker": 2})


def test_a_copy_below_its_minimum_is_recreated_when_the_delay_is_over(workloads: Workloads) -> None:
    workloads.apply(served("copy", copies=3, template={"terminationDelay": f"{DELAY}s"}))
    pods = workloads.ready("copy", pods_of("copy", copies=3))
    workloads.settled("copy")
    leader = of_clique(pods, "copy-0-model-1-leader")[0]
    annotate(workloads, leader, crash_after="0s")
    breached = workloads.when(
        CLIQUES, "copy-0-model-1-leader", lambda one: condition(one, "MinAvailableBreached") == "True"
    )
    since = next(one for one in breached["status"]["conditions"] if one["type"] == "MinAvailableBreached")
    after = replaced(workloads, "copy", pods, expected=pods_of("copy", copies=3))
    gone = {name_of(pod) for pod in pods} - {name_of(pod) for pod in after}
    assert gone == {name_of(pod) for pod in pods if "model-1" in label(pod, labels.POD_CLIQUE)}
    made = min(moment(pod["metadata"]["creationTimestamp"]) for pod in after if "model-1" in name_of(pod))
    waited = (made - moment(since["lastTransitionTime"])).total_seconds()
    assert DELAY - 1 <= waited <= DELAY + 5, waited  # times are to the second, the machine is busy
    told(workloads, "PodCliqueScalingGroupReplicaDeleteSuccessful")


def test_a_replica_below_its_minimum_is_recreated_when_the_delay_is_over(workloads: Workloads) -> None:
    workloads.apply(served("whole", replicas=2, copies=2, least=2, template={"terminationDelay": f"{DELAY}s"}))
    expected = pods_of("whole", replicas=2)
    pods = workloads.ready("whole", expected)
    workloads.settled("whole")
    # What was never well is not recreated, and what breaks within its first five seconds counts as such.
    workloads.when(
        GROUPS,
        "whole-1-model",
        lambda one: condition(one, "MinAvailableBreached") == "False" and age(one) > 6,
    )
    [leader] = of_clique(pods, "whole-1-model-0-leader")
    annotate(workloads, leader, crash_after="0s")
    after = replaced(workloads, "whole", pods, expected=expected)
    gone = {name_of(pod) for pod in pods} - {name_of(pod) for pod in after}
    assert gone == {name_of(pod) for pod in pods if label(pod, labels.POD_CLIQUE_SET_REPLICA_INDEX) == "1"}
    told(workloads, "PodCliqueSetReplicaDeleteSuccessful")
    workloads.when(GROUPS, "whole-1-model", lambda one: not condition(one, "GangTerminationInProgress"))


def test_a_breach_that_heals_in_time_costs_nothing(workloads: Workloads) -> None:
    workloads.apply(served("brief", copies=2, template={"terminationDelay": "30s"}))
    pods = workloads.ready("brief", pods_of("brief"))
    workloads.settled("brief")
    [leader] = of_clique(pods, "brief-0-model-1-leader")
    annotate(workloads, leader, crash_after="0s", crashes="2")  # the second restart comes after 10 s
    workloads.when(CLIQUES, "brief-0-model-1-leader", lambda one: condition(one, "MinAvailableBreached") == "True")
    workloads.when(CLIQUES, "brief-0-model-1-leader", lambda one: condition(one, "MinAvailableBreached") == "False")
    assert set(map(name_of, workloads.ready("brief", pods_of("brief")))) == set(map(name_of, pods))
    assert {image_of(pod) for pod in pods} == {"main:v1"}


def told(workloads: Workloads, reason: str) -> None:
    eventually(lambda: workloads.events(reason), timeout=PATIENCE, message=f"there is no event {reason}")


def replaced(workloads: Workloads, pcs: str, before: list[JSON], expected: dict[str, int]) -> list[JSON]:
    """The pods, when some of those before are gone and all are ready again."""
    names = set(map(name_of, before))
    eventually(
        lambda: names - set(map(name_of, workloads.pods(pcs))),
        timeout=PATIENCE,
        message=f"no pod of {pcs} was replaced",
    )
    return workloads.ready(pcs, expected)
