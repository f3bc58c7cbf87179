"""An operator that is killed at any moment, and again: what it began is finished by the next one, once."""

import random
import threading
from typing import Any

from grove.testing.waiting import eventually
from tests.cluster.operator.manifests import pods_of, served
from tests.cluster.operator.operator import Operator
from tests.cluster.operator.test_updates import with_image
from tests.cluster.operator.watcher import Pods, Watcher
from tests.cluster.operator.workloads import PATIENCE, SETS, Workloads, changed, image_of, is_active, name_of, twice

JSON = dict[str, Any]

KILLS = 4
SETS_AT_ONCE = 4


class Killer:
    """Kills the operator at random moments, and starts it again, until there have been enough kills. In this thread."""

    def __init__(self, operator: Operator, seed: int) -> None:
        self._operator = operator
        self._rng = random.Random(seed)
        self._pause = threading.Event()

    def run(self, kills: int = KILLS) -> None:
        for _ in range(kills):
            self._pause.wait(self._rng.uniform(0.05, 1.5))
            self._operator.kill()
            self._operator.started()


def no_index_twice(pods: Pods) -> str:
    return "; ".join(twice(pod for pod in pods.values() if is_active(pod)))


def test_sets_come_up_whatever_happens_to_the_operator(workloads: Workloads, operator: Operator) -> None:
    names = [f"born-{number}" for number in range(SETS_AT_ONCE)]
    with Watcher(workloads.cluster, workloads.namespace, no_index_twice) as seen:
        workloads.apply(*(served(name) for name in names))
        Killer(operator, seed=1).run()
        for name in names:
            workloads.ready(name, pods_of(name))
    assert len(seen.names) == SETS_AT_ONCE * sum(pods_of("x").values())  # none was made in vain
    for name in names:
        workloads.settled(name)


def test_scaling_and_updates_are_finished_by_the_next_operator(workloads: Workloads, operator: Operator) -> None:
    pcs = served("moved", replicas=2)
    workloads.apply(pcs)
    workloads.ready("moved", pods_of("moved", replicas=2))
    with Watcher(workloads.cluster, workloads.namespace, no_index_twice):
        workloads.apply(changed(pcs, with_image("main:v2")))
        workloads.scale("pcsg", "moved-0-model", 4)
        Killer(operator, seed=2).run()
        workloads.scale("pcsg", "moved-0-model", 1)
        Killer(operator, seed=3).run(2)
        expected = pods_of("moved", replicas=2) | pods_of("moved", copies=1)
        expected = {key: count for key, count in expected.items() if not key.startswith("moved-0-model-1")}
        eventually(
            lambda: {image_of(pod) for pod in workloads.pods("moved")},
            lambda images: images == {"main:v2"},
            timeout=PATIENCE,
            message="the update is not finished",
        )
        workloads.ready("moved", expected)


def test_deletion_is_finished_by_the_next_operator(workloads: Workloads, operator: Operator) -> None:
    names = [f"gone-{number}" for number in range(SETS_AT_ONCE)]
    workloads.apply(*(served(name) for name in names))
    for name in names:
        workloads.ready(name, pods_of(name))
    workloads.kubectl.run("delete", "pcs", *names, "--wait=false")
    Killer(operator, seed=4).run(3)
    for name in names:
        eventually(lambda name=name: workloads.left_of(name), lambda left: not left, timeout=PATIENCE)  # type: ignore[misc]


def test_a_restart_changes_nothing(workloads: Workloads, operator: Operator) -> None:
    """A new operator finds everything as it should be, and writes nothing."""
    workloads.apply(served("kept"))
    workloads.ready("kept", pods_of("kept"))
    before = workloads.settled("kept")
    pods = {name_of(pod): pod["metadata"]["resourceVersion"] for pod in workloads.pods("kept")}
    operator.kill()
    operator.started()
    eventually(
        lambda: operator.value("grove_operator_reconciles_total", controller="podclique-controller", result="done"),
        timeout=PATIENCE,
    )
    after = workloads.get(SETS, "kept")
    assert after is not None
    assert after["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]
    assert {name_of(pod): pod["metadata"]["resourceVersion"] for pod in workloads.pods("kept")} == pods
