"""The wait over time, against pods that the test moves."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable

import pytest

from grove.initc import waiter
from grove.initc.waiter import REMINDER, Ended, Wait
from grove.kube.client import Client
from grove.kube.errors import (
    ConnectionConfigError,
    CredentialsError,
    Forbidden,
    KubeError,
    Unauthorized,
    Unavailable,
    Untrusted,
)
from grove.testing.virtualtime import VirtualClock, run
from tests.unit.initc.fakes import Log, Pods, lost


class Scene:
    """Pods, and a waiter for them."""

    def __init__(self, clock: VirtualClock, **wanted: int) -> None:
        self.clock = clock
        self.pods = Pods()
        self.log = Log()
        self.wait = Wait(self.pods, wanted, namespace="ns", gang="x-0", clock=clock, rng=random.Random(1), log=self.log)
        self.task = asyncio.ensure_future(self.wait.run())

    async def settle(self, seconds: float = 0.001) -> None:
        await self.clock.sleep(seconds)

    async def is_over(self, seconds: float = 0.001) -> bool:
        await self.settle(seconds)
        return self.task.done()


def play(scene: Callable[[Scene], Awaitable[None]], **wanted: int) -> Scene:
    async def main(clock: VirtualClock) -> Scene:
        made = Scene(clock, **wanted)
        try:
            await scene(made)
            if made.task.done() and not made.task.cancelled():
                made.task.result()
        finally:
            made.task.cancel()
            await asyncio.gather(made.task, return_exceptions=True)
        assert not made.pods.watches, "nothing is left open"
        return made

    return run(main)


def test_it_ends_when_every_parent_has_enough_ready_pods() -> None:
    async def scene(at: Scene) -> None:
        at.pods.put("a-1", "a")
        assert not await at.is_over()
        at.pods.put("b-1", "b", ready=False)
        assert not await at.is_over()
        at.pods.put("a-2", "a")
        assert not await at.is_over()
        at.pods.put("b-1", "b")
        assert await at.is_over()

    said = play(scene, a=2, b=1).log
    assert said.lines[0] == ("INFO", "waiting for pods", {"namespace": "ns", "gang": "x-0", "wanted": {"a": 2, "b": 1}})
    changes = [(one["podclique"], one["have"], one["want"]) for one in said.of("ready pods changed")]
    assert changes == [("a", 1, 2), ("a", 2, 2), ("b", 1, 1)], "a line for a change, none for an event without one"
    assert said.lines[-1][1] == "all parents are ready"


def test_what_is_ready_before_it_begins_counts() -> None:
    async def scene(at: Scene) -> None:
        at.pods.put("a-1", "a")
        assert await at.is_over()

    assert play(scene, a=1).pods.asked == ["stream"]


def test_pods_that_leave_or_are_deleted_or_lose_readiness_do_not_count() -> None:
    async def scene(at: Scene) -> None:
        at.pods.put("a-1", "a")
        at.pods.put("a-2", "a")
        await at.settle()
        at.pods.put("a-1", "a", ready=False)
        at.pods.put("a-2", "a", leaving=True)
        at.pods.put("a-3", "a")
        assert not await at.is_over()
        at.pods.remove("a-2")
        at.pods.put("a-4", "a")
        assert not await at.is_over()
        at.pods.put("a-5", "a")
        assert await at.is_over()

    play(scene, a=3)


def test_parents_that_were_ready_only_one_after_the_other_are_not_ready() -> None:
    async def scene(at: Scene) -> None:
        at.pods.put("a-1", "a")
        at.pods.put("b-1", "b", ready=False)
        await at.settle()
        at.pods.put("a-1", "a", ready=False)
        at.pods.put("b-1", "b")
        assert not await at.is_over()

    play(scene, a=1, b=1)


def test_a_new_list_is_judged_as_a_whole() -> None:
    """Told pod by pod, b's would come first: with what was known of a, both would seem ready."""

    async def scene(at: Scene) -> None:
        at.pods.put("b-1", "b", ready=False)
        at.pods.put("a-1", "a")
        await at.settle()
        at.pods.refusal = lost()
        at.pods.cut(lost())
        await at.settle()
        at.pods.put("a-1", "a", ready=False)
        at.pods.put("b-1", "b")
        at.pods.compact()
        at.pods.refusal = None
        assert not await at.is_over(60)
        at.pods.put("a-1", "a")
        assert await at.is_over()

    assert play(scene, a=1, b=1).pods.asked.count("stream") == 2, "the second time after 410 Gone"


def test_a_pod_whose_name_begins_like_another_parent_counts_for_its_own() -> None:
    async def scene(at: Scene) -> None:
        at.pods.put("x-0-a-b-1", "x-0-a-b")
        assert not await at.is_over()
        at.pods.put("x-0-a-1", "x-0-a")
        assert await at.is_over()

    play(scene, **{"x-0-a": 1, "x-0-a-b": 1})


def test_a_watch_that_drops_is_taken_up_where_it_was() -> None:
    async def scene(at: Scene) -> None:
        at.pods.put("a-1", "a")
        await at.settle()
        at.pods.cut(lost())
        at.pods.put("a-2", "a")
        assert await at.is_over(1), "within a second"

    assert play(scene, a=2).pods.asked == ["stream", "watch"]


def test_a_watch_that_the_server_ends_is_no_trouble() -> None:
    async def scene(at: Scene) -> None:
        await at.settle(300)
        at.pods.cut()
        at.pods.put("a-1", "a")
        assert await at.is_over()

    assert not play(scene, a=1).log.of("cannot watch pods, trying again")


