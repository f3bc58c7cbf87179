import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from grove.kube.events import BURST, REFILL, EventObject, EventRefused, Recorder, Regarding
from grove.testing.virtualtime import VirtualClock, run

POD = Regarding("v1", "Pod", "team", "router-0", "1234")


class Store:
    """Keeps Events, and can be slow, fail or forget."""

    def __init__(self, clock: VirtualClock) -> None:
        self.clock = clock
        self.events: dict[tuple[str, str], EventObject] = {}
        self.slow = 0.0
        self.failures = 0
        self.writes: list[float] = []
        self.closed: set[str] = set()
        """Namespaces that take no new objects."""

    async def create(self, event: EventObject) -> None:
        await self.write()
        if event["metadata"]["namespace"] in self.closed:
            raise EventRefused("it is going")
        key = event["metadata"]["namespace"], event["metadata"]["name"]
        assert key not in self.events
        self.events[key] = event

    async def patch(self, namespace: str, name: str, change: EventObject) -> bool:
        await self.write()
        if (namespace, name) not in self.events:
            return False
        self.events[namespace, name] = {**self.events[namespace, name], **change}
        return True

    async def write(self) -> None:
        await self.clock.sleep(self.slow)
        self.writes.append(self.clock.monotonic())
        if self.failures:
            self.failures -= 1
            raise ConnectionError("no")

    def counts(self) -> dict[str, int]:
        return {event["message"]: event["count"] for event in self.events.values()}


def recording(scenario: Callable[[Recorder, Store, VirtualClock], Awaitable[None]], **settings: Any) -> None:
    async def main(clock: VirtualClock) -> None:
        store = Store(clock)
        recorder = Recorder(
            store, component="grove-operator", instance="pod-1", clock=clock, rng=random.Random(1), **settings
        )
        task = asyncio.ensure_future(recorder.run())
        await scenario(recorder, store, clock)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(main)


def test_an_event_is_as_kubectl_reads_it() -> None:
    async def scenario(recorder: Recorder, store: Store, clock: VirtualClock) -> None:
        recorder.record(POD, "Warning", "Unplaceable", "no room")
        assert store.events == {}  # the caller did not wait
        await clock.sleep(1)
        [event] = store.events.values()
        assert event["metadata"]["namespace"] == "team"
        assert event["metadata"]["name"].startswith("router-0.")
        assert event["involvedObject"] == {
            "apiVersion": "v1",
            "kind": "Pod",
            "namespace": "team",
            "name": "router-0",
            "uid": "1234",
        }
        assert (event["type"], event["reason"], event["message"]) == ("Warning", "Unplaceable", "no room")
        assert event["source"] == {"component": "grove-operator"}
        assert event["firstTimestamp"] == event["lastTimestamp"] == "2030-01-01T00:00:00Z"

    recording(scenario)


def test_what_happens_again_is_counted_and_not_created_again() -> None:
    async def scenario(recorder: Recorder, store: Store, clock: VirtualClock) -> None:
        for _ in range(5):
            recorder.record(POD, "Normal", "Waits", "for parents")
            await clock.sleep(10)
        assert store.counts() == {"for parents": 5}
        [event] = store.events.values()
        assert (event["firstTimestamp"][-9:], event["lastTimestamp"][-9:]) == ("00:00:00Z", "00:00:40Z")
        assert (recorder.statistics().created, recorder.statistics().patched) == (1, 4)

    recording(scenario)


def test_what_happens_many_times_while_a_write_is_under_way_goes_out_together() -> None:
    async def scenario(recorder: Recorder, store: Store, clock: VirtualClock) -> None:
        store.slow = 5
        for _ in range(100):
            recorder.record(POD, "Normal", "Waits", "for parents")
            await clock.sleep(0.1)
        await clock.sleep(20)
        assert store.counts() == {"for parents": 100}
        assert len(store.writes) == 3

    recording(scenario)


def test_many_different_messages_are_combined() -> None:
    async def scenario(recorder: Recorder, store: Store, clock: VirtualClock) -> None:
        for number in range(20):
            recorder.record(POD, "Normal", "Waits", f"for {number}")
            await clock.sleep(REFILL)
        assert len(store.events) == 11
        assert store.counts()["(combined from similar events): for 19"] == 10
        await clock.sleep(600)
        recorder.record(POD, "Normal", "Waits", "for 20")
        await clock.sleep(1)
        assert store.counts()["for 20"] == 1

    recording(scenario)


