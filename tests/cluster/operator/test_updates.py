"""Updates: one unit after the other within the budget, whatever else happens meanwhile."""

from collections import Counter
from collections.abc import Callable
from typing import Any

from grove.api import labels
from grove.testing.waiting import eventually
from tests.cluster.operator.manifests import clique, pods_of, served, workload
from tests.cluster.operator.watcher import Pods, Watcher, at_least
from tests.cluster.operator.workloads import (
    CLIQUES,
    GROUPS,
    PATIENCE,
    PODS,
    SETS,
    Workloads,
    changed,
    image_of,
    is_active,
    is_ready,
    label,
    name_of,
)

JSON = dict[str, Any]

DELAYED = {"simulate.grove.io/ready-delay": "500ms"}


def with_image(image: str) -> Callable[[JSON], None]:
    def change(tree: JSON) -> None:
        for one in tree["spec"]["template"]["cliques"]:
            one["spec"]["podSpec"]["containers"][0]["image"] = image

    return change


def updated(workloads: Workloads, pcs: str, image: str, expected: dict[str, int]) -> list[JSON]:
    """The pods, when all of them have the image and the set says that the update is over."""

    def over() -> bool:
        pods = workloads.pods(pcs)
        return {image_of(pod) for pod in pods} == {image} and sum(expected.values()) == len(pods)

    eventually(over, timeout=PATIENCE, message=f"not all pods of {pcs} have {image}: {workloads.cliques(pcs)}")
    pods = workloads.ready(pcs, expected)
    workloads.when(
        SETS,
        pcs,
        lambda one: (
            one["status"].get("updateProgress", {}).get("updateEndedAt")
            and one["status"].get("updatedReplicas") == one["spec"]["replicas"]
            and one["status"]["observedGeneration"] == one["metadata"]["generation"]
        ),
        f"the update of {pcs} does not end",
    )
    return pods


def copies_available(group: str, copies: int, least: int) -> Callable[[Pods], str]:
    """Whether enough copies of a scaling group have all their pods ready, from the moment on when all had."""
    reached = False

    def look(pods: Pods) -> str:
        nonlocal reached
        ready: dict[str, int] = {}
        for pod in pods.values():
            if label(pod, labels.SCALING_GROUP) == group and is_active(pod) and is_ready(pod):
                copy = label(pod, labels.SCALING_GROUP_REPLICA_INDEX)
                ready[copy] = ready.get(copy, 0) + 1
        whole = sum(1 for count in ready.values() if count >= 3)
        reached = reached or whole >= copies
        return f"{whole} copies were whole, not {least}: {ready}" if reached and whole < least else ""

    return look


def test_a_cliques_pods_are_replaced_one_by_one(workloads: Workloads) -> None:
    pcs = workload("slow", [clique("worker", 4, least=2) | {"annotations": DELAYED}])
    workloads.apply(pcs)
    old = workloads.ready("slow", {"slow-0-worker": 4})
    # Its first status is held back for a moment. One that never said what it runs has nothing to be updated from.
    workloads.when(CLIQUES, "slow-0-worker", lambda one: one.get("status", {}).get("currentPodTemplateHash"))
    with Watcher(workloads.cluster, workloads.namespace, at_least(3)):
        workloads.apply(changed(pcs, with_image("main:v2")))
        new = updated(workloads, "slow", "main:v2", {"slow-0-worker": 4})
    assert not {name_of(pod) for pod in old} & {name_of(pod) for pod in new}
    assert sorted(label(pod, labels.POD_CLIQUE_POD_INDEX) for pod in new) == ["0", "1", "2", "3"]
    workloads.when(
        CLIQUES,
        "slow-0-worker",
        lambda one: (
            one["status"].get("updatedReplicas") == 4 and one["status"].get("updateProgress", {}).get("updateEndedAt")
        ),
        "the PodClique does not tell that its update is over",
    )


def test_more_may_be_replaced_at_once_if_the_template_says_so(workloads: Workloads) -> None:
    pcs = workload("fast", [clique("worker", 6, least=2) | {"rollingUpdate": {"maxUnavailable": 3}}])
    workloads.apply(pcs)
    workloads.ready("fast", {"fast-0-worker": 6})
    with Watcher(workloads.cluster, workloads.namespace, at_least(3)):
        workloads.apply(changed(pcs, with_image("main:v2")))
        updated(workloads, "fast", "main:v2", {"fast-0-worker": 6})


def test_copies_of_a_scaling_group_are_replaced_one_by_one_and_whole(workloads: Workloads) -> None:
    pcs = served("units", copies=3)
    workloads.apply(pcs)
    workloads.ready("units", pods_of("units", copies=3))
    with Watcher(workloads.cluster, workloads.namespace, copies_available("units-0-model", 3, 2)):
        workloads.apply(changed(pcs, with_image("main:v2")))
        updated(workloads, "units", "main:v2", pods_of("units", copies=3))
    group = workloads.when(GROUPS, "units-0-model", lambda one: one["status"].get("updatedReplicas") == 3)
    assert group["status"]["updateProgress"]["updateEndedAt"]


