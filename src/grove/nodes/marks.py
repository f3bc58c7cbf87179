"""The labels and annotations by which simulated nodes are known and told what to do."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias, get_args

DOMAIN: Final = "simulate.grove.io"

FLEET: Final = f"{DOMAIN}/fleet"
"""Label of a node: which `grove nodes` process keeps it alive. A node of any origin joins a fleet by this label."""

# Annotations of a node.
FAIL: Final = f"{DOMAIN}/fail"
"""How the node fails now; taking the annotation away brings it back."""
DRAIN: Final = f"{DOMAIN}/drain"
"""`true`: the node is cordoned and its pods are evicted."""

# Annotations of a node that the fleet writes for itself.
CREATED: Final = f"{DOMAIN}/created"
"""`true`: the fleet created the node, and may remove it."""
CORDONED: Final = f"{DOMAIN}/cordoned"
"""`true`: a drain cordoned the node, so the end of the drain takes that back."""
POD_RANGE: Final = f"{DOMAIN}/pod-range"
"""The addresses of the node's pods, where its spec.podCIDR says nothing."""

Failure: TypeAlias = Literal["dead", "unreachable", "not-ready"]
FAILURES: Final[tuple[Failure, ...]] = get_args(Failure)

# Annotations of a pod, or of a node for all its pods. With a container's name before the domain
# (`worker.simulate.grove.io/crash-after`) they are for that container alone.
START_DELAY: Final = "start-delay"
READY_DELAY: Final = "ready-delay"
STOP_DELAY: Final = "stop-delay"
CRASH_AFTER: Final = "crash-after"
COMPLETE_AFTER: Final = "complete-after"
EXIT_CODE: Final = "exit-code"
CRASHES: Final = "crashes"
NEVER_READY: Final = "never-ready"
IMAGE_PULL_ERROR: Final = "image-pull-error"

BEHAVIOURS: Final = (
    START_DELAY,
    READY_DELAY,
    STOP_DELAY,
    CRASH_AFTER,
    COMPLETE_AFTER,
    EXIT_CODE,
    CRASHES,
    NEVER_READY,
    IMAGE_PULL_ERROR,
)
