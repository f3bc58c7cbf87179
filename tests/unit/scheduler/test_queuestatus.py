"""What a Queue's status says."""

from __future__ import annotations

import datetime

from msgspec.structs import replace

from grove.api import conditions
from grove.api.kinds.queue import Queue, QueueStatus
from grove.scheduler.queuestatus import ACCEPTED, BACKED, differences
from tests.unit.scheduler.queuetrees import GPU, Shared, queue

NOW = datetime.datetime(2026, 11, 20, tzinfo=datetime.UTC)


def statuses(shared: Shared) -> dict[str, QueueStatus]:
    objects = shared.queues.tree.queues.values()
    return {queue.metadata.name: status for queue, status in differences(shared.queues, objects, NOW)}


def told(status: QueueStatus, type: str) -> tuple[str, str, str] | None:
    found = conditions.find(status.conditions, type)
    return None if found is None else (found.status, found.reason, found.message)


def test_use_share_and_gangs_are_counted() -> None:
    shared = Shared(8, queue("a"), queue("b"), queue("c"), cpu="10500m", memory="3Gi")
    for name in "abc":
        shared.queues.wait(name, shared.vector({GPU: "8", "cpu": "100", "memory": "1Ti"}), 1)
    shared.queues.start("a", shared.vector({GPU: "2", "cpu": "1500m", "memory": "512Mi"}))
    shared.queues.count("a", pending=2, running=1)
    status = statuses(shared)["a"]
    assert status.usage == {"cpu": "1500m", "memory": "512Mi", GPU: "2"}
    assert status.share == {"cpu": "3500m", "memory": "1Gi", GPU: "2666m"}
    assert (status.pending_gangs, status.running_gangs, status.observed_generation) == (2, 1, 1)
    assert told(status, ACCEPTED) == ("True", "Accepted", "gangs may start in it")
    assert told(status, BACKED) is None


def test_only_differences_are_written() -> None:
    shared = Shared(8, queue("a"), queue("b"))
    found = statuses(shared)
    assert sorted(found) == ["a", "b"]
    shared.queues.put([with_status(shared, name, found[name]) for name in "ab"])
    assert statuses(shared) == {}
    shared.use("a", 1)
    assert sorted(statuses(shared)) == ["a", "b"]  # a uses something, and both have a share of it now


def with_status(shared: Shared, name: str, status: QueueStatus) -> Queue:
    return replace(shared.queues.tree.queues[name], status=status)


def test_what_is_wrong_with_the_tree_is_a_condition() -> None:
    found = statuses(Shared(8, queue("a", "gone"), queue("b", "a"), queue("c", "d"), queue("d", "c")))
    gone = "queue a is below queue gone, which does not exist: create Queue gone, or change or remove spec.parent"
    assert told(found["a"], ACCEPTED) == ("False", "ParentNotFound", gone)
    assert told(found["b"], ACCEPTED) == ("False", "ParentNotAccepted", gone)
    circle = told(found["c"], ACCEPTED)
    assert circle is not None
    assert circle[:2] == ("False", "Cycle")


def test_guarantees_that_are_not_there_are_a_condition() -> None:
    found = statuses(
        Shared(
            10,
            queue("a", guaranteed=4),
            queue("b", guaranteed=8),
            queue("c", "b", guaranteed=1),
            queue("d"),
        )
    )
    message = (
        f"12 {GPU} are guaranteed to it and its siblings together, and the cluster has 10: "
        "what there is is divided in proportion; lower spec.guaranteed of some"
    )
    assert told(found["a"], BACKED) == ("False", "TooMuchGuaranteed", message)
    assert told(found["c"], BACKED) == told(found["a"], BACKED)
    assert told(found["d"], BACKED) is None
    enough = statuses(Shared(12, queue("a", guaranteed=4), queue("b", guaranteed=8)))
    assert told(enough["a"], BACKED) == ("True", "Enough", "what it is guaranteed is there, free or lent to others")


def test_a_limit_above_is_what_a_guarantee_below_must_fit_into() -> None:
    found = statuses(Shared(99, queue("a", limit=4), queue("b", "a", guaranteed=3), queue("c", "a", guaranteed=3)))
    backed = told(found["b"], BACKED)
    assert backed is not None
    assert backed[2].startswith(f"6 {GPU} are guaranteed to it and its siblings together, and queue a allows 4:")
