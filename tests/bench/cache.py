"""`make bench-cache`: 100,000 pods, from the bytes of a list into a cache, with what plain dicts cost beside it.

A cache gets its first list in one of two ways, and both are measured, through the classes that a program uses: a server
that streams sends a line for each pod and a bookmark at the end, another sends pages. HTTP and TLS are not in it.

Each way runs in processes of its own, in turns. Memory is the growth of the resident set, so it counts what the
allocator loses too. CPU is what taking the bytes over costs, the collector included; making them up is not counted.
The dicts are measured on a sample: a pod costs the same however many there are, but for the collector, whose passes
over dicts grow with their number; so the ratio flatters the dicts.
"""

from __future__ import annotations

import asyncio
import gc
import json
import random
import resource
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any, cast

import msgspec

from grove.api import labels
from grove.kube.cache import Cache
from grove.kube.decoding import Bookmark, Decoders, Event, Page
from grove.kube.indexes import by_label, by_owner
from grove.kube.objects import PodView
from grove.kube.sharing import Sharing
from grove.kube.statistics import Counters
from grove.kube.transport import Request, Transport
from grove.kube.watch import Watch
from grove.runtime.clock import SystemClock
from tests.bench.figures import Figure, report
from tests.bench.pods import pages

PODS, SAMPLE, PAGE, ROUNDS = 100_000, 5_000, 500, 3
CHUNK = 2**18
"""As many bytes as a connection gives at once."""
REVISION = b'{"resourceVersion":"9999999","annotations":{"k8s.io/initial-events-end":"true"}}'
END = b'{"type":"BOOKMARK","object":{"kind":"Pod","metadata":%b,"spec":{"containers":null}}}\n' % REVISION


