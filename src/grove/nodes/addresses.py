"""The addresses of pods: of each node's range the lowest that is free."""

from __future__ import annotations

import ipaddress
from collections.abc import Collection


def lowest_free(cidr: str, taken: Collection[str]) -> str:
    """An address of the range, the first of which is the node's own; empty if there is no range or none is left."""
    if not cidr:
        return ""
    network = ipaddress.ip_network(cidr, strict=False)
    return next((text for number in range(1, network.num_addresses) if (text := str(network[number])) not in taken), "")
