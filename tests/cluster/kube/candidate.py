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


async def write_entries(client: Client, namespace: str, term: Term, clock: WrongClock) -> None:
    fenced = client.fenced(term)
    for number in itertools.count():
        name = f"{term.number:04}-{number:06}-{term.identity}"
        entry = {
            "metadata": {"name": name, "labels": {"entry": ""}},
            "data": {"term": str(term.number), "writer": term.identity},
        }
        with contextlib.suppress(KubeError, NotLeaderError):  # the election says when it is over
            await fenced.create(CONFIG_MAPS, entry, namespace=namespace)
        await clock.sleep(PERIOD)


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
                await election.run(lambda term: write_entries(client, namespace, term, clock))


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(main(*sys.argv[1:]))
