"""Waits until the pods that a pod depends on are ready: what `grove initc` does, and a simulated node in its place.

One watch follows the pods of the parents. The wait ends when all parents have enough ready pods at the same moment; it
has no time limit, and no failure of the API ends it: the rights, the token or the server may come back.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from grove.initc import dependencies
from grove.initc.dependencies import Count, InvalidInputError, Wanted
from grove.initc.pods import Pod, ready_in
from grove.kube.cache import Cache, Pace
from grove.kube.client import Client
from grove.kube.clock import Clock
from grove.kube.errors import (
    ConnectionConfigError,
    CredentialsError,
    Forbidden,
    Gone,
    KubeError,
    Unauthorized,
    Untrusted,
)
from grove.kube.resources import PODS
from grove.kube.source import ClientSource, Source
from grove.kube.store import Change

POD_INFO: Final = "/var/grove/pod-info"
NAMESPACE_FILE: Final = "namespace"
GANG_FILE: Final = "podgangname"

SUCCEEDED: Final = 0
FAILED: Final = 1

REMINDER: Final = 30.0
"""Seconds between two log lines that say what is still missing."""
PACE: Final = Pace(first=0.2, longest=10.0)
"""A pod that waits keeps accelerators idle: after an outage it should notice soon."""

_INDEX: Final = "ready"


class Ended(NamedTuple):
    """How a wait ended."""

    exit_code: int
    message: str
    """Why it failed; empty if it did not."""


class PodInfoError(Exception):
    """The pod does not say where it belongs."""


async def run(
    args: Sequence[str],
    *,
    read: Callable[[str], str],
    connect: Callable[[], Client],
    clock: Clock,
    rng: random.Random,
    log: logging.Logger,
    pod_info: str = POD_INFO,
) -> Ended:
    """Waits for what the arguments name. `read` gives the text of a file of the container, or raises an OSError."""
    try:
        wanted = dependencies.parse(args)
        if not wanted:
            log.info("nothing to wait for")
            return Ended(SUCCEEDED, "")
        namespace = _told(read, f"{pod_info}/{NAMESPACE_FILE}")
        gang = _told(read, f"{pod_info}/{GANG_FILE}")
        client = connect()
    except (InvalidInputError, PodInfoError, ConnectionConfigError) as error:
        log.error("cannot wait", extra={"error": str(error)})
        return Ended(FAILED, str(error))
    async with client:
        source = ClientSource(client, PODS, type=Pod, namespace=namespace, labels=dependencies.selector(gang, wanted))
        await Wait(source, wanted, namespace=namespace, gang=gang, clock=clock, rng=rng, log=log).run()
    return Ended(SUCCEEDED, "")


def _told(read: Callable[[str], str], path: str) -> str:
    try:
        text = read(path).strip()
    except (OSError, UnicodeDecodeError) as error:
        why = (isinstance(error, OSError) and error.strerror) or error
        raise PodInfoError(f"{path}: cannot be read: {why}; mount the pod's downward API there") from error
    if not text:
        raise PodInfoError(f"{path}: is empty; the pod has no label grove.io/podgang, or another field is projected")
    return text


class Wait:
    """One wait, from its beginning to its end."""

    def __init__(
        self,
        source: Source[Pod],
        wanted: Wanted,
        *,
        namespace: str,
        gang: str,
        clock: Clock,
        rng: random.Random,
        log: logging.Logger,
    ) -> None:
        self._wanted = wanted
        self._namespace = namespace
        self._gang = gang
        self._clock = clock
        self._log = log
        self._cache = Cache(
            source,
            clock=clock,
            rng=rng,
            name="pods",
            indexes={_INDEX: lambda _, pod: filter(None, [ready_in(pod)])},
            pace=PACE,
            on_failure=self._failed,
        )
        self._cache.follow(self._take)
        self._changed = asyncio.Event()
        self._counts = dependencies.counts(wanted, lambda _: 0)
        self._failure = ""
        self._failed_at = 0.0

    async def run(self) -> None:
        """Returns when all parents are ready."""
        began = self._clock.monotonic()
        self._say("waiting for pods", wanted=dict(self._wanted))
        async with asyncio.TaskGroup() as group:
            following = group.create_task(self._cache.run())
            reminding = group.create_task(self._remind())
            while dependencies.missing(self._counts):
                await self._changed.wait()
                self._changed.clear()
                self._count()
            following.cancel()
            reminding.cancel()
        self._say("all parents are ready", seconds=round(self._clock.monotonic() - began, 3))

    def _take(self, change: Change[Pod]) -> None:
        # Counted is later, by the task that waits, and once for all the changes that a new list brings.
        if _counts_for(change.old) != _counts_for(change.new):
            self._changed.set()

    def _count(self) -> None:
        before = self._counts
        self._counts = dependencies.counts(self._wanted, lambda name: len(self._cache.find(_INDEX, name)))
        for name, count in self._counts.items():
            if count != before[name]:
                self._say("ready pods changed", podclique=name, have=count.have, want=count.want)

    async def _remind(self) -> None:
        while True:
            await self._clock.sleep(REMINDER)
            trouble = {"error": self._failure} if self._in_trouble() else {}
            self._say("still waiting", missing=_plain(dependencies.missing(self._counts)), **trouble)

    def _failed(self, error: KubeError) -> None:
        """Says what is wrong once, not each time it is tried again: the reminder repeats it."""
        if isinstance(error, Gone):
            return  # the last version was long ago; all is listed anew
        is_known = self._in_trouble() and self._failure == str(error)
        self._failure, self._failed_at = str(error), self._clock.monotonic()
        if is_known:
            return
        advice = remedy(error, self._namespace)
        fields = self._fields(error=self._failure, **({"remedy": advice} if advice else {}))
        self._log.log(logging.ERROR if advice else logging.INFO, "cannot watch pods, trying again", extra=fields)

    def _in_trouble(self) -> bool:
        """Whether the server has told nothing since the last failure."""
        age = self._cache.age()
        return bool(self._failure) and (age is None or age >= self._clock.monotonic() - self._failed_at)

    def _say(self, event: str, **fields: object) -> None:
        self._log.info(event, extra=self._fields(**fields))

    def _fields(self, **fields: object) -> Mapping[str, object]:
        # Waiters of many pods may share a log.
        return {"namespace": self._namespace, "gang": self._gang, **fields}


def remedy(error: KubeError, namespace: str) -> str:
    """What somebody must change for a failure to go away; empty where waiting may be enough."""
    match error:
        case Forbidden():
            return f"bind a Role to the pod's service account: get, list and watch on pods in namespace {namespace}"
        case Unauthorized() | CredentialsError():
            return "give the pod a valid token: its service account, or the secret with the token, is missing or new"
        case Untrusted() | ConnectionConfigError():
            return "give the pod the cluster's own authority: ca.crt beside the token, or that of the kubeconfig"
    return ""


def _counts_for(pod: Pod | None) -> str:
    return "" if pod is None else ready_in(pod)


def _plain(found: Mapping[str, Count]) -> dict[str, Any]:
    return {name: msgspec.structs.asdict(count) for name, count in found.items()}
