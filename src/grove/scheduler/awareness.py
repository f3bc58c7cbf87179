"""What nodes have that Kubernetes does not count, and pods that ask for it by annotations: network and GPUs. Pure.

The network bandwidth of a node follows from the label of its network tier and is counted like any other resource, in
bits a second; of two pods on a node each has its part. Memory and model of GPUs are properties of a node that a pod can
insist on (`predicates/gpus.py`): GPUs are given whole, so there is nothing to count.

    grove.io/network-bandwidth: 100G     what the pod uses of its node's network
    grove.io/gpu-memory: 80G             the least memory of each GPU of the node
    grove.io/gpu-model: NVIDIA-H100-80GB-HBM3, NVIDIA-H200

Called by `classes.py` and `cluster.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from grove.api import labels, quantities
from grove.api.kinds.schedulerconfig import Nodes

GIGA: Final = 10**9
MEBI: Final = 1 << 20


class Wishes(NamedTuple):
    """What the annotations of a pod ask for."""

    bandwidth: int = 0
    """Bits a second."""
    memory: int = 0
    """Bytes of each GPU, at least."""
    models: tuple[str, ...] = ()
    """One of these; empty: any."""
    fault: str = ""
    """What cannot be read: such a pod is not placed."""

    @property
    def amounts(self) -> dict[str, int]:
        """What is counted of it."""
        return {labels.NETWORK_BANDWIDTH: self.bandwidth}


class Awareness:
    """What the configuration says of nodes."""

    def __init__(self, nodes: Nodes | None = None) -> None:
        nodes = nodes or Nodes()
        self.memory_label: Final = nodes.gpu_memory_label
        self.model_label: Final = nodes.gpu_model_label
        self._tier_label: Final = nodes.network_tier_label
        self._bandwidths: Final = {tier: gigabits * GIGA for tier, gigabits in (nodes.network_tiers or {}).items()}

    def of_node(self, found: Mapping[str, str]) -> dict[str, int]:
        """What a node with these labels has beside what it says itself."""
        bandwidth = self._bandwidths.get(found.get(self._tier_label, ""), 0)
        return {labels.NETWORK_BANDWIDTH: bandwidth} if bandwidth else {}

    def wishes(self, annotations: Mapping[str, str]) -> Wishes | None:
        """What a pod with these annotations asks for; None: nothing."""
        bandwidth, memory, models = (
            annotations.get(key) for key in (labels.NETWORK_BANDWIDTH, labels.GPU_MEMORY, labels.GPU_MODEL)
        )
        if bandwidth is None and memory is None and models is None:
            return None
        faults: list[str] = []
        return Wishes(
            _amount(labels.NETWORK_BANDWIDTH, bandwidth, faults),
            _amount(labels.GPU_MEMORY, memory, faults),
            tuple(sorted({one.strip() for one in (models or "").split(",")} - {""})),
            "; ".join(faults),
        )

    def memory(self, label: str) -> int:
        """Bytes of each GPU of a node, by the value of its label, which is in MiB; 0: it says nothing of use."""
        return int(label) * MEBI if label.isdecimal() else 0


def _amount(key: str, text: str | None, faults: list[str]) -> int:
    if text is None:
        return 0
    try:
        found = quantities.whole(text.strip())
    except quantities.InvalidQuantity as error:
        faults.append(f"annotation {key}: {error}")
        return 0
    if found < 0:
        faults.append(f"annotation {key}: {text} is less than nothing: use 0 or more")
    return max(0, found)
