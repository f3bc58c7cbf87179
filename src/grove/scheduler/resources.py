"""What pods ask for and nodes have, as exact integers in rows. Pure.

Every resource has a row: CPU in thousandths, everything else in whole units (bytes, devices, pods). A request is a
sparse vector: the rows with an amount above zero, and always one of the row of pods.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple, TypeAlias

from grove.api import labels, quantities
from grove.kube import demand
from grove.kube.objects import Actual, Container, ContainerStatus, PodSpec, PodStatus, PodView, Quantities, Requirements

Amounts: TypeAlias = dict[str, int]
"""By resource name."""
Vector: TypeAlias = tuple[tuple[int, int], ...]
"""Row and amount, by row; amounts are above zero."""

CPU: Final = 0
MEMORY: Final = 1
PODS: Final = 2
STORAGE: Final = 3
NATIVE: Final = ("cpu", "memory", "pods", "ephemeral-storage")

LARGEST: Final = 2**62
"""More than this of anything is counted as this: no sum of two overflows a column."""
RESIZE_PENDING: Final = "PodResizePending"
INFEASIBLE: Final = "Infeasible"


class Resources:
    """Which resource has which row. Rows are given at first sight and never taken back.

    What is `ignored` is in no vector: somebody else counts it.
    """

    def __init__(self, ignored: Iterable[str] = ()) -> None:
        self.ignored: Final = frozenset(ignored)
        self.names: list[str] = list(NATIVE)
        self._rows: dict[str, int] = {name: row for row, name in enumerate(NATIVE)}

    def __len__(self) -> int:
        return len(self.names)

    def row(self, name: str) -> int:
        row = self._rows.get(name)
        if row is None:
            row = self._rows[name] = len(self.names)
            self.names.append(name)
        return row

    def vector(self, amounts: Mapping[str, int]) -> Vector:
        return tuple(
            sorted(
                (self.row(name), min(amount, LARGEST))
                for name, amount in amounts.items()
                if amount > 0 and name not in self.ignored
            )
        )


def is_device(name: str) -> bool:
    """Whether a resource is an extended one: GPUs, network cards, anything with a vendor's name."""
    return "/" in name and not name.startswith(("kubernetes.io/", labels.PREFIX))


def amounts(quantities_: Quantities | None) -> Amounts:
    """Quantities as they are counted here."""
    return {name: amount(name, text) for name, text in (quantities_ or {}).items()}


def amount(name: str, text: str | int) -> int:
    found = quantities.milli(text) if name == "cpu" else quantities.whole(text)
    return max(-LARGEST, min(LARGEST, found))


def requested(spec: PodSpec) -> Amounts:
    """What a pod that is to be placed asks of a node, one pod included.

    The API server has filled in the requests of containers that state only limits, and those of a pod as a whole.
    """
    return {**demand.of_pod(spec), "pods": 1}


def used(pod: PodView) -> Amounts:
    """What a pod takes of the node that it is on, until its object is gone or its phase is an end, one pod included.

    While a container is resized, it counts with the greatest of what it asks for, what its node has granted and what it
    has; when the node can never grant it, with the latter two. The same for what the pod asks for as a whole. What was
    granted is looked at only where the node says what the container has, as Kubernetes does.
    """
    return requested(pod.spec) if not is_resized(pod) else {**demand.of_pod(_effective(pod)), "pods": 1}


def is_resized(pod: PodView) -> bool:
    """Whether its node says that it has something else than it asks for; else it uses what its class requests."""
    status, whole = pod.status, pod.spec.resources
    if (
        whole is not None
        and status.resources is not None
        and _differs(whole.requests, status.resources, status.allocated_resources)
    ):
        return True
    statuses = _statuses(status)
    return any(
        _differs(one.resources.requests, known.resources, known.allocated_resources)
        for one in (*pod.spec.containers, *pod.spec.init_containers)
        if (known := statuses.get(one.name)) is not None and known.resources is not None
    )


def _differs(asked: Quantities | None, actual: Actual, granted: Quantities | None) -> bool:
    return (actual.requests or {}) != (asked or {}) or (granted is not None and granted != (asked or {}))


class _Taking(NamedTuple):
    """A container with what it takes in place of what it asks for."""

    resources: Requirements
    restart_policy: str


class _Shape(NamedTuple):
    """A pod with what it takes in place of what it asks for."""

    containers: tuple[_Taking, ...]
    init_containers: tuple[_Taking, ...]
    resources: Requirements | None
    overhead: Quantities | None


def _effective(pod: PodView) -> _Shape:
    spec, status = pod.spec, pod.status
    hopeless = any(one.type == RESIZE_PENDING and one.reason == INFEASIBLE for one in status.conditions)
    statuses = _statuses(status)

    def taking(container: Container, *, can_be_resized: bool = True) -> _Taking:
        asked, known = container.resources.requests, statuses.get(container.name)
        if can_be_resized and known is not None and known.resources is not None:
            asked = _greatest(None if hopeless else asked, known.resources.requests, known.allocated_resources)
        return _Taking(Requirements(requests=asked), container.restart_policy)

    whole = spec.resources
    if whole is not None and whole.requests and status.resources is not None:
        found = _greatest(None if hopeless else whole.requests, status.resources.requests, status.allocated_resources)
        whole = Requirements(requests={name: found.get(name, 0) for name in whole.requests})
    return _Shape(
        tuple(taking(one) for one in spec.containers),
        tuple(taking(one, can_be_resized=one.restart_policy == "Always") for one in spec.init_containers),
        whole,
        spec.overhead,
    )


def _statuses(status: PodStatus) -> dict[str, ContainerStatus]:
    return {one.name: one for one in (*status.container_statuses, *status.init_container_statuses)}


def _greatest(*stated: Quantities | None) -> Quantities:
    found: Quantities = {}
    for one in stated:
        for name, text in (one or {}).items():
            if name not in found or quantities.nano(text) > quantities.nano(found[name]):
                found[name] = text
    return found


def _add(total: Amounts, more: Mapping[str, int]) -> None:
    for name, found in more.items():
        total[name] = total.get(name, 0) + found


def total(found: Iterable[Mapping[str, int]]) -> Amounts:
    """The sum by resource."""
    result: Amounts = {}
    for one in found:
        _add(result, one)
    return result
