"""Keeps the history of an engine that runs, so that an incident can be looked at later with `grove replay`.

    mind = Recording(engine, configuration, Journal(path, limit=…), now=clock.wall)

Every file can be read by itself: one that follows another begins with a snapshot. There are two at most, the one that
is written and the one before it, `FILE.1`. Where a file cannot be written, recording ends and the scheduler goes on.
"""

from __future__ import annotations

import gzip
import logging
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import BinaryIO, Final

from grove.api.kinds.podgang import PodGang
from grove.api.kinds.queue import Queue
from grove.api.kinds.schedulerconfig import SchedulerConfiguration
from grove.api.kinds.topology import ClusterTopologyBinding
from grove.kube.objects import NodeView, PodView
from grove.kube.resources import Resource
from grove.scheduler import lines
from grove.scheduler.engine import Engine
from grove.scheduler.lines import Became, Line, Told
from grove.scheduler.outcomes import BindFailure
from grove.scheduler.queues import Queues
from grove.scheduler.snapshot import snapshot
from grove.scheduler.statistics import EngineStatistics
from grove.scheduler.surroundings import Surrounding, Surroundings
from grove.scheduler.verdicts import Bind, Decision
from grove.scheduler.views import BudgetView, NamespaceView, PriorityClassView

log = logging.getLogger(__name__)

_LEVEL: Final = 1
"""Of the compression: it happens while the engine waits."""


class Journal:
    """A file of lines that are compressed, and the one before it."""

    def __init__(self, path: Path, *, limit: int) -> None:
        """`limit`: bytes that both files may take."""
        self._path: Final = path
        self._limit: Final = limit // 2
        self._raw: BinaryIO | None = None
        self._file: gzip.GzipFile | None = None
        self.failed = False

    @property
    def is_full(self) -> bool:
        """Whether another file is to be begun."""
        return self._raw is not None and self._raw.tell() >= self._limit

    def begin(self, lines: Iterable[Line]) -> None:
        """A new file; the one that is there becomes the one before it."""
        self.close()
        try:
            if self._path.exists():
                self._path.replace(self._path.with_name(f"{self._path.name}.1"))
            self._raw = self._path.open("wb")
            self._file = gzip.GzipFile(fileobj=self._raw, mode="wb", compresslevel=_LEVEL)
        except OSError as error:
            self._fail(error)
            return
        for line in lines:
            self.write(line)
        self.flush()

    def write(self, line: Line) -> None:
        if self._file is None:
            return
        try:
            self._file.write(lines.encode(line) + b"\n")
        except OSError as error:
            self._fail(error)

    def flush(self) -> None:
        """What was written can be read from now on, also if the process dies."""
        if self._file is None:
            return
        try:
            self._file.flush()  # of all that was compressed
        except OSError as error:
            self._fail(error)

    def close(self) -> None:
        file, raw, self._file, self._raw = self._file, self._raw, None, None
        try:
            for one in (file, raw):
                if one is not None:
                    one.close()
        except OSError as error:
            self._fail(error)

    def _fail(self, error: OSError) -> None:
        self._file, self._raw, self.failed = None, None, True
        log.error("history is not recorded any more", extra={"file": str(self._path), "problem": str(error)})


