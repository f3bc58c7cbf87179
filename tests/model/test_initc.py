"""A waiter against any course of events: it ends when its parents are ready together, and only then."""

from __future__ import annotations

import asyncio
import random
from typing import Literal, NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from grove.initc.waiter import PACE, Wait
from grove.testing.virtualtime import VirtualClock, run
from tests.unit.initc.fakes import Log, Pods, lost

WANTED = {"a": 2, "b": 1}
PODS = {"a-1": "a", "a-2": "a", "a-3": "a", "b-1": "b", "b-2": "b", "c-1": "c"}


class Change(NamedTuple):
    """What happens to one pod."""

    pod: str
    to: Literal["ready", "not ready", "leaving", "gone"]


class Step(NamedTuple):
    """Changes one after the other, told to the waiter, or hidden by an outage and perhaps not to be told any more."""

    changes: list[Change]
    during: Literal["calm", "drop", "outage", "outage and compaction"]


CHANGES = st.builds(
    Change, st.sampled_from(sorted(PODS)), st.sampled_from(["ready", "ready", "not ready", "leaving", "gone"])
)
STEPS = st.builds(
    Step,
    st.lists(CHANGES, min_size=1, max_size=5),
    st.sampled_from(["calm", "calm", "drop", "outage", "outage and compaction"]),
)


def happen(pods: Pods, change: Change) -> None:
    if change.to != "gone":
        pods.put(change.pod, PODS[change.pod], ready=change.to != "not ready", leaving=change.to == "leaving")
    elif change.pod in pods.held:
        pods.remove(change.pod)


def satisfied(pods: Pods) -> bool:
    """Straight from the words: enough ready pods for every parent."""
    ready = [
        pod.metadata.labels.pod_clique
        for pod in pods.held.values()
        if pod.status.conditions and not pod.metadata.deletion_timestamp
    ]
    return all(ready.count(name) >= count for name, count in WANTED.items())


@given(st.lists(STEPS, max_size=12))
def test_it_ends_when_all_parents_are_ready_at_the_same_moment(steps: list[Step]) -> None:
    async def main(clock: VirtualClock) -> None:
        pods = Pods()
        wait = Wait(pods, WANTED, namespace="ns", gang="x", clock=clock, rng=random.Random(1), log=Log())
        task = asyncio.ensure_future(wait.run())
        await clock.sleep(1)
        ever = False
        try:
            for step in steps:
                if step.during != "calm":
                    pods.cut(lost())
                if step.during.startswith("outage"):
                    pods.refusal = lost()
                    await clock.sleep(1)
                for change in step.changes:
                    happen(pods, change)
                    # What an outage hides does not count, unless it is still so afterwards or told then.
                    ever = ever or (step.during != "outage and compaction" and satisfied(pods))
                if step.during == "outage and compaction":
                    pods.compact()
                pods.refusal = None
                await clock.sleep(3 * PACE.longest)
                ever = ever or satisfied(pods)
                if satisfied(pods):
                    assert task.done()
                if task.done():
                    assert ever
                    break
            if task.done():
                task.result()
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        assert not pods.watches

    run(main)
