import asyncio
import random
from collections.abc import Callable

import aiohttp
import pytest
from prometheus_client.parser import text_string_to_metric_families

from grove.kube.cache import Cache
from grove.kube.events import Recorder, Regarding
from grove.kube.lease import Election
from grove.kube.statistics import ClientStatistics, Counters
from grove.runtime.controller import Controller
from grove.runtime.endpoints import Endpoints
from grove.runtime.health import look
from grove.runtime.metrics import Metrics
from grove.runtime.outcomes import Outcome
from grove.testing.virtualtime import VirtualClock, World, run
from tests.unit.kube.fakes import FakeClock, FakeServer, FakeSource, Thing, settle
from tests.unit.kube.leaseserver import Server
from tests.unit.kube.test_events import Store


class Keys:
    async def run(self, add: Callable[[str], None]) -> None:
        for key in ("a", "b", "bad"):
            add(key)
        await asyncio.Event().wait()

    async def synced(self) -> None:
        pass


def samples(text: bytes) -> dict[tuple[str, str], float]:
    """Name and last label of each sample, to its value."""
    return {
        (sample.name, list(sample.labels.values())[-1]): sample.value
        for family in text_string_to_metric_families(text.decode())
        for sample in family.samples
    }


def test_a_controllers_metrics_are_its_statistics() -> None:
    async def scenario(clock: VirtualClock) -> None:
        async def reconcile(key: str) -> Outcome:
            await clock.sleep(2)
            if key == "bad":
                raise ValueError
            return None

        controller = Controller("pods", reconcile, [Keys()], clock=clock, rng=random.Random(1))
        metrics = Metrics(controllers=lambda: [controller])
        task = asyncio.ensure_future(controller.run())
        await clock.sleep(1)
        assert samples(metrics.text())["grove_reconcile_longest_seconds", "pods"] == 1
        await clock.sleep(5.02)
        seen = samples(metrics.text())
        assert seen["grove_reconciles_total", "done"] == 2
        assert seen["grove_reconciles_total", "failed"] == 1
        assert seen["grove_queue_delayed", "pods"] == 1
        assert seen["grove_queue_waited_seconds_total", "pods"] == 6
        assert seen["grove_reconcile_seconds_count", "pods"] == 3
        assert seen["grove_reconcile_seconds_sum", "pods"] == 6
        assert seen["grove_reconcile_seconds_bucket", "1.0"] == 0
        assert seen["grove_reconcile_seconds_bucket", "5.0"] == 3
        assert seen["grove_workers", "pods"] == 1
        assert seen["grove_reconcile_errors_total", "ValueError"] == 1
        renamed = samples(Metrics(controllers=lambda: [controller], prefix="grove_operator_").text())
        assert renamed.keys() == {(name.replace("grove_", "grove_operator_"), label) for name, label in seen}
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(scenario)


def test_elections_and_recorders_have_metrics_and_registries_are_apart() -> None:
    with World() as world:
        server = Server(world)
        process = world.process()
        election = Election(
            server.store(process), namespace="n", name="op", identity="me", clock=process.clock, rng=random.Random(1)
        )
        recorder = Recorder(
            Store(process.clock), component="c", instance="i", clock=process.clock, rng=random.Random(1)
        )
        recorder.record(Regarding("v1", "Pod", "ns", "p"), "Normal", "Ready", "it is")
        process.start(election.run(lambda _: process.clock.sleep(1e9)))
        world.advance(1)
        seen = samples(Metrics(elections=[election], recorders=[recorder]).text())
        assert seen["grove_leader", "op"] == 1
        assert seen["grove_lease_terms_total", "op"] == 1
        assert seen["grove_events_waiting", "events"] == 1
        assert samples(Metrics().text()) == {}


def labelled(text: bytes) -> dict[tuple[str, ...], float]:
    """Name of each sample and its labels, in the order of their names, to its value."""
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text.decode())
        for sample in family.samples
    }