class Recording:
    """An engine of which everything it is told and asked is written down."""

    def __init__(self, engine: Engine, configuration: SchedulerConfiguration, journal: Journal, *, at: float) -> None:
        self.engine: Final = engine
        self._configuration: Final = configuration
        self._journal: Final = journal
        journal.begin([lines.start(configuration, at)])

    @property
    def surroundings(self) -> Surroundings:
        return self.engine.surroundings

    @property
    def queues(self) -> Queues:
        return self.engine.queues

    def statistics(self) -> EngineStatistics:
        return self.engine.statistics()

    def close(self) -> None:
        """Nothing is recorded any more."""
        self._journal.close()

    def _told(self, kind: str, view: object, *, gone: bool = False) -> None:
        self._journal.write(Told(kind, view, gone))

    def node(self, view: NodeView) -> None:
        self._told("node", view)
        self.engine.node(view)

    def node_gone(self, name: str) -> None:
        self._journal.write(lines.node_gone(name))
        self.engine.node_gone(name)

    def pod(self, view: PodView) -> None:
        self._told("pod", view)
        self.engine.pod(view)

    def pod_gone(self, view: PodView) -> None:
        self._told("pod", view, gone=True)
        self.engine.pod_gone(view)

    def gang(self, view: PodGang) -> None:
        self._told("gang", view)
        self.engine.gang(view)

    def gang_gone(self, view: PodGang) -> None:
        self._told("gang", view, gone=True)
        self.engine.gang_gone(view)

    def topology(self, view: ClusterTopologyBinding) -> None:
        self._told("topology", view)
        self.engine.topology(view)

    def topology_gone(self, view: ClusterTopologyBinding) -> None:
        self._told("topology", view, gone=True)
        self.engine.topology_gone(view)

    def queue(self, view: Queue) -> None:
        self._told("queue", view)
        self.engine.queue(view)

    def queue_gone(self, view: Queue) -> None:
        self._told("queue", view, gone=True)
        self.engine.queue_gone(view)

    def priority_class(self, view: PriorityClassView) -> None:
        self._told("priority_class", view)
        self.engine.priority_class(view)

    def priority_class_gone(self, view: PriorityClassView) -> None:
        self._told("priority_class", view, gone=True)
        self.engine.priority_class_gone(view)

    def budget(self, view: BudgetView) -> None:
        self._told("budget", view)
        self.engine.budget(view)

    def budget_gone(self, view: BudgetView) -> None:
        self._told("budget", view, gone=True)
        self.engine.budget_gone(view)

    def namespace(self, view: NamespaceView) -> None:
        self._told("namespace", view)
        self.engine.namespace(view)

    def namespace_gone(self, view: NamespaceView) -> None:
        self._told("namespace", view, gone=True)
        self.engine.namespace_gone(view)

    def surrounding(self, resource: Resource, view: Surrounding) -> None:
        self._told(resource.name, view)
        self.engine.surrounding(resource, view)

    def surrounding_gone(self, resource: Resource, view: Surrounding) -> None:
        self._told(resource.name, view, gone=True)
        self.engine.surrounding_gone(resource, view)

    def bound(self, uid: str) -> None:
        self._journal.write(Became("bound", uid))
        self.engine.bound(uid)

    def bind_failed(self, uid: str, why: BindFailure) -> None:
        self._journal.write(Became("bind_failed", uid, why.reason, why.message))
        self.engine.bind_failed(uid, why)

    def evicted(self, uid: str) -> None:
        self._journal.write(Became("evicted", uid))
        self.engine.evicted(uid)

    def evict_failed(self, uid: str, why: str) -> None:
        self._journal.write(Became("evict_failed", uid, message=why))
        self.engine.evict_failed(uid, why)

    def rejected(self, view: PodView) -> None:
        self._journal.write(lines.Refused(view))
        self.engine.rejected(view)

    def resume(self, gang: str, puts: Sequence[tuple[str, str]]) -> Bind | None:
        self._journal.write(lines.Resumed(gang, tuple(puts)))
        return self.engine.resume(gang, puts)

    def unfit(self, uids: Collection[str]) -> Collection[str]:
        return self.engine.unfit(uids)

    def decide(self, now: float, *, limit: int) -> list[Decision]:
        found = self.engine.decide(now, limit=limit)
        self._journal.write(lines.Decided(now, limit, lines.choices(found)))
        if self._journal.is_full:
            self._journal.begin(snapshot(self.engine, self._configuration, now))
        elif found:
            self._journal.flush()
        return found

    def next_wake(self, now: float) -> float | None:
        return self.engine.next_wake(now)
