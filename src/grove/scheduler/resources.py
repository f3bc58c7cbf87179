"""What pods ask for and nodes have, as exact integers in rows. Pure.

Every resource has a row: CPU in thousandths, everything else in whole units (bytes, devices, pods). A request is a
sparse vector: the rows with an amount above zero, and always one of the row of pods.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias

from grove.api import quantities
from grove.kube.objects import Container, PodSpec, Quantities, Requirements

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
POD_LEVEL: Final = ("cpu", "memory")
HUGE_PAGES: Final = "hugepages-"


class Resources:
    """Which resource has which row. Rows are given at first sight and never taken back."""

    def __init__(self) -> None:
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
        return tuple(sorted((self.row(name), amount) for name, amount in amounts.items() if amount > 0))


def is_device(name: str) -> bool:
    """Whether a resource is an extended one: GPUs, network cards, anything with a vendor's name."""
    return "/" in name and not name.startswith("kubernetes.io/")


def amounts(quantities_: Quantities | None) -> Amounts:
    """Quantities as they are counted here."""
    return {name: amount(name, text) for name, text in (quantities_ or {}).items()}


def amount(name: str, text: str | int) -> int:
    found = quantities.milli(text) if name == "cpu" else quantities.whole(text)
    return max(-LARGEST, min(LARGEST, found))


def requested(spec: PodSpec) -> Amounts:
    """What a pod that is to be placed asks of a node, one pod included.

    The containers together, or the hungriest moment while the init containers run in turn beside the sidecars that
    started before them; then what is stated for the whole pod in place of it; then the overhead.
    """
    running: Amounts = {}
    for container in spec.containers:
        _add(running, _requests(container))
    sidecars: Amounts = {}
    most: Amounts = {}
    for container in spec.init_containers:
        asked = _requests(container)
        if container.restart_policy == "Always":
            _add(running, asked)
            _add(sidecars, asked)
            _raise(most, sidecars)
        else:
            moment = dict(sidecars)
            _add(moment, asked)
            _raise(most, moment)
    _raise(running, most)
    if spec.resources is not None:
        running.update(
            (name, found)
            for name, found in amounts(spec.resources.requests).items()
            if name in POD_LEVEL or name.startswith(HUGE_PAGES)
        )
    _add(running, amounts(spec.overhead))
    running["pods"] = 1
    return running


def _requests(container: Container) -> Amounts:
    return amounts(_stated(container.resources))


def _stated(resources: Requirements) -> Quantities | None:
    return resources.requests


def _add(total: Amounts, more: Mapping[str, int]) -> None:
    for name, found in more.items():
        total[name] = total.get(name, 0) + found


def _raise(total: Amounts, least: Mapping[str, int]) -> None:
    for name, found in least.items():
        total[name] = max(total.get(name, 0), found)


def total(found: Iterable[Mapping[str, int]]) -> Amounts:
    """The sum by resource."""
    result: Amounts = {}
    for one in found:
        _add(result, one)
    return result
