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
        _add(total, _requested(container.resources))
    sidecars: Amounts = {}
    peak: Amounts = {}
    for container in spec.init_containers:
        asked = _requested(container.resources)
        if container.restart_policy == "Always":
            _add(sidecars, asked)
            _raise(peak, sidecars)
        else:
            _raise(peak, {name: sidecars.get(name, 0) + asked.get(name, 0) for name in {*sidecars, *asked}})
    _add(total, sidecars)
    _raise(total, peak)
    if spec.resources is not None:
        total.update({name: amount for name, amount in _requested(spec.resources).items() if _is_of_pods(name)})
    _add(total, _exact(spec.overhead))
    return {name: _counted(name, amount) for name, amount in total.items()}


def amounts(written: Quantities) -> Amounts:
    """Quantities as numbers."""
    return {name: _counted(name, amount) for name, amount in _exact(written).items()}


def _requested(resources: Requirements) -> Amounts:
    # The API server has filled in requests where only limits were given.
    return _exact(resources.requests)


def _exact(written: Quantities | None) -> Amounts:
    """In billionths: what is finer than is counted adds up before it is rounded."""
    return {name: _nano(text) for name, text in written.items()} if written else {}


def _counted(name: str, nano: int) -> int:
    unit = NANO // 1000 if name == CPU else NANO
    return -(-nano // unit)


# The same few texts come again and again: a node's kubelet adds up all its pods for each that comes.
_nano: Final = functools.lru_cache(maxsize=4096)(quantities.nano)


def _is_of_pods(name: str) -> bool:
    """Whether a pod can ask for it as a whole."""
    return name in (CPU, MEMORY) or name.startswith(HUGE_PAGES)


def _add(total: Amounts, more: Mapping[str, int]) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, 0) + amount


def _raise(total: Amounts, least: Mapping[str, int]) -> None:
    for name, amount in least.items():
        total[name] = max(total.get(name, 0), amount)
