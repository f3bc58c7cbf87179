"""A scheduler that is killed, lied to and robbed: in the end every gang is whole or nowhere, and no node is overfull.

Pods that are deleted are made anew by their owner, as the operator does. Everything runs in virtual time.
"""

from __future__ import annotations

import random
from typing import Literal

from hypothesis import given, settings
from hypothesis import strategies as st

from grove.kube.errors import Conflict, InternalError, TooManyRequests
from grove.kube.resources import PODS, Resource
from tests.unit.scheduler.apiserver import PATIENCE, Scheduler, SchedulerServer, play

NODES = 4
Action = tuple[str, int]

KINDS = ("gang", "kill", "thief", "delete", "faults", "wait", "node", "ready")
ACTIONS = st.lists(st.tuples(st.sampled_from(KINDS), st.integers(0, 7)), min_size=1, max_size=12)


class Chaos:
    """What happens to a cluster, and what must hold of it."""

    def __init__(self, server: SchedulerServer) -> None:
        self.server = server
        self.scheduler = Scheduler(server)
        self.gangs: dict[str, list[str]] = {}
        self.thieves = 0
        self.nodes = 0
        self.rng = random.Random(1)
        self.lives = 1

    async def act(self, what: str, number: int) -> None:
        server = self.server
        match what:
            case "gang":
                name = f"g{len(self.gangs)}"
                self.gangs[name] = server.add_gang(name, {"leader": 1, "worker": 1 + number % 3})
            case "kill":
                server.fatal = server.asked + number
                await server.clock.sleep(1)
                await self.restart()
            case "thief":
                self.thieves += 1
                server.add_pod(f"thief-{self.thieves}", node=f"n{number % self.nodes}", schedulerName="other")
            case "delete":
                pods = sorted(name for name in server.names(PODS) if name.startswith("g"))
                if pods:
                    server.remove(PODS, pods[number % len(pods)], "default")
            case "faults":
                left = [number]
                kinds = [Conflict("no", code=409), InternalError("oh", code=500), TooManyRequests("later", code=429)]

                def fault(verb: str, resource: Resource, name: str) -> Literal["lost"] | None:
                    if left[0] <= 0 or verb not in ("binding", "patch"):
                        return None
                    left[0] -= 1
                    kind = self.rng.randrange(4)
                    if kind < 3:
                        raise kinds[kind]
                    return "lost"

                server.fault = fault
            case "node":
                self.add_node()
            case "ready":
                server.ready(*(name for name in server.where() if name.startswith("g")))
        await server.clock.sleep(number / 4)

    def add_node(self) -> None:
        self.server.add_node(f"n{self.nodes}", gpus=1)
        self.nodes += 1

    async def restart(self) -> None:
        await self.scheduler.kill()
        self.lives += 1
        self.scheduler = Scheduler(self.server, seed=self.lives).start()

    async def own(self, seconds: float) -> None:
        """What the owner of the gangs does meanwhile: pods that are gone come again."""
        for _ in range(round(seconds)):
            for gang, names in self.gangs.items():
                for name in names:
                    pod = self.server.get_now(PODS, name, "default")
                    if pod is None:
                        self.server.add_pod(name, gang=gang)
                    elif "deletionTimestamp" in pod["metadata"]:
                        self.server.remove(PODS, name, "default")
            await self.server.clock.sleep(1)

    def judge(self) -> None:
        where = self.server.where()
        for gang, names in self.gangs.items():
            placed = [name for name in names if name in where]
            status = self.server.status(gang)
            was_whole = "lastScheduled" in status
            assert len(placed) in (0, len(names)) or was_whole, (gang, placed)
            assert (status["phase"] == "Pending") == (len(placed) < len(names)), (gang, placed, status)
        used = [node for name, node in where.items() if not name.startswith("thief")]
        assert len(used) == len(set(used)), where


@settings(max_examples=60)
@given(ACTIONS)
def test_every_gang_is_whole_or_nowhere_in_the_end(actions: list[Action]) -> None:
    async def story(server: SchedulerServer) -> None:
        chaos = Chaos(server)
        for _ in range(NODES):
            chaos.add_node()
        chaos.scheduler.start()
        for what, number in actions:
            await chaos.act(what, number)
        await chaos.own(3 * PATIENCE)
        chaos.judge()
        chaos.scheduler.check()
        await chaos.scheduler.kill()

    play(story)
