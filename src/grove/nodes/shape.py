"""The nodes that a fleet consists of: names, labels, capacity and addresses, from what a user asks for. Pure."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from grove.api import grammar, quantities
from grove.kube.objects import Quantities, Taint
from grove.nodes import marks, topology
from grove.nodes.topology import Level
from grove.nodes.unusable import Unusable

ARCHITECTURE: Final = "amd64"
OPERATING_SYSTEM: Final = "linux"
EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
FEWEST_DIGITS: Final = 3
GPU_LABELS: Final = "nvidia.com/gpu"
_TYPE: Final = "simulated-{}-x{}"


class Accelerator(msgspec.Struct, frozen=True):
    """What the GPUs of a node are."""

    model: str
    product: str
    memory: int | None
    """MiB; None: not known."""


MODELS: Final[Mapping[str, tuple[str, int]]] = {
    "t4": ("Tesla-T4", 15360),
    "v100": ("Tesla-V100-SXM2-32GB", 32768),
    "a10": ("NVIDIA-A10", 23028),
    "a100": ("NVIDIA-A100-SXM4-80GB", 81920),
    "l4": ("NVIDIA-L4", 23034),
    "l40s": ("NVIDIA-L40S", 46068),
    "h100": ("NVIDIA-H100-80GB-HBM3", 81559),
    "h200": ("NVIDIA-H200", 143771),
    "b200": ("NVIDIA-B200", 183359),
    "gb200": ("NVIDIA-GB200", 189471),
}
"""What the GPU operator's labels say of a model: product and memory in MiB."""


class Ranges(msgspec.Struct, frozen=True):
    """The addresses of nodes and of their pods, which nothing routes."""

    nodes: str = "198.18.0.0/15"
    """Set apart for benchmarks (RFC 2544): no real host is meant by it."""
    pods: str = "10.128.0.0/9"
    prefix: int = 24
    """How much of `pods` a node has."""

    @property
    def size(self) -> int:
        """How many nodes have room."""
        pods, nodes = ipaddress.ip_network(self.pods), ipaddress.ip_network(self.nodes)
        return min(1 << max(0, self.prefix - pods.prefixlen), nodes.num_addresses - 2)

    def of_node(self, number: int) -> str:
        return str(ipaddress.ip_network(self.nodes)[number + 1])

    def of_pods(self, number: int) -> str:
        pods = ipaddress.ip_network(self.pods)
        step = 2 ** (pods.max_prefixlen - self.prefix)
        return f"{pods[number * step]}/{self.prefix}"

    def number(self, address: str) -> int | None:
        """The number of the node that has an address; None if it is not one of these."""
        one, nodes = ipaddress.ip_address(address), ipaddress.ip_network(self.nodes)
        return int(one) - int(nodes.network_address) - 1 if one in nodes else None


class Shape(msgspec.Struct, frozen=True, kw_only=True):
    """What a user asks for, in order."""

    fleet: str = "default"
    prefix: str = "fake-node"
    count: int = 1
    levels: tuple[Level, ...] = ()
    resources: Quantities
    gpus: int = 0
    accelerator: Accelerator | None = None
    taints: tuple[Taint, ...] = ()
    labels: Mapping[str, str] = {}
    ranges: Ranges = Ranges()


class NodePlan(msgspec.Struct, frozen=True, kw_only=True):
    """One node as it is to be."""

    name: str
    number: int
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    resources: Quantities
    address: str
    pods: str
    """The range of its pods' addresses."""


def nodes(shape: Shape) -> tuple[NodePlan, ...]:
    """The nodes of a shape. Raises Unusable where there is no such fleet."""
    _check(shape)
    digits = max(FEWEST_DIGITS, len(str(shape.count)))
    common = {
        "kubernetes.io/arch": ARCHITECTURE,
        "kubernetes.io/os": OPERATING_SYSTEM,
        "node.kubernetes.io/instance-type": _instance_type(shape),
        marks.FLEET: shape.fleet,
        **_gpu_labels(shape),
        **shape.labels,
    }
    made = []
    for number in range(shape.count):
        name = f"{shape.prefix}-{number + 1:0{digits}d}"
        place = topology.labels(shape.levels, number, shape.count)
        made.append(
            NodePlan(
                name=name,
                number=number,
                labels={topology.HOST_KEY: name, **common, **place},
                taints=shape.taints,
                resources=shape.resources,
                address=shape.ranges.of_node(number),
                pods=shape.ranges.of_pods(number),
            )
        )
    return tuple(made)


def summary(shape: Shape) -> str:
    """`40 nodes ready: 2 zones, 4 blocks, 20 racks, 320 GPUs (h100)`: what is there, for people."""
    counts = topology.sizes(shape.levels)
    parts = [_counted(count, level.word) for level, count in zip(shape.levels, counts, strict=True)]
    if shape.gpus:
        model = f" ({shape.accelerator.model})" if shape.accelerator else ""
        parts.append(f"{_counted(shape.gpus * shape.count, 'GPU')}{model}")
    return f"{_counted(shape.count, 'node')} ready" + (f": {', '.join(parts)}" if parts else "")


# What is written on the command line


