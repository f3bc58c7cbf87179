"""Clients for the tests on a cluster, that wait for nothing: what they would sleep is written down."""

import random
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec

from grove.kube.client import Client
from grove.kube.connection import Connection
from grove.kube.kubeconfig import connect
from grove.testing.controlplane import ControlPlane
from grove.testing.faults import FaultProxy


class Pauses:
    """A sleep that takes no time."""

    def __init__(self, then: Callable[[], Awaitable[None]] | None = None) -> None:
        self.taken: list[float] = []
        self._then = then

    async def __call__(self, seconds: float) -> None:
        self.taken.append(seconds)
        if self._then is not None:
            await self._then()


def client_for(cluster: ControlPlane, **settings: Any) -> Client:
    """A client of the administrator."""
    return client_with(connect(str(cluster.kubeconfig)), **settings)


def client_through(proxy: FaultProxy, cluster: ControlPlane, **settings: Any) -> Client:
    """The same through a proxy."""
    direct = connect(str(cluster.kubeconfig))
    return client_with(msgspec.structs.replace(direct, server=proxy.url, ca=proxy.ca), **settings)


def client_with(connection: Connection, **settings: Any) -> Client:
    complete: dict[str, Any] = {"field_manager": "grove-tests", "sleep": Pauses(), "rng": random.Random(1)} | settings
    return Client(connection, **complete)
