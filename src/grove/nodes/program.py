"""The program of the containers that really do their work: the waiter, run against the API as its pod would run it.

What it reads are the files that its container is given, and it asks the API as the pod's service account; only the
way to the API server is that of the simulated node, for there is no pod network.
"""

from __future__ import annotations

import contextlib
import logging
import random
from collections.abc import Callable
from typing import Final

import msgspec

from grove.initc import waiter
from grove.kube.client import Client
from grove.kube.clock import Clock
from grove.kube.connection import SERVICE_ACCOUNT, Connection
from grove.kube.credentials import Credentials, Fixed, Identity
from grove.kube.errors import ConnectionConfigError, KubeError
from grove.kube.events import Recorder, Regarding
from grove.nodes import volumes
from grove.nodes.objects import ContainerSpec, PodRecord
from grove.nodes.volumes import Files, PodToken
from grove.nodes.waiters import Result
from grove.runtime.backoff import Backoff

WAITER_LOG: Final = "grove.nodes.waiter"
"""The logger of all waiters: thousands of them, each of which would fill a container's log."""

log = logging.getLogger(WAITER_LOG)

TOKEN: Final = str(SERVICE_ACCOUNT / "token")
AGAIN: Final = Backoff(first=1.0, longest=60.0)
"""Between two tries to get the files of a container."""


class Program:
    """Runs a waiter, once for each call; see Work in `waiters.py`."""

    def __init__(
        self,
        *,
        client: Client,
        connection: Connection,
        recorder: Recorder,
        clock: Clock,
        rng: random.Random,
        now: Callable[[], float],
    ) -> None:
        """`client` is the nodes', `connection` how they reach the API. `now` gives seconds since the epoch."""
        self._client = client
        self._connection = connection
        self._recorder = recorder
        self._clock = clock
        self._rng = rng
        self._now = now

    async def __call__(self, pod: PodRecord, container: ContainerSpec) -> Result:
        files = await self._files(pod, container)

        def connect() -> Client:
            connection = msgspec.structs.replace(
                self._connection, credentials=self._credentials(pod, files), headers=()
            )
            return Client(connection, user_agent="grove-initc", max_in_flight=1, sleep=self._clock.sleep)

        try:
            ended = await waiter.run(
                container.args, read=files.read, connect=connect, clock=self._clock, rng=self._rng, log=log
            )
        except ConnectionConfigError as error:
            return Result(1, str(error))
        return Result(ended.exit_code, ended.message)

    async def _files(self, pod: PodRecord, container: ContainerSpec) -> Files:
        """A container does not begin without its files: whoever makes them may be late."""
        failures = 0
        while True:
            try:
                return await volumes.files(self._client, pod, container)
            except KubeError as error:
                self._recorder.record(
                    Regarding("v1", "Pod", pod.metadata.namespace or "", pod.metadata.name, pod.metadata.uid or ""),
                    "Warning",
                    "FailedMount",
                    f"MountVolume.SetUp failed for container {container.name}: {error}",
                )
            failures += 1
            await self._clock.sleep(AGAIN.delay(failures, self._rng))

    def _credentials(self, pod: PodRecord, files: Files) -> Credentials:
        if (wanted := files.tokens.get(TOKEN)) is not None:
            return PodToken(self._client, pod, wanted, now=self._now)
        with contextlib.suppress(FileNotFoundError):
            return Fixed(Identity(files.read(TOKEN).strip()))
        raise ConnectionConfigError(f"{TOKEN} is not there: mount a token of the pod's service account")
