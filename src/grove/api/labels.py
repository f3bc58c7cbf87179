"""Labels, annotations, finalizers and environment variables that Grove writes and reads."""

from __future__ import annotations

from typing import Final

MANAGED_BY: Final = "app.kubernetes.io/managed-by"
MANAGED_BY_VALUE: Final = "grove-operator"
PART_OF: Final = "app.kubernetes.io/part-of"
NAME: Final = "app.kubernetes.io/name"
COMPONENT: Final = "app.kubernetes.io/component"

PREFIX: Final = "grove.io/"
POD_CLIQUE_SET: Final = "grove.io/podcliqueset"
POD_CLIQUE_SET_REPLICA_INDEX: Final = "grove.io/podcliqueset-replica-index"
ROLE: Final = "grove.io/role"
CLIQUE: Final = "grove.io/clique"
"""The clique's own name, readable also where names had to be shortened."""
POD_CLIQUE: Final = "grove.io/podclique"
POD_CLIQUE_POD_INDEX: Final = "grove.io/podclique-pod-index"
POD_GANG: Final = "grove.io/podgang"
BASE_POD_GANG: Final = "grove.io/base-podgang"
SCALING_GROUP: Final = "grove.io/podcliquescalinggroup"
SCALING_GROUP_REPLICA_INDEX: Final = "grove.io/podcliquescalinggroup-replica-index"
SCALING_GROUP_POD_INDEX: Final = "grove.io/podcliquescalinggroup-pod-index"
POD_TEMPLATE_HASH: Final = "grove.io/pod-template-hash"
SCHEDULER_NAME: Final = "grove.io/scheduler-name"
MNNVL_GROUP: Final = "grove.io/mnnvl-group"
QUEUE: Final = "grove.io/queue"
GPU_MEMORY: Final = "grove.io/gpu-memory"
GPU_MODEL: Final = "grove.io/gpu-model"
NETWORK_BANDWIDTH: Final = "grove.io/network-bandwidth"
"""The annotation of pods; also the resource that the scheduler counts it as."""
EPOCH: Final = "grove.io/epoch"
POD_GANG_ROLE: Final = "grove.io/podgang-role"
GENERATION_HASH: Final = "grove.io/podcliqueset-generation-hash"

PREEMPTION: Final = "grove.io/preemption"
"""On a PodGang, or a pod without one: whether it may be made to go for something more important."""
PREEMPTION_NEVER: Final = "never"
RESTART_COST: Final = "grove.io/restart-cost"
"""On the same: how much work is lost when it stops, as a duration."""
EXPECTED_DURATION: Final = "grove.io/expected-duration"
"""On the same: how long it runs once it is placed, as a duration; without it, for ever."""

DISABLE_PROTECTION: Final = "grove.io/disable-managed-resource-protection"
RECONCILE_TRIGGER: Final = "grove.io/reconcile-trigger"
TOPOLOGY_NAME: Final = "grove.io/topology-name"
MNNVL_OPTED_OUT: Final = "none"
KAI_QUEUE: Final = "kai.scheduler/queue"
VOLCANO_QUEUE: Final = "scheduling.grove.io/volcano-queue"

POD_CLIQUE_SET_FINALIZER: Final = "grove.io/podcliqueset.grove.io"
POD_CLIQUE_FINALIZER: Final = "grove.io/podclique.grove.io"
SCALING_GROUP_FINALIZER: Final = "grove.io/podcliquescalinggroup.grove.io"
COMPUTE_DOMAIN_FINALIZER: Final = "grove.io/computedomain-finalizer"

SCHEDULING_GATE: Final = "grove.io/podgang-pending-creation"

COMPONENT_SERVICE: Final = "pcs-headless-service"
COMPONENT_ROLE: Final = "pod-role"
COMPONENT_ROLE_BINDING: Final = "pod-role-binding"
COMPONENT_SERVICE_ACCOUNT: Final = "pod-service-account"
COMPONENT_TOKEN_SECRET: Final = "pod-sa-token-secret"
COMPONENT_SCALING_GROUP: Final = "pcs-podcliquescalinggroup"
COMPONENT_AUTOSCALER: Final = "pcs-hpa"
COMPONENT_POD_GANG: Final = "podgang"
COMPONENT_STANDALONE_CLIQUE: Final = "pcs-podclique"
COMPONENT_MEMBER_CLIQUE: Final = "pcsg-podclique"
COMPONENT_RESOURCE_CLAIM: Final = "resource-claim"
COMPONENT_COMPUTE_DOMAIN: Final = "pcs-computedomain"

ENV_SET_NAME: Final = "GROVE_PCS_NAME"
ENV_SET_INDEX: Final = "GROVE_PCS_INDEX"
ENV_CLIQUE_NAME: Final = "GROVE_PCLQ_NAME"
ENV_HEADLESS_SERVICE: Final = "GROVE_HEADLESS_SERVICE"
ENV_POD_INDEX: Final = "GROVE_PCLQ_POD_INDEX"
ENV_GROUP_NAME: Final = "GROVE_PCSG_NAME"
ENV_GROUP_TEMPLATE_PODS: Final = "GROVE_PCSG_TEMPLATE_NUM_PODS"
ENV_GROUP_INDEX: Final = "GROVE_PCSG_INDEX"
ENV_GROUP_POD_INDEX: Final = "GROVE_PCSG_POD_INDEX"


def common(pcs: str) -> dict[str, str]:
    """The labels of every object made for a PodCliqueSet."""
    return {MANAGED_BY: MANAGED_BY_VALUE, PART_OF: pcs}


def is_groves(key: str) -> bool:
    """Whether a label or annotation key is Grove's own."""
    return key.startswith(PREFIX)


def selector(labels: dict[str, str]) -> str:
    """The labels as a selector in text."""
    return ",".join(f"{key}={value}" for key, value in labels.items())


def set_selector(pcs: str) -> str:
    """Selects all pods of a PodCliqueSet."""
    return selector(common(pcs))


def clique_selector(pcs: str, clique_name: str) -> str:
    """Selects the pods of a PodClique."""
    return selector({**common(pcs), POD_CLIQUE: clique_name})


def group_selector(pcs: str, group_name: str) -> str:
    """Selects the pods of a PodCliqueScalingGroup."""
    return selector({**common(pcs), SCALING_GROUP: group_name})