def accelerator(model: str, memory: str) -> Accelerator | None:
    """What --gpu-model and --gpu-memory say."""
    if not model and not memory:
        return None
    if (fault := grammar.label_value(_TYPE.format(model, 2**16))) is not None:
        raise Unusable("--gpu-model", model, fault.detail, f"use one of {', '.join(MODELS)}, or a name of your own")
    product, known = MODELS.get(model.lower(), (model, None))
    mebibytes = quantity("--gpu-memory", memory) // 2**20 if memory else known
    return Accelerator(model, product, mebibytes)


def quantity(option: str, text: str) -> int:
    """A quantity in whole units."""
    try:
        value = quantities.whole(text)
    except quantities.InvalidQuantity as error:
        raise Unusable(option, text, "is not a quantity", "write a number as in 500m, 2 or 4Gi") from error
    if value < 0:
        raise Unusable(option, text, "is negative", "write 0 or more")
    return value


def resources(texts: Sequence[str]) -> Quantities:
    """Amounts by name, as written after --resource: `example.com/nic=4`."""
    found: Quantities = {}
    for text in texts:
        name, _, amount = text.partition("=")
        if not amount or (fault := grammar.qualified(name)) is not None:
            detail, remedy = ("is not NAME=QUANTITY", "write example.com/nic=4") if not amount else fault  # type: ignore[misc]
            raise Unusable("--resource", text, detail, remedy)
        quantity("--resource", amount)
        found[name] = amount
    return found


def labels(texts: Sequence[str]) -> dict[str, str]:
    """Labels, as written after --label: `team=blue`."""
    found = {}
    for text in texts:
        key, is_pair, value = text.partition("=")
        fault = grammar.qualified(key) or grammar.label_value(value)
        if not is_pair or fault is not None:
            detail, remedy = fault or ("is not KEY=VALUE", "write team=blue")
            raise Unusable("--label", text, detail, remedy)
        found[key] = value
    return found


def taint(text: str) -> Taint:
    """A taint, as written after --taint and by kubectl: `fake-node=true:NoSchedule`."""
    rest, _, effect = text.rpartition(":")
    key, _, value = rest.partition("=")
    if effect not in EFFECTS or not key:
        raise Unusable("--taint", text, "is no taint", f"write KEY=VALUE:EFFECT with one of {', '.join(EFFECTS)}")
    if (fault := grammar.qualified(key) or grammar.label_value(value)) is not None:
        raise Unusable("--taint", text, fault.detail, fault.remedy)
    return Taint(key=key, value=value, effect=effect)


def ranges(nodes: str, pods: str, pods_per_node: int) -> Ranges:
    """The addresses of --node-cidr and --pod-cidr, in parts of which as many pods have room as a node takes."""
    for option, text in (("--node-cidr", nodes), ("--pod-cidr", pods)):
        try:
            ipaddress.ip_network(text)
        except ValueError as error:
            raise Unusable(option, text, str(error), "write a range as in 10.128.0.0/9") from error
    longest = ipaddress.ip_network(pods).max_prefixlen
    usual = 24 if longest == 32 else 120
    return Ranges(nodes, pods, min(usual, longest - (pods_per_node + 1).bit_length()))


def _check(shape: Shape) -> None:
    if shape.count < 1:
        raise Unusable("--count", str(shape.count), "a fleet has nodes", "write 1 or more")
    if (fault := grammar.label_value(shape.fleet)) is not None or not shape.fleet:
        raise Unusable("--fleet", shape.fleet, fault.detail if fault else "is empty", "use a name such as default")
    longest = f"{shape.prefix}-{shape.count:0{FEWEST_DIGITS}d}"
    if (fault := grammar.label(longest)) is not None:  # not a subdomain: the name is the value of a label too
        raise Unusable("--name", shape.prefix, fault.detail, fault.remedy)
    if shape.count > shape.ranges.size:
        room = f"{shape.ranges.pods} and {shape.ranges.nodes} have room for {shape.ranges.size} nodes"
        raise Unusable("--count", str(shape.count), room, "use fewer nodes or pods a node, or a larger --pod-cidr")
    topology.check(shape.levels, shape.count)


def _gpu_labels(shape: Shape) -> dict[str, str]:
    if not shape.gpus:
        return {}
    found = {f"{GPU_LABELS}.count": str(shape.gpus), f"{GPU_LABELS}.present": "true"}
    if shape.accelerator is not None:
        found[f"{GPU_LABELS}.product"] = shape.accelerator.product
        if shape.accelerator.memory is not None:
            found[f"{GPU_LABELS}.memory"] = str(shape.accelerator.memory)
    return found


def _instance_type(shape: Shape) -> str:
    if not shape.gpus:
        return "simulated"
    return _TYPE.format(shape.accelerator.model if shape.accelerator else "gpu", shape.gpus)


def _counted(count: int, word: str) -> str:
    if count == 1:
        return f"1 {word}"
    for ending, more in (("y", "ies"), ("ss", "sses"), ("ch", "ches"), ("sh", "shes"), ("x", "xes")):
        if word.endswith(ending) and not word.endswith(("ay", "ey", "oy", "uy")):
            return f"{count} {word.removesuffix(ending)}{more}"
    return f"{count} {word}s"