class Server:
    """Makes up what a server sends, and keeps the time of it apart."""

    def __init__(self, count: int) -> None:
        self.spent = 0.0
        self.size = 0
        self._pages = pages(count, PAGE)

    def pages(self) -> Iterator[bytes]:
        return self._timed(page.replace(b'"metadata":{}', b'"metadata":%b' % REVISION, 1) for page in self._pages)

    def chunks(self) -> Iterator[bytes]:
        return self._timed(self._chunks())

    def _chunks(self) -> Iterator[bytes]:
        for page in self._pages:
            items = msgspec.json.decode(page, type=RawList).items
            lines = b"".join(b'{"type":"ADDED","object":%b}\n' % bytes(item) for item in items)
            for start in range(0, len(lines), CHUNK):
                yield lines[start : start + CHUNK]
        yield END

    def _timed(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        while True:
            start = time.process_time()
            piece = next(pieces, b"")
            self.spent += time.process_time() - start
            if not piece:
                return
            self.size += len(piece)
            yield piece


class RawList(msgspec.Struct):
    items: list[msgspec.Raw]


class Paged:
    """The source of a cache whose server sends pages."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._decoders = Decoders()

    async def pages(self) -> AsyncGenerator[Page[Any], None]:
        for body in self._server.pages():
            yield self._decoders.page(body, Sharing.reads(PodView), "pods")

    async def watch(self, revision: str, *, initial_events: bool) -> AsyncGenerator[Event[Any] | Bookmark, None]:
        await asyncio.Event().wait()
        yield Bookmark("")


class Streamed(Paged):
    """The source of a cache whose server streams, and its connection."""

    async def watch(self, revision: str, *, initial_events: bool) -> AsyncGenerator[Event[Any] | Bookmark, None]:
        async with Watch(
            cast(Transport, self),
            Request(verb="watch", method="GET", path="pods"),
            type=Sharing.reads(PodView),
            decoders=self._decoders,
            stall=150.0,
            on_begin=lambda _: None,
            on_end=lambda _: None,
        ) as events:
            async for event in events:
                yield event

    connection = None
    counters = Counters()

    async def stream(self, _: Request) -> Any:
        self._chunks = self._server.chunks()
        return self

    @property
    def content(self) -> Any:
        return self

    async def readany(self) -> bytes:
        return next(self._chunks, b"") or await asyncio.Event().wait()  # type: ignore[return-value]

    def close(self) -> None:
        """Nothing is open."""


async def listed(server: Server, *, streaming: bool) -> Cache[PodView]:
    """As a cache of Grove holds pods: partial structs, equal parts shared, two indexes."""
    cache: Cache[PodView] = Cache(
        Streamed(server) if streaming else Paged(server),
        clock=SystemClock(),
        rng=random.Random(1),
        indexes={"owner": by_owner, "podclique": by_label(labels.POD_CLIQUE)},
        sharing=Sharing(),
        streaming=streaming,
    )
    running = asyncio.ensure_future(cache.run())
    await asyncio.wait({running, synced := asyncio.ensure_future(cache.synced())}, return_when="FIRST_COMPLETED")
    assert synced.done(), running.exception()
    running.cancel()
    await asyncio.wait({running})
    return cache


def plain(server: Server) -> dict[tuple[str, str], Any]:
    """As json.loads gives them, by name."""
    held = {}
    for page in server.pages():
        for pod in json.loads(page)["items"]:
            held[pod["metadata"]["namespace"], pod["metadata"]["name"]] = pod
    return held


WAYS: dict[str, Callable[[Server], Any]] = {
    "streamed": lambda server: asyncio.run(listed(server, streaming=True)),
    "paged": lambda server: asyncio.run(listed(server, streaming=False)),
    "plain": plain,
}


def main() -> int:
    if len(sys.argv) > 1:
        return measure(WAYS[sys.argv[1]], int(sys.argv[2]))
    counts = {"streamed": PODS, "paged": PODS, "plain": SAMPLE}
    runs = [{way: in_a_process(way, count) for way, count in counts.items()} for _ in range(ROUNDS)]
    streamed, paged, dicts = ({key: median(run[way][key] for run in runs) for key in runs[0][way]} for way in WAYS)
    return report(
        "cache",
        [
            Figure("bytes a pod: streamed", streamed["memory"], bar=1500),
            Figure("bytes a pod: paged", paged["memory"], bar=1500),
            Figure("CPU seconds for 100,000 pods: streamed", streamed["seconds"] * PODS, bar=3),
            Figure("CPU seconds for 100,000 pods: paged", paged["seconds"] * PODS, bar=3),
            Figure("a full pass of the garbage collector then, ms", streamed["collection"] * 1000),
            Figure("bytes of JSON a pod", paged["size"]),
            Figure("CPU seconds to pass over as much JSON", paged["passing"] * PODS),
            Figure("bytes a pod: json.loads", dicts["memory"]),
            Figure("CPU seconds for 100,000 pods: json.loads", dicts["seconds"] * PODS),
            Figure("memory against json.loads", streamed["memory"] / dicts["memory"], bar=0.05),
            Figure("CPU against json.loads", streamed["seconds"] / dicts["seconds"], bar=0.5),
        ],
    )


def in_a_process(way: str, count: int) -> dict[str, float]:
    command = [sys.executable, "-m", "tests.bench.cache", way, str(count)]
    answer = subprocess.run(command, check=True, capture_output=True, cwd=Path(__file__).parents[2])
    found: dict[str, float] = json.loads(answer.stdout)
    return found


def measure(way: Callable[[Server], Any], count: int) -> int:
    way(Server(PAGE))  # warms the allocator up
    gc.collect()
    before = resident()
    server = Server(count)
    start = time.process_time()
    held = way(server)
    seconds = time.process_time() - start - server.spent
    assert len(held) == count
    gc.collect()
    grown = resident() - before
    start = time.process_time()
    gc.collect()
    collection = time.process_time() - start
    passing = passing_over(next(pages(PAGE, PAGE))) / PAGE
    found = {"memory": grown, "seconds": seconds, "size": server.size, "passing": passing * count}
    print(json.dumps({"collection": collection, **{name: value / count for name, value in found.items()}}))
    return 0


def passing_over(page: bytes) -> float:
    """Seconds to find the end of each pod and no more: what no way of reading JSON can do without."""
    decode = msgspec.json.Decoder(RawList).decode
    start = time.process_time()
    for _ in range(20):
        decode(page)
    return (time.process_time() - start) / 20


def resident() -> int:
    """Bytes of memory that this process has now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


if __name__ == "__main__":
    sys.exit(main())
