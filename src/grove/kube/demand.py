"""What a pod takes of its node, in exact integers: thousandths of CPUs, and whole bytes, devices and pods of all else.

As Kubernetes counts: containers and sidecars together, or the greatest that init containers need beside the sidecars
that run already; what the pod asks for as a whole takes the place of that sum; then what a sandbox costs.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Final, Protocol, TypeAlias

from grove.api import quantities
from grove.api.quantities import NANO
from grove.kube.objects import Quantities, Requirements

Amounts: TypeAlias = dict[str, int]

CPU: Final = "cpu"
MEMORY: Final = "memory"
HUGE_PAGES: Final = "hugepages-"
PODS: Final = "pods"


class HasRequests(Protocol):
    """A container as far as it takes something."""

    @property
    def resources(self) -> Requirements: ...
    @property
    def restart_policy(self) -> str: ...


class PodShape(Protocol):
    """A pod's spec as far as it takes something; each program decodes one of its own."""

    @property
    def containers(self) -> Sequence[HasRequests]: ...
    @property
    def init_containers(self) -> Sequence[HasRequests]: ...
    @property
    def resources(self) -> Requirements | None: ...
    @property
    def overhead(self) -> Quantities | None: ...


def of_pod(spec: PodShape) -> Amounts:
    """What the pod takes, without the one pod that it is."""
    total: Amounts = {}
    for container in spec.containers:
        _add(total, container.resources.requests)
    if spec.init_containers:
        _add_init(total, spec.init_containers)
    if spec.resources is not None and spec.resources.requests:
        total.update({name: _nano(text) for name, text in spec.resources.requests.items() if _is_of_pods(name)})
    _add(total, spec.overhead)
    return {name: _counted(name, amount) for name, amount in total.items()}


def amounts(written: Quantities) -> Amounts:
    """Quantities as numbers."""
    return {name: _counted(name, _nano(text)) for name, text in written.items()}


# Amounts below are in billionths: what is finer than is counted adds up before it is rounded. The API server has filled
# in requests where only limits were given.


def _add_init(total: Amounts, containers: Sequence[HasRequests]) -> None:
    """Sidecars stay; the others come one after the other, each beside the sidecars that run already."""
    sidecars: Amounts = {}
    peak: Amounts = {}
    for container in containers:
        beside = dict(sidecars)
        _add(beside, container.resources.requests)
        _raise(peak, beside)
        if container.restart_policy == "Always":
            sidecars = beside
            _add(total, container.resources.requests)
    _raise(total, peak)


def _counted(name: str, nano: int) -> int:
    return -(-nano // (NANO // 1000 if name == CPU else NANO))


# The same few texts come again and again: a node's kubelet adds up all its pods for each that comes.
_nano: Final = functools.lru_cache(maxsize=4096)(quantities.nano)


def _is_of_pods(name: str) -> bool:
    """Whether a pod can ask for it as a whole."""
    return name in (CPU, MEMORY) or name.startswith(HUGE_PAGES)


def _add(total: Amounts, more: Quantities | None) -> None:
    for name, text in (more or {}).items():
        total[name] = total.get(name, 0) + _nano(text)


def _raise(total: Amounts, least: Mapping[str, int]) -> None:
    for name, amount in least.items():
        total[name] = max(total.get(name, 0), amount)