def test_one_object_cannot_flood_the_server_and_nothing_is_forgotten() -> None:
    async def scenario(recorder: Recorder, store: Store, clock: VirtualClock) -> None:
        for number in range(10_000):
            recorder.record(POD, "Normal", f"Reason{number % 50}", "again")
            await clock.sleep(0.1)
        assert len(store.writes) <= BURST + 1000 / REFILL + 1
        other = Regarding("v1", "Node", "", "n1")
        recorder.record(other, "Normal", "Ready", "it is")
        await clock.sleep(1)
        assert ("default", "it is") in {(key[0], event["message"]) for key, event in store.events.items()}
        await clock.sleep(REFILL * 200)
        assert sum(event["count"] for event in store.events.values()) == 10_001
        assert recorder.statistics().dropped == 0
        assert recorder.statistics().waiting == 0

    recording(scenario)


def test_a_failed_write_is_tried_again_and_then_dropped() -> None:
    async def scenario(recorder: Recorder, store: Store, clock: VirtualClock) -> None:
        store.failures = 2
        recorder.record(POD, "Normal", "Ready", "it is")
        await clock.sleep(60)
        assert store.counts() == {"it is": 1}
        store.failures = 3
        recorder.record(POD, "Normal", "Ready", "again")
        await clock.sleep(60)
        assert store.counts() == {"it is": 1}
        statistics = recorder.statistics()
        assert (statistics.failures, statistics.dropped, statistics.waiting) == (5, 1, 0)

    recording(scenario)


def test_a_namespace_that_takes_no_events_keeps_nobody_elses_waiting() -> None:
    async def scenario(recorder: Recorder, store: Store, clock: VirtualClock) -> None:
        store.closed.add("going")
        for number in range(20):
            recorder.record(Regarding("v1", "Pod", "going", f"router-{number}"), "Normal", "Ready", "it is")
        recorder.record(POD, "Normal", "Ready", "it is")
        await clock.sleep(1)
        assert store.counts() == {"it is": 1}
        statistics = recorder.statistics()
        assert (statistics.failures, statistics.dropped, statistics.waiting) == (20, 20, 0)

    recording(scenario)


def test_an_event_that_the_server_has_forgotten_is_created_anew() -> None:
    async def scenario(recorder: Recorder, store: Store, clock: VirtualClock) -> None:
        recorder.record(POD, "Normal", "Ready", "it is")
        await clock.sleep(3600)
        store.events.clear()
        recorder.record(POD, "Normal", "Ready", "it is")
        await clock.sleep(1)
        assert store.counts() == {"it is": 1}

    recording(scenario)


def test_a_full_queue_drops_and_counts() -> None:
    async def scenario(recorder: Recorder, store: Store, clock: VirtualClock) -> None:
        store.slow = 1
        for number in range(30):
            recorder.record(Regarding("v1", "Pod", "team", f"p{number}"), "Normal", "Ready", "it is")
        assert recorder.statistics().dropped == 20
        assert recorder.statistics().waiting == 10

    recording(scenario, capacity=10)


def test_what_is_left_is_sent_at_the_end_if_that_is_quick() -> None:
    async def scenario(clock: VirtualClock) -> None:
        for slow, dropped in ((0.1, 0), (100.0, 1)):
            store = Store(clock)
            recorder = Recorder(store, component="c", instance="i", clock=clock, rng=random.Random(1))
            task = asyncio.ensure_future(recorder.run())
            await clock.sleep(1)
            store.slow = slow
            recorder.record(POD, "Normal", "Ready", "it is")
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert recorder.statistics().dropped == dropped

    run(scenario)


def test_long_messages_are_cut() -> None:
    async def scenario(recorder: Recorder, store: Store, clock: VirtualClock) -> None:
        recorder.record(POD, "Normal", "Ready", "x" * 5000)
        await clock.sleep(1)
        [message] = store.counts()
        assert len(message) == 1024

    recording(scenario)
