"""The addresses of pods: of each node's range the lowest that is free."""

from __future__ import annotations

import functools
import ipaddress
import socket
from collections.abc import Collection
from typing import NamedTuple


class Range(NamedTuple):
    """The addresses of a network, as numbers."""

    first: int
    size: int
    version: int

    def text(self, number: int) -> str:
        if self.version == 4:
            return socket.inet_ntoa((self.first + number).to_bytes(4, "big"))
        return socket.inet_ntop(socket.AF_INET6, (self.first + number).to_bytes(16, "big"))


def lowest_free(cidr: str, taken: Collection[str]) -> str:
    """An address of the range, the first of which is the node's own; empty if there is no range or none is left."""
    if not cidr:
        return ""
    addresses = _range(cidr)
    # Of one more addresses than are taken, one is free.
    last = min(len(taken) + 1, addresses.size - 1)
    return next((text for number in range(1, last + 1) if (text := addresses.text(number)) not in taken), "")


@functools.lru_cache(maxsize=8192)
def _range(cidr: str) -> Range:
    network = ipaddress.ip_network(cidr, strict=False)
    return Range(int(network.network_address), network.num_addresses, network.version)
