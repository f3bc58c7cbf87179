"""The pods of a gang, as an API server would list them and tell of them; and a log that can be read."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from typing import Any, Literal

from grove.initc.pods import READY, Labels, Metadata, Pod, Status
from grove.kube.decoding import Bookmark, Event, Page
from grove.kube.errors import Gone, KubeError, Unreachable
from grove.runtime import logs

Told = Event[Pod] | Bookmark | KubeError | None


class Pods:
    """The source of a waiter's cache: pods in memory, with all that has happened to them."""

    def __init__(self) -> None:
        self.revision = 1
        self.compacted = 0
        self.held: dict[str, Pod] = {}
        self.history: list[tuple[int, Event[Pod]]] = []
        self.refusal: KubeError | None = None
        """While it is set, every list and every watch fails with it."""
        self.asked: list[str] = []
        self._open: list[asyncio.Queue[Told]] = []

    # What happens to the pods

    def put(self, name: str, clique: str, *, ready: bool = True, leaving: bool = False) -> None:
        """The pod is created, or changed."""
        before = self.held.get(name)
        self._happen("ADDED" if before is None else "MODIFIED", name, clique, ready, leaving)

    def remove(self, name: str) -> None:
        self._happen("DELETED", name, self.held[name].metadata.labels.pod_clique, True, True)

    def _happen(
        self, kind: Literal["ADDED", "MODIFIED", "DELETED"], name: str, clique: str, ready: bool, leaving: bool
    ) -> None:
        self.revision += 1
        metadata = Metadata(
            name=name,
            namespace="ns",
            uid=f"uid-{name}",
            resource_version=str(self.revision),
            deletion_timestamp="2030-01-01T00:00:00Z" if leaving else None,
            labels=Labels(clique),
        )
        pod = Pod(metadata, Status((READY,) if ready else ()))
        if kind == "DELETED":
            del self.held[name]
        else:
            self.held[name] = pod
        self.history.append((self.revision, Event(kind, pod)))
        self._tell(Event(kind, pod))

    # What happens to the watches

    @property
    def watches(self) -> int:
        return len(self._open)

    def cut(self, error: KubeError | None = None) -> None:
        """Ends all watches."""
        self._tell(error)
        self._open.clear()

    def compact(self) -> None:
        """Forgets what has happened so far."""
        self.compacted = self.revision

    def _tell(self, told: Told) -> None:
        for one in self._open:
            one.put_nowait(told)

    # A source

    async def pages(self) -> AsyncGenerator[Page[Pod], None]:
        self.asked.append("list")
        self._refuse()
        yield Page([*self.held.values()], str(self.revision))

    async def watch(self, revision: str, *, initial_events: bool) -> AsyncGenerator[Event[Pod] | Bookmark, None]:
        self.asked.append("stream" if initial_events else "watch")
        self._refuse()
        told: asyncio.Queue[Told] = asyncio.Queue()
        if initial_events:
            for pod in self.held.values():
                told.put_nowait(Event("ADDED", pod))
            told.put_nowait(Bookmark(str(self.revision), initial_events_end=True))
        elif int(revision) < self.compacted:
            raise Gone(f"too old resource version: {revision}", code=410, reason="Expired")
        else:
            for at, event in self.history:
                if at > int(revision):
                    told.put_nowait(event)
        self._open.append(told)
        try:
            while (item := await told.get()) is not None:
                if isinstance(item, KubeError):
                    raise item
                yield item
        finally:
            if told in self._open:
                self._open.remove(told)

    def _refuse(self) -> None:
        if self.refusal is not None:
            raise self.refusal


def lost() -> Unreachable:
    return Unreachable("connection reset", may_have_acted=False)


class Log(logging.Logger):
    """Keeps what is logged: level, event and fields."""

    def __init__(self) -> None:
        super().__init__("initc-test", logging.INFO)
        self.lines: list[tuple[str, str, dict[str, Any]]] = []

    def handle(self, record: logging.LogRecord) -> None:
        self.lines.append((record.levelname, record.getMessage(), dict(logs.fields(record))))

    def of(self, event: str) -> list[dict[str, Any]]:
        """The fields of every line with this event."""
        return [fields for _, said, fields in self.lines if said == event]
