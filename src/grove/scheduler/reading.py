"""Reads a cluster once into an engine, with whatever rights the user has; nothing is written. Do.

    engine = await reading.read(client, configuration, now=…)

`grove why` and `grove plan` decide with it what the scheduler would decide. What the cluster does not have (queues,
topologies, claims to devices) there is nothing of; what may not be read is an error that names the right.
"""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import Collection, Sequence
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from grove.api.conditions import moment
from grove.api.kinds.podgang import PodGang
from grove.api.kinds.processconfig import LeaderElection
from grove.api.kinds.queue import Queue
from grove.api.kinds.schedulerconfig import SchedulerConfiguration
from grove.api.kinds.topology import ClusterTopologyBinding
from grove.kube.errors import Forbidden, KubeError, NotFound
from grove.kube.leaserecord import LeaseRecord
from grove.kube.objects import NodeView, PodView
from grove.kube.reader import Reader
from grove.kube.resources import (
    DISRUPTION_BUDGETS,
    LEASES,
    NAMESPACES,
    NODES,
    PODS,
    PRIORITY_CLASSES,
    RESOURCE_CLAIMS,
    Resource,
)
from grove.scheduler import assembly, history, record
from grove.scheduler.engine import Engine
from grove.scheduler.kinds import DECISION, POD_GANGS, QUEUES, TOPOLOGY_BINDINGS
from grove.scheduler.lines import Told
from grove.scheduler.surroundings import VIEWS
from grove.scheduler.views import BudgetView, NamespaceView, PriorityClassView
from grove.scheduler.world import NOT_ENDED, key_of

_SERVER_HELP: Final = "check that the cluster runs, and which one is meant: --kubeconfig, --context"


class CannotRead(Exception):
    """Something of the cluster cannot be read; `remedy` is what to do."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.remedy = remedy


class _Kind(NamedTuple):
    resource: Resource
    name: str
    """As histories call it."""
    type: Any
    may_lack: bool = False
    """Whether a cluster may not have the kind at all."""


_KINDS: Final = (
    _Kind(NODES, "node", NodeView),
    _Kind(TOPOLOGY_BINDINGS, "topology", ClusterTopologyBinding, may_lack=True),
    _Kind(QUEUES, "queue", Queue, may_lack=True),
    _Kind(PRIORITY_CLASSES, "priority_class", PriorityClassView),
    _Kind(DISRUPTION_BUDGETS, "budget", BudgetView),
    _Kind(NAMESPACES, "namespace", NamespaceView),
    *(_Kind(one, one.name, view, may_lack=one.group == RESOURCE_CLAIMS.group) for one, view in VIEWS.items()),
    _Kind(PODS, "pod", PodView),
    _Kind(POD_GANGS, "gang", PodGang),
)
"""In the order in which an engine is told."""


async def read(
    client: Reader, configuration: SchedulerConfiguration, *, now: datetime.datetime, nodes: Collection[str] = ()
) -> Engine:
    """An engine that knows the cluster as it is; with `nodes`, as if it had only these. Raises CannotRead."""
    found = await asyncio.gather(*(_list(client, kind) for kind in _KINDS))
    engine = assembly.engine(configuration)
    for kind, listed in zip(_KINDS, found, strict=True):
        if isinstance(listed, CannotRead):
            raise listed
        for view in listed:
            if kind.resource is NODES and nodes and view.metadata.name not in nodes:
                continue
            history.tell(engine, Told(kind.name, view))
    missing = sorted(set(nodes) - engine.cluster.slot_of.keys())
    if missing:
        raise CannotRead(f"there is no node {missing[0]}", "name nodes as kubectl get nodes does")
    _resume(engine, now)
    return engine


async def _list(client: Reader, kind: _Kind) -> Sequence[Any] | CannotRead:
    """Errors are given, not raised: all lists end before anything is said of one."""
    resource = kind.resource
    try:
        return (await client.list_all(resource, fields=NOT_ENDED if resource is PODS else "", type=kind.type)).items
    except NotFound:
        if kind.may_lack:
            return ()
        return CannotRead(f"the cluster does not know {resource.kind}s", "run grove crds apply as an administrator")
    except Forbidden as error:
        group = f" in {resource.group}" if resource.group else ""
        return CannotRead(str(error), f"ask for the right to list {resource.plural}{group} in the whole cluster")
    except KubeError as error:
        return CannotRead(str(error), _SERVER_HELP)


def _resume(engine: Engine, now: datetime.datetime) -> None:
    """What a scheduler is in the midst of carrying out counts as done."""
    for view in sorted(engine.registry.gangs.values(), key=lambda one: key_of(one.metadata)):
        found = record.read((view.metadata.annotations or {}).get(DECISION))
        targets = [] if found is None else record.unfinished(found, engine.registry.pod, now)
        if targets:
            engine.resume(key_of(view.metadata), [(one.uid, one.node) for one in targets])


# Who decides


Standing: TypeAlias = Literal["leads", "expired", "free", "missing", "unknown"]
"""`free`: nobody holds the lease. `unknown`: leases may not be read, or nobody is elected."""


class Leader(NamedTuple):
    """Whether somebody runs the scheduler, as its lease tells."""

    standing: Standing
    lease: str
    """`namespace/name`, or the name alone where there is none."""
    holder: str = ""
    renewed: str = ""

    def sentence(self) -> str:
        """Empty where all is well, or nothing is known."""
        match self.standing:
            case "missing":
                return f"nobody seems to run the scheduler: there is no lease {self.lease}"
            case "free":
                return f"nobody runs the scheduler now: the lease {self.lease} was given back at {self.renewed}"
            case "expired":
                held = f"{self.holder} has not renewed the lease {self.lease} since {self.renewed}"
                return f"nobody seems to run the scheduler: {held}"
        return ""


async def leader(client: Reader, election: LeaderElection, now: datetime.datetime) -> Leader:
    """Of the leases of this name the one that was renewed last: in which namespace the scheduler runs is not known."""
    name, namespace = election.resource_name, election.resource_namespace
    if not election.enabled:
        return Leader("unknown", name)
    try:
        found = (await client.list(LEASES, namespace=namespace, fields=f"metadata.name={name}")).items
    except KubeError:
        return Leader("unknown", name)
    records = [(LeaseRecord.of(one), f"{one['metadata']['namespace']}/{name}") for one in found]
    if not records:
        return Leader("missing", name)
    held, where = max(records, key=lambda one: one[0].renewed)
    if not held.holder:
        return Leader("free", where, renewed=held.renewed)
    end = moment(held.renewed) + datetime.timedelta(seconds=held.duration or 0) if held.renewed else now
    return Leader("leads" if now <= end + _SLACK else "expired", where, held.holder, held.renewed)


_SLACK: Final = datetime.timedelta(seconds=5)
"""Clocks differ."""