def test_an_outage_is_said_once_repeated_by_the_reminder_and_survived() -> None:
    async def scene(at: Scene) -> None:
        await at.settle()
        at.pods.refusal = lost()
        at.pods.cut(lost())
        await at.settle(3600)
        assert 3600 / 10 < len(at.pods.asked) < 2 * 3600 / 10, "neither often nor never"
        at.pods.put("a-1", "a")
        at.pods.refusal = None
        assert await at.is_over(waiter.PACE.longest)

    said = play(scene, a=1).log
    trouble = {"namespace": "ns", "gang": "x-0", "error": "connection reset"}
    assert [line for line in said.lines if line[1] == "cannot watch pods, trying again"] == [
        ("INFO", "cannot watch pods, trying again", trouble)
    ]
    reminders = said.of("still waiting")
    assert len(reminders) == 3600 // REMINDER
    assert reminders[-1] == {**trouble, "missing": {"a": {"have": 0, "want": 1}}}


def test_the_reminder_says_nothing_of_trouble_that_is_over_and_new_trouble_is_said_again() -> None:
    async def scene(at: Scene) -> None:
        await at.settle()
        for _ in range(2):
            at.pods.cut(lost())
            await at.settle(10)
            at.pods.put("b-1", "b")
        await at.settle(2 * REMINDER)

    said = play(scene, a=1).log
    assert len(said.of("cannot watch pods, trying again")) == 2
    assert all("error" not in one for one in said.of("still waiting"))
    assert said.of("still waiting")


def test_rights_that_come_late_are_waited_for_and_named_meanwhile() -> None:
    async def scene(at: Scene) -> None:
        at.pods.refusal = Forbidden('pods is forbidden: User "u" cannot list resource "pods"', code=403)
        await at.settle(120)
        at.pods.put("a-1", "a")
        at.pods.refusal = None
        assert await at.is_over(waiter.PACE.longest)

    said = play(scene, a=1).log
    [(level, _, fields)] = [line for line in said.lines if line[1] == "cannot watch pods, trying again"]
    assert level == "ERROR"
    assert fields["error"] == 'pods is forbidden: User "u" cannot list resource "pods"'
    assert fields["remedy"] == "bind a Role to the pod's service account: get, list and watch on pods in namespace ns"


@pytest.mark.parametrize(
    ("error", "advice"),
    [
        (Unauthorized("Unauthorized", code=401), "give the pod a valid token"),
        (CredentialsError("/token: the token cannot be read"), "give the pod a valid token"),
        (ConnectionConfigError("no certificate"), "give the pod the cluster's own authority"),
        (Untrusted("certificate verify failed"), "give the pod the cluster's own authority"),
        (lost(), ""),
        (Unavailable("starting", code=503), ""),
    ],
)
def test_a_remedy_is_named_where_waiting_is_not_enough(error: KubeError, advice: str) -> None:
    remedy = waiter.remedy(error, "ns")
    assert remedy.startswith(advice)
    assert bool(remedy) == bool(advice)


def test_a_cancelled_wait_leaves_nothing_open() -> None:
    async def scene(at: Scene) -> None:
        await at.settle()
        assert at.pods.watches == 1
        at.task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await at.task

    play(scene, a=1)


# The whole, up to where a network would be needed


def no_client() -> Client:
    raise AssertionError("nobody needs a client")


def started(
    *args: str, files: dict[str, str] | None = None, connect: Callable[[], Client] = no_client
) -> tuple[Ended, Log]:
    log = Log()

    def read(path: str) -> str:
        if path not in (files or {}):
            raise FileNotFoundError(f"{path}: no such file in the container")
        return (files or {})[path]

    async def main(clock: VirtualClock) -> Ended:
        return await waiter.run(args, read=read, connect=connect, clock=clock, rng=random.Random(1), log=log)

    return run(main), log


def test_without_dependencies_it_succeeds_at_once_and_needs_nothing() -> None:
    for args in ((), ("--podcliques=",)):
        ended, log = started(*args)
        assert ended == Ended(0, "")
        assert [line[:2] for line in log.lines] == [("INFO", "nothing to wait for")]


def test_arguments_that_are_not_understood_are_an_error() -> None:
    ended, log = started("--podcliques=a")
    assert ended.exit_code == 1
    assert ended.message.startswith('ERR_INVALID_INPUT: --podcliques "a": ')
    assert log.lines == [("ERROR", "cannot wait", {"error": ended.message})]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "/var/grove/pod-info/namespace: cannot be read: "),
        ({"namespace": "ns"}, "/var/grove/pod-info/podgangname: cannot be read: "),
        ({"namespace": "ns", "podgangname": "\n"}, "/var/grove/pod-info/podgangname: is empty; the pod has no label"),
    ],
)
def test_a_pod_that_does_not_say_where_it_belongs_is_an_error(files: dict[str, str], message: str) -> None:
    ended, log = started("-p", "a:1", files={f"/var/grove/pod-info/{name}": text for name, text in files.items()})
    assert ended.exit_code == 1
    assert ended.message.startswith(message)
    assert log.lines == [("ERROR", "cannot wait", {"error": ended.message})]


def test_no_way_to_an_api_server_is_an_error() -> None:
    def connect() -> Client:
        raise ConnectionConfigError("not inside a cluster")

    files = {f"{waiter.POD_INFO}/{waiter.NAMESPACE_FILE}": "ns", f"{waiter.POD_INFO}/{waiter.GANG_FILE}": "x-0"}
    ended, log = started("-p", "a:1", files=files, connect=connect)
    assert ended == Ended(1, "not inside a cluster")
    assert log.lines == [("ERROR", "cannot wait", {"error": "not inside a cluster"})]
