"""The ports of its node that a pod takes. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple, Protocol

from grove.kube.objects import ContainerPort

ANY_ADDRESS: Final = "0.0.0.0"  # noqa: S104 - nothing is bound to it here


class HasPorts(Protocol):
    """A container as far as it listens."""

    @property
    def ports(self) -> Sequence[ContainerPort]: ...
    @property
    def restart_policy(self) -> str: ...


class Listening(Protocol):
    """A pod's spec as far as it listens; each program decodes one of its own."""

    @property
    def containers(self) -> Sequence[HasPorts]: ...
    @property
    def init_containers(self) -> Sequence[HasPorts]: ...


class HostPort(NamedTuple):
    """A port of a node, at one of its addresses or at all."""

    address: str
    protocol: str
    number: int

    def is_in_the_way_of(self, other: HostPort) -> bool:
        is_one_place = self.address == other.address or ANY_ADDRESS in (self.address, other.address)
        return is_one_place and self[1:] == other[1:]


def host_ports(spec: Listening) -> list[HostPort]:
    """Those of containers that run as long as the pod does: sidecars, and then the others.

    Those of a pod in the host's network are ports of the node too: the API server has written them down as such.
    """
    sidecars = [one for one in spec.init_containers if one.restart_policy == "Always"]
    return [
        HostPort(port.host_ip or ANY_ADDRESS, port.protocol, port.host_port)
        for one in (*sidecars, *spec.containers)
        for port in one.ports
        if port.host_port > 0
    ]
