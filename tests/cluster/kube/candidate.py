"""A candidate for the test of the election: while it leads it writes an entry again and again, through its term.

An entry is a ConfigMap of its own, created unconditionally: nothing but the fence keeps a late one out, and the server
numbers them all in the order in which they came. The time of day of this process is wrong by as much as it is told.

    python candidate.py KUBECONFIG NAMESPACE IDENTITY WALL_OFFSET_SECONDS
"""

import asyncio
import contextlib
import datetime
import itertools
import random
import signal
import sys

from grove.kube.client import Client
from grove.kube.errors import KubeError
from grove.kube.fence import NotLeaderError, Term
from grove.kube.kubeconfig import connect
from grove.kube.lease import Election, LeadershipLostError, Timing
from grove.kube.leasestore import ClientLeases
from grove.kube.resources import CONFIG_MAPS
from grove.runtime.clock import SystemClock

LEASE = "candidates"
# Short, for the test not to wait long; the gap of a second between two terms is what a request may take to arrive.
TIMING = Timing(duration=3.0, renew_deadline=2.0, retry_period=0.4)
PERIOD = 0.02


class WrongClock(SystemClock):
    def __init__(self, offset: float) -> None:
        self.offset = datetime.timedelta(seconds=offset)

    def wall(self) -> datetime.datetime:
        return super().wall() + self.offset


class Writer:
    """Writes entries until the fence refuses. That its work is cancelled does not stop it: the fence alone must do."""

    def __init__(self, client: Client, namespace: str, clock: WrongClock) -> None:
        self.client = client
        self.namespace = namespace
        self.clock = clock

    async def work(self, term: Term) -> None:
        told = asyncio.Event()
        writing = asyncio.ensure_future(self.write(term, told))
        try:
            await asyncio.shield(writing)
        except asyncio.CancelledError:
            if term.is_open:  # we are told to end, and do it in order
                told.set()
                await writing
            raise

    async def write(self, term: Term, told: asyncio.Event) -> None:
        fenced = self.client.fenced(term)
        for number in itertools.count():
            name = f"{term.number:04}-{number:06}-{term.identity}"
            entry = {
                "metadata": {"name": name, "labels": {"entry": ""}},
                "data": {"term": str(term.number), "writer": term.identity},
            }
            try:
                await fenced.create(CONFIG_MAPS, entry, namespace=self.namespace)
            except KubeError:
                pass
            except NotLeaderError:
                return
            if told.is_set():
                return
            await self.clock.sleep(PERIOD)


async def main(kubeconfig: str, namespace: str, identity: str, offset: str) -> None:
    clock = WrongClock(float(offset))
    async with Client(connect(kubeconfig)) as client:
        election = Election(
            ClientLeases(client),
            namespace=namespace,
            name=LEASE,
            identity=identity,
            clock=clock,
            rng=random.Random(identity),
            timing=TIMING,
        )
        while True:  # a real program ends when it loses its lease; here that would only make processes scarce
            with contextlib.suppress(LeadershipLostError):
                await election.run(Writer(client, namespace, clock).work)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell has children in the background ignore it
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(main(*sys.argv[1:]))
