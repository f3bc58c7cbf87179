"""The side of a client's process that does what the benchmark says: orders come in by line, and turns go out.

What is sent is made before the clock starts, and every turn begins with some unmeasured operations, for connections
that went cold while others had theirs. Runs in the environments of all clients: the standard library alone.
"""

from __future__ import annotations

import asyncio
import gc
import json
import sys
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, Protocol, TypeVar

from tests.bench.clients import bodies

IN_FLIGHT = 32
PAGE = 500
WARM_PAGE = 50
MERGE = "application/merge-patch+json"

Verb = Literal["create", "patch", "list", "list plain"]
Body = dict[str, Any]
Job = TypeVar("Job")


@dataclass(frozen=True)
class Order:
    """Pods `first` to `first + count`, the first `warm` of them unmeasured; of a list, how many there should be."""

    verb: Verb
    first: int
    count: int
    warm: int = 0


@dataclass(frozen=True)
class Turn:
    """What an order took."""

    seconds: float
    cpu: float
    done: int


class Contender(Protocol):
    """A client as its users use it, with IN_FLIGHT requests under way."""

    def create(self, pods: Sequence[Body]) -> None: ...

    def patch(self, changes: Sequence[tuple[str, Body]]) -> None:
        """Changes the status of the pods of these names."""

    def list(self, page: int, *, plain: bool, once: bool = False) -> int:
        """Holds all pods, read in pages, as the client's own types or plainly as JSON has them; gives their number."""


def serve(contender: Contender) -> None:
    """Until nobody gives orders any more."""
    for line in sys.stdin:
        print(json.dumps(asdict(take_turn(contender, Order(**json.loads(line))))), flush=True)


def take_turn(contender: Contender, order: Order) -> Turn:
    numbers = range(order.first, order.first + order.count)
    warm_up: Callable[[], object]
    work: Callable[[], int]
    match order.verb:
        case "create":
            pods = [bodies.created(number) for number in numbers]
            warm_up = lambda: contender.create(pods[: order.warm])  # noqa: E731
            work = lambda: done(contender.create, pods[order.warm :])  # noqa: E731
        case "patch":
            changes = [(bodies.name(number), bodies.ready(number)) for number in numbers]
            warm_up = lambda: contender.patch(changes[: order.warm])  # noqa: E731
            work = lambda: done(contender.patch, changes[order.warm :])  # noqa: E731
        case "list" | "list plain":
            plain = order.verb == "list plain"
            warm_up = lambda: contender.list(WARM_PAGE, plain=plain, once=True)  # noqa: E731
            work = lambda: contender.list(PAGE, plain=plain)  # noqa: E731
    warm_up()
    gc.collect()
    start, cpu = time.perf_counter(), time.process_time()
    count = work()
    return Turn(time.perf_counter() - start, time.process_time() - cpu, count)


def done(act: Callable[[Sequence[Job]], None], jobs: Sequence[Job]) -> int:
    act(jobs)
    return len(jobs)


async def in_flight(jobs: Iterable[Job], act: Callable[[Job], Awaitable[object]]) -> None:
    """Does the jobs, IN_FLIGHT at a time."""
    waiting = iter(jobs)

    async def work() -> None:
        for job in waiting:
            await act(job)

    async with asyncio.TaskGroup() as group:
        for _ in range(IN_FLIGHT):
            group.create_task(work())