def test_a_clients_metrics_are_its_statistics() -> None:
    counters = Counters()
    counters.answered("get", "200")
    counters.answered("get", "200")
    counters.answered("create", "unreachable")
    for seconds in (0.003, 0.2):
        counters.took("get", seconds)
    counters.retries, counters.in_flight, counters.waiting, counters.watches = 1, 2, 3, 4
    counters.bytes_sent, counters.bytes_received, counters.warnings = 5, 6, 7

    class Client:
        def statistics(self) -> ClientStatistics:
            return counters.snapshot()

    seen = labelled(Metrics(clients={"operator": Client()}).text())
    assert seen["grove_client_requests_total", "operator", "200", "get"] == 2
    assert seen["grove_client_requests_total", "operator", "unreachable", "create"] == 1
    assert seen["grove_client_request_seconds_bucket", "operator", "0.005", "get"] == 1
    assert seen["grove_client_request_seconds_bucket", "operator", "+Inf", "get"] == 2
    assert seen["grove_client_request_seconds_count", "operator", "get"] == 2
    assert seen["grove_client_request_seconds_sum", "operator", "get"] == 0.203
    values = {
        "retries_total": 1,
        "in_flight": 2,
        "waiting": 3,
        "watches": 4,
        "sent_bytes_total": 5,
        "received_bytes_total": 6,
        "warnings_total": 7,
    }
    assert {name: seen[f"grove_client_{name}", "operator"] for name in values} == values


def test_a_caches_metrics_are_its_statistics() -> None:
    async def scenario() -> None:
        server, clock = FakeServer(), FakeClock()
        server.create("a")
        source = FakeSource(server)
        cache: Cache[Thing] = Cache(source, clock=clock, rng=random.Random(1))
        metrics = Metrics(caches=lambda: {"things": cache.statistics()})
        before = labelled(metrics.text())
        assert before["grove_cache_synced", "things"] == 0
        assert ("grove_cache_age_seconds", "things") not in before, "nothing was heard yet"
        running = asyncio.ensure_future(cache.run())
        await settle()
        cache.wrote(server.create("b"))
        source.tell()
        assert source.pipe is not None
        source.pipe.deliver()
        await settle()
        clock.advance(7)
        seen = labelled(metrics.text())
        values = {
            "objects": 2,
            "synced": 1,
            "age_seconds": 7,
            "graves": 0,
            "lists_total": 1,
            "streamed_total": 1,
            "watches_total": 1,
            "events_total": 1,
            "bookmarks_total": 0,
            "failures_total": 0,
            "gone_total": 0,
            "handler_errors_total": 0,
            "applied_total": 2,
            "echoes_total": 1,
        }
        assert {name: seen[f"grove_cache_{name}", "things"] for name in values} == values
        running.cancel()
        await asyncio.wait({running})

    asyncio.run(scenario())


def test_health_names_every_problem() -> None:
    def broken() -> str:
        raise KeyError("x")

    report = look({"cache": lambda: "", "lease": lambda: "not renewed", "other": broken})
    assert not report.good
    assert report.text() == "+ cache: ok\n- lease: not renewed\n- other: the check failed: KeyError('x')\nnot ok\n"
    assert look({}).text() == "ok\n"


def test_the_endpoints_answer() -> None:
    async def scenario() -> None:
        problem = "not synced"
        endpoints = Endpoints(
            host="127.0.0.1",
            port=0,
            live={},
            ready={"cache": lambda: problem},
            metrics=Metrics().text,
        )
        serving = asyncio.ensure_future(endpoints.run())
        started = asyncio.ensure_future(endpoints.started.wait())
        await asyncio.wait({serving, started}, return_when=asyncio.FIRST_COMPLETED)
        assert not serving.done(), serving.exception()
        async with aiohttp.ClientSession(f"http://127.0.0.1:{endpoints.port}") as session:
            async with session.get("/healthz") as answer:
                assert (answer.status, await answer.text()) == (200, "ok\n")
            async with session.get("/readyz") as answer:
                assert (answer.status, await answer.text()) == (503, "- cache: not synced\nnot ok\n")
            problem = ""
            async with session.get("/readyz") as answer:
                assert answer.status == 200
            async with session.get("/metrics") as answer:
                assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
        serving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await serving

    asyncio.run(scenario())
