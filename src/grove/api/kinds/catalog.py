"""Every kind Grove knows, and how an API server and kubectl show it. The order is that of the documentation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

import msgspec

from grove.api.fields import Struct
from grove.api.kinds.operatorconfig import OperatorConfiguration
from grove.api.kinds.podclique import PodClique
from grove.api.kinds.podcliqueset import PodCliqueSet
from grove.api.kinds.podgang import PodGang
from grove.api.kinds.podgangset import AffinityClique, PodGangSet
from grove.api.kinds.queue import Queue
from grove.api.kinds.scalinggroup import PodCliqueScalingGroup
from grove.api.kinds.schedulerconfig import SchedulerConfiguration
from grove.api.kinds.topology import ClusterTopologyBinding


class Column(msgspec.Struct, frozen=True):
    """A column that `kubectl get` prints; priority 1 shows only with `-o wide`."""

    name: str
    type: Literal["integer", "string", "date", "number"]
    path: str
    priority: int = 0


class Scale(msgspec.Struct, frozen=True):
    """Where the scale subresource finds its numbers."""

    selector_path: str
    spec_path: str = ".spec.replicas"
    status_path: str = ".status.replicas"


class Kind(msgspec.Struct, frozen=True):
    """A kind: its struct, and how it is served."""

    struct: type[Struct]
    group: str
    version: str
    name: str
    plural: str = ""
    """Empty for files, which no API server serves."""
    short_names: tuple[str, ...] = ()
    scope: Literal["Namespaced", "Cluster"] = "Namespaced"
    columns: tuple[Column, ...] = ()
    scale: Scale | None = None

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}"

    @property
    def served(self) -> bool:
        return bool(self.plural)

    @property
    def crd_name(self) -> str:
        return f"{self.plural}.{self.group}"

    @property
    def singular(self) -> str:
        return self.plural.removesuffix("s")


AGE: Final = Column("Age", "date", ".metadata.creationTimestamp")
_MIN_BREACHED: Final = Column(
    "MinBreached", "string", '.status.conditions[?(@.type=="MinAvailableBreached")].status', priority=1
)


def _count(name: str, path: str, priority: int = 0) -> Column:
    return Column(name, "integer", path, priority)


_CLIQUES_UPDATED: Final = _count("PCLQs-Updated", ".status.updateProgress.updatedPodCliquesCount")
_CLIQUES_TOTAL: Final = _count("PCLQs-Total", ".status.updateProgress.totalPodCliquesCount")

POD_CLIQUE_SET: Final = Kind(
    struct=PodCliqueSet,
    group="grove.io",
    version="v1alpha1",
    name="PodCliqueSet",
    plural="podcliquesets",
    short_names=("pcs",),
    columns=(
        _count("Replicas", ".spec.replicas"),
        _count("Available", ".status.availableReplicas"),
        _count("Updated", ".status.updatedReplicas"),
        _CLIQUES_UPDATED,
        _CLIQUES_TOTAL,
        _count("PCSGs-Updated", ".status.updateProgress.updatedPodCliqueScalingGroupsCount"),
        _count("PCSGs-Total", ".status.updateProgress.totalPodCliqueScalingGroupsCount"),
        AGE,
    ),
    scale=Scale(selector_path=".status.hpaPodSelector"),
)
POD_CLIQUE: Final = Kind(
    struct=PodClique,
    group="grove.io",
    version="v1alpha1",
    name="PodClique",
    plural="podcliques",
    short_names=("pclq",),
    columns=(
        _count("MinAvail", ".spec.minAvailable"),
        _count("Replicas", ".spec.replicas"),
        _count("Ready", ".status.readyReplicas"),
        _count("Scheduled", ".status.scheduledReplicas"),
        _count("Updated", ".status.updatedReplicas"),
        _count("Gated", ".status.scheduleGatedReplicas", priority=1),
        _MIN_BREACHED,
        AGE,
    ),
    scale=Scale(selector_path=".status.hpaPodSelector"),
)
SCALING_GROUP: Final = Kind(
    struct=PodCliqueScalingGroup,
    group="grove.io",
    version="v1alpha1",
    name="PodCliqueScalingGroup",
    plural="podcliquescalinggroups",
    short_names=("pcsg",),
    columns=(
        _count("MinAvail", ".spec.minAvailable"),
        _count("Replicas", ".spec.replicas"),
        _count("Available", ".status.availableReplicas"),
        _count("Scheduled", ".status.scheduledReplicas"),
        _count("Updated", ".status.updatedReplicas"),
        _CLIQUES_UPDATED,
        _CLIQUES_TOTAL,
        _MIN_BREACHED,
        AGE,
    ),
    scale=Scale(selector_path=".status.selector"),
)
TOPOLOGY_BINDING: Final = Kind(
    struct=ClusterTopologyBinding,
    group="grove.io",
    version="v1alpha1",
    name="ClusterTopologyBinding",
    plural="clustertopologybindings",
    short_names=("ct",),
    scope="Cluster",
    columns=(Column("Domains", "string", ".spec.levels[*].domain"), AGE),
)
POD_GANG: Final = Kind(
    struct=PodGang,
    group="scheduler.grove.io",
    version="v1alpha1",
    name="PodGang",
    plural="podgangs",
    short_names=("pg",),
    columns=(Column("Phase", "string", ".status.phase"), AGE),
)
QUEUE: Final = Kind(
    struct=Queue,
    group="scheduler.grove.io",
    version="v1alpha1",
    name="Queue",
    plural="queues",
    short_names=("gq",),
    scope="Cluster",
    columns=(
        Column("Parent", "string", ".spec.parent"),
        _count("Weight", ".spec.weight"),
        _count("Priority", ".spec.priority"),
        _count("Running", ".status.runningGangs"),
        _count("Pending", ".status.pendingGangs"),
        AGE,
    ),
)
POD_GANG_SET: Final = Kind(
    struct=PodGangSet,
    group="grove.dynamo.ai",
    version="v1",
    name="PodGangSet",
    plural="podgangsets",
    short_names=("pgs",),
    columns=(
        _count("MinAvail", ".spec.minAvailable"),
        _count("Replicas", ".spec.replicas"),
        _count("Ready", ".status.readyReplicas"),
        AGE,
    ),
    scale=Scale(selector_path=".status.selector"),
)
AFFINITY_CLIQUE: Final = Kind(
    struct=AffinityClique,
    group="grove.dynamo.ai",
    version="v1",
    name="PodClique",
    # Not "podcliques": kubectl would then take `kubectl get podclique` for this kind, whose group sorts first.
    plural="affinitycliques",
    columns=(_count("Pods", ".status.selectedPods"), AGE),
)
OPERATOR_CONFIGURATION: Final = Kind(
    struct=OperatorConfiguration,
    group="operator.config.grove.io",
    version="v1alpha1",
    name="OperatorConfiguration",
)
SCHEDULER_CONFIGURATION: Final = Kind(
    struct=SchedulerConfiguration,
    group="scheduler.config.grove.io",
    version="v1alpha1",
    name="SchedulerConfiguration",
)

KINDS: Final = (
    POD_CLIQUE_SET,
    POD_CLIQUE,
    SCALING_GROUP,
    TOPOLOGY_BINDING,
    POD_GANG,
    QUEUE,
    POD_GANG_SET,
    AFFINITY_CLIQUE,
    OPERATOR_CONFIGURATION,
    SCHEDULER_CONFIGURATION,
)
SERVED: Final = tuple(kind for kind in KINDS if kind.served)


def find(api_version: str, name: str) -> Kind | None:
    """The kind of an object by its apiVersion and kind."""
    return next((kind for kind in KINDS if kind.api_version == api_version and kind.name == name), None)


def named(word: str, kinds: Iterable[Kind] = KINDS) -> Kind | None:
    """The kind that a user means by `pcs`, `podcliqueset`, `PodCliqueSets` or `podcliquesets.grove.io`."""
    wanted = word.lower()
    for kind in kinds:
        spellings = {kind.name.lower(), f"{kind.name.lower()}s", *kind.short_names}
        if kind.served:
            spellings |= {kind.plural, kind.singular, kind.crd_name}
        if wanted in spellings:
            return kind
    return None
