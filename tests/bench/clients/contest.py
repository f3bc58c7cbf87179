"""Clients in turns on one control plane, each in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from types import TracebackType
from typing import Self

from grove.testing.controlplane import ControlPlane
from tests.bench.clients import environment
from tests.bench.clients.serving import Order, Turn
from tests.bench.processes import cpu_seconds

GROVE = "grove"
OTHERS = ("kubernetes", "kubernetes_asyncio")
CLIENTS = (GROVE, *OTHERS)


@dataclass(frozen=True)
class Cost:
    """What one operation took, in seconds: of time, of the client's processor, and of the server's with its store."""

    time: float
    client: float
    server: float


class Entrant:
    """A client's process. To be used with `with`."""

    def __init__(self, name: str, cluster: ControlPlane) -> None:
        self.name = name
        self._cluster = cluster
        python = Path(sys.executable) if name == GROVE else environment.ready()
        self._child = subprocess.Popen(
            [python, "-m", f"tests.bench.clients.with_{name}", cluster.kubeconfig],
            cwd=environment.ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._child.communicate()  # no more orders: it ends
        if error is None and self._child.returncode:
            raise RuntimeError(f"the client {self.name} ended with code {self._child.returncode}; its error is above")

    def take(self, order: Order) -> Cost:
        """Has it carry out an order."""
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        server = self._cluster.processes.values()
        before = cpu_seconds(server)
        self._child.stdin.write(json.dumps(asdict(order)) + "\n")
        self._child.stdin.flush()
        if not (answer := self._child.stdout.readline()):
            raise RuntimeError(f"the client {self.name} ended during {order}; its error is above")
        turn = Turn(**json.loads(answer))
        if turn.done != order.count - order.warm:
            raise RuntimeError(f"the client {self.name}: {order}, and it says {turn.done}")
        all_done = order.count if order.verb in ("create", "patch") else turn.done
        return Cost(turn.seconds / turn.done, turn.cpu / turn.done, (cpu_seconds(server) - before) / all_done)


@dataclass(frozen=True)
class Scores:
    """What every client's rounds cost."""

    rounds: dict[str, list[Cost]]

    def median(self, client: str, of: Callable[[Cost], float]) -> float:
        return median(map(of, self.rounds[client]))

    def against(self, client: str, of: Callable[[Cost], float]) -> float:
        """Grove's cost against another's: the median of the rounds, whose noise both had."""
        return median(
            of(ours) / of(theirs) for ours, theirs in zip(self.rounds[GROVE], self.rounds[client], strict=True)
        )


def contest(entrants: Sequence[Entrant], rounds: int, orders: Iterable[Order]) -> Scores:
    """Everyone takes an order each round, beginning with another client each time."""
    taken: dict[str, list[Cost]] = {entrant.name: [] for entrant in entrants}
    coming: Iterator[Order] = iter(orders)
    for number in range(rounds):
        first = number % len(entrants)
        for entrant in (*entrants[first:], *entrants[:first]):
            taken[entrant.name].append(entrant.take(next(coming)))
    return Scores(taken)
