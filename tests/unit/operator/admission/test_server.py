"""The server on real sockets: what it takes, what it refuses, and how it ends."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import io
import json
import ssl
from collections.abc import AsyncIterator, Mapping

import aiohttp
import pytest

from grove.api.fields import JSON
from grove.operator.admission import metrics, server
from grove.operator.admission.certificates import Bundle, issue
from grove.operator.admission.exchange import ALLOWED, Request, Response, refused
from grove.operator.admission.judges import Judge
from grove.operator.admission.served import Served
from grove.operator.admission.server import WebhookServer
from grove.runtime.clock import SystemClock
from grove.runtime.metrics import Metrics

PATH = "/webhooks/judge"
REVIEW: JSON = {
    "apiVersion": "admission.k8s.io/v1",
    "kind": "AdmissionReview",
    "request": {"uid": "u", "kind": {"kind": "Pod"}, "namespace": "default", "name": "p", "operation": "CREATE"},
}


class Rig:
    """A server and a client that trusts it."""

    def __init__(self, judges: Mapping[str, Judge], limit: float) -> None:
        self.served = Served()
        self.server = WebhookServer(
            host="127.0.0.1", port=0, judges=judges, served=self.served, clock=SystemClock(), limit=limit
        )
        self.task = asyncio.ensure_future(self.server.run())

    def take(self, bundle: Bundle) -> None:
        self.served.take(bundle, bundle.authorities)

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.server.port}{PATH}"

    @contextlib.asynccontextmanager
    async def client(self) -> AsyncIterator[aiohttp.ClientSession]:
        trusting = ssl.create_default_context(cadata=self.served.authorities.decode())
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=trusting)) as session:
            yield session


@contextlib.asynccontextmanager
async def rig(judge: Judge, *, limit: float = server.LIMIT) -> AsyncIterator[Rig]:
    made = Rig({PATH: judge}, limit)
    made.take(issue(["127.0.0.1"], SystemClock().wall()))
    await made.server.started.wait()
    try:
        yield made
    finally:
        made.task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await made.task


async def allow(_: Request) -> Response:
    return ALLOWED


def test_it_listens_when_there_is_a_certificate() -> None:
    async def scene() -> None:
        made = Rig({PATH: allow}, 1.0)
        await asyncio.wait({made.task}, timeout=0.01)
        assert made.server.check() == "certificates are not ready yet"
        made.take(issue(["127.0.0.1"], SystemClock().wall()))
        assert made.server.check() == "the webhook server does not listen yet"
        await made.server.started.wait()
        assert made.server.check() == ""
        assert made.server.port > 0
        made.task.cancel()
        await asyncio.wait({made.task})
        assert made.server.check() == "the webhook server does not listen yet"

    asyncio.run(scene())


def test_a_review_is_answered_and_counted() -> None:
    async def judge(request: Request) -> Response:
        return ALLOWED if request.name == "p" else refused(403, "Forbidden", "no")

    async def scene() -> None:
        async with rig(judge) as made, made.client() as client:
            for name, allowed in (("p", True), ("q", False)):
                body = {**REVIEW, "request": {**REVIEW["request"], "name": name}}
                async with client.post(made.url, json=body) as answer:
                    assert (answer.status, answer.content_type) == (200, "application/json")
                    assert (await answer.json())["response"]["allowed"] is allowed
            statistics = made.server.statistics()
            assert statistics.requests == {(PATH, "allowed"): 1, (PATH, "denied"): 1}
            assert statistics.seconds[PATH].count == 2
            text = rendered(made.server)
            assert f'grove_operator_webhook_requests_total{{path="{PATH}",verdict="denied"}} 1.0' in text
            assert f'grove_operator_webhook_seconds_count{{path="{PATH}"}} 2.0' in text

    asyncio.run(scene())


def rendered(one: WebhookServer) -> str:
    return Metrics(more=[functools.partial(metrics.families, one.statistics)]).text().decode()


@pytest.mark.parametrize(
    ("body", "code", "words"),
    [
        (b"rubbish", 400, "no AdmissionReview"),
        (b" " * (server.MAX_BODY + 1), 413, "larger than 8388608 bytes"),
    ],
)
def test_what_cannot_be_judged_is_an_error(body: bytes, code: int, words: str) -> None:
    async def scene() -> None:
        async with rig(allow) as made, made.client() as client, client.post(made.url, data=io.BytesIO(body)) as answer:
            assert answer.status == code
            status = json.loads(await answer.read())
            assert (status["kind"], status["code"]) == ("Status", code)
            assert words in status["message"]
            assert made.server.statistics().requests == {(PATH, "error"): 1}

    asyncio.run(scene())


def test_a_judge_that_fails_fails_alone(caplog: pytest.LogCaptureFixture) -> None:
    async def judge(request: Request) -> Response:
        raise RuntimeError("broken")

    async def scene() -> None:
        async with rig(judge) as made, made.client() as client:
            for _ in range(2):
                async with client.post(made.url, json=REVIEW) as answer:
                    assert answer.status == 500
                    assert "the operator's log says why" in await answer.text()

    asyncio.run(scene())
    assert "webhook failed" in caplog.text
    assert "broken" in caplog.text


def test_nobody_waits_longer_than_the_limit() -> None:
    async def judge(request: Request) -> Response:
        await asyncio.Event().wait()
        raise AssertionError

    async def scene() -> None:
        async with (
            rig(judge, limit=0.01) as made,
            made.client() as client,
            client.post(made.url, json=REVIEW) as answer,
        ):
            assert answer.status == 503
            assert "not answered within 0.01 s" in await answer.text()

    asyncio.run(scene())


def test_a_request_that_is_under_way_is_answered_when_the_server_ends() -> None:
    async def scene() -> None:
        arrived, go_on = asyncio.Event(), asyncio.Event()

        async def judge(request: Request) -> Response:
            arrived.set()
            await go_on.wait()
            return ALLOWED

        async with rig(judge) as made, made.client() as client:
            asking = asyncio.ensure_future(client.post(made.url, json=REVIEW))
            await arrived.wait()
            made.task.cancel()
            await asyncio.wait({asking}, timeout=0.05)
            assert not asking.done()
            go_on.set()
            async with await asking as answer:
                assert (await answer.json())["response"]["allowed"]
            await asyncio.wait({made.task}, timeout=5.0)
            assert made.task.done()
            with pytest.raises(aiohttp.ClientConnectionError):
                await client.post(made.url, json=REVIEW)

    asyncio.run(scene())


def test_open_connections_outlive_a_new_certificate_and_new_ones_get_it() -> None:
    async def scene() -> None:
        async with rig(allow) as made, made.client() as client:
            async with client.post(made.url, json=REVIEW) as answer:
                assert answer.status == 200
            old = made.served.authorities
            made.take(issue(["127.0.0.1"], SystemClock().wall()))  # vouched for by another authority alone
            async with client.post(made.url, json=REVIEW) as answer:
                assert answer.status == 200
            async with made.client() as another, another.post(made.url, json=REVIEW) as answer:
                assert answer.status == 200
            distrusting = ssl.create_default_context(cadata=old.decode())
            with pytest.raises(aiohttp.ClientConnectorCertificateError):
                async with aiohttp.ClientSession() as fresh:
                    await fresh.post(made.url, json=REVIEW, ssl=distrusting)

    asyncio.run(scene())