def test_replicas_of_a_set_are_updated_one_after_the_other(workloads: Workloads) -> None:
    pcs = served("turns", replicas=3, copies=1)
    workloads.apply(pcs)
    workloads.ready("turns", pods_of("turns", replicas=3, copies=1))
    seen: set[str] = set()

    def look(pods: Pods) -> str:
        """Which replicas are below what they must have, at one moment."""
        ready = Counter(label(pod, labels.POD_CLIQUE) for pod in pods.values() if is_active(pod) and is_ready(pod))
        least = {"router": 1, "model-0-leader": 1, "model-0-worker": 2}
        disrupted = [
            replica
            for replica in ("0", "1", "2")
            if any(ready[f"turns-{replica}-{clique}"] < count for clique, count in least.items())
        ]
        seen.update(disrupted)
        return f"disrupted at once: {disrupted}" if len(disrupted) > 1 else ""

    with Watcher(workloads.cluster, workloads.namespace, look):
        workloads.apply(changed(pcs, with_image("main:v2")))
        updated(workloads, "turns", "main:v2", pods_of("turns", replicas=3, copies=1))
    assert seen == {"0", "1", "2"}


def test_with_on_delete_pods_are_new_when_somebody_deletes_the_old_ones(workloads: Workloads) -> None:
    pcs = served("manual", copies=1, updateStrategy={"type": "OnDelete"})
    workloads.apply(pcs)
    old = workloads.ready("manual", pods_of("manual", copies=1))
    workloads.apply(changed(pcs, with_image("main:v2")))
    hashes = workloads.when(
        CLIQUES, "manual-0-router", lambda one: image_of({"spec": one["spec"]["podSpec"]}) == "main:v2"
    )
    workloads.when(
        CLIQUES, "manual-0-model-0-worker", lambda one: image_of({"spec": one["spec"]["podSpec"]}) == "main:v2"
    )
    assert {name_of(pod) for pod in workloads.ready("manual", pods_of("manual", copies=1))} == set(map(name_of, old))
    victim = next(pod for pod in old if label(pod, labels.POD_CLIQUE) == "manual-0-router")
    workloads.kubectl.run("delete", "pod", name_of(victim), "--wait=false")
    workloads.gone(PODS, name_of(victim))
    pods = workloads.ready("manual", pods_of("manual", copies=1))
    [new] = [pod for pod in pods if image_of(pod) == "main:v2"]
    assert label(new, labels.POD_CLIQUE) == "manual-0-router"
    assert label(new, labels.POD_TEMPLATE_HASH) == label(hashes, labels.POD_TEMPLATE_HASH)


def test_a_template_that_changes_in_the_middle_of_an_update_wins(workloads: Workloads) -> None:
    pcs = served("twice", replicas=2, copies=2)
    expected = pods_of("twice", replicas=2, copies=2)
    workloads.apply(pcs)
    workloads.ready("twice", expected)
    workloads.apply(changed(pcs, with_image("main:v2")))
    eventually(
        lambda: [pod for pod in workloads.pods("twice") if image_of(pod) == "main:v2"],
        timeout=PATIENCE,
        message="the update does not begin",
    )
    workloads.apply(changed(pcs, with_image("main:v3")))
    updated(workloads, "twice", "main:v3", expected)


def test_an_update_can_be_taken_back_in_its_middle(workloads: Workloads) -> None:
    """With an image that never comes up, the update stays at its first unit, and goes back from there."""
    pcs = served("back", copies=3)
    expected = pods_of("back", copies=3)
    workloads.apply(pcs)
    workloads.ready("back", expected)

    def broken(tree: JSON) -> None:
        with_image("main:broken")(tree)
        for one in tree["spec"]["template"]["cliques"]:
            one["annotations"] = {"simulate.grove.io/image-pull-error": "not found"}

    with Watcher(workloads.cluster, workloads.namespace, copies_available("back-0-model", 3, 2)):
        workloads.apply(changed(pcs, broken))
        eventually(
            lambda: [pod for pod in workloads.pods("back") if image_of(pod) == "main:broken"],
            timeout=PATIENCE,
            message="the update does not begin",
        )
        workloads.apply(pcs)
        updated(workloads, "back", "main:v1", expected)


def test_scaling_during_an_update_brings_new_pods_of_the_new_template(workloads: Workloads) -> None:
    pcs = served("both", copies=3)
    pcs["spec"]["template"]["cliques"][1]["annotations"] = DELAYED
    workloads.apply(pcs)
    workloads.ready("both", pods_of("both", copies=3))
    workloads.apply(changed(pcs, with_image("main:v2")))
    eventually(
        lambda: [pod for pod in workloads.pods("both") if image_of(pod) == "main:v2"],
        timeout=PATIENCE,
        message="the update does not begin",
    )
    workloads.scale("pcsg", "both-0-model", 5)
    workloads.scale("pclq", "both-0-router", 3)
    updated(workloads, "both", "main:v2", pods_of("both", copies=5, routers=3))
    workloads.scale("pcs", "both", 2)
    pods = workloads.ready("both", pods_of("both", copies=5, routers=3) | second("both"))
    assert {image_of(pod) for pod in pods} == {"main:v2"}


def second(name: str) -> dict[str, int]:
    """The second replica, as the template has it."""
    whole = pods_of(name, replicas=2, copies=3)
    return {key: count for key, count in whole.items() if key.startswith(f"{name}-1-")}


def test_a_change_that_touches_no_pod_replaces_none(workloads: Workloads) -> None:
    pcs = served("calm")
    workloads.apply(pcs)
    old = workloads.ready("calm", pods_of("calm"))
    generation = workloads.settled("calm")["metadata"]["generation"]

    def longer(tree: JSON) -> None:
        tree["spec"]["template"]["terminationDelay"] = "7h"

    workloads.apply(changed(pcs, longer))
    workloads.when(SETS, "calm", lambda one: one["status"]["observedGeneration"] > generation)
    assert set(map(name_of, workloads.ready("calm", pods_of("calm")))) == set(map(name_of, old))
