"""The names of everything Grove makes. Each format lives here and nowhere else, and no name is ever parsed.

Names that become label values and host names may not be longer than 63 characters. A longer one is shortened: its
first 46 characters, a dash, and eight characters of a hash of the whole, so that it is the same every time.
"""

from __future__ import annotations

import hashlib
from typing import Final

LABEL_LIMIT: Final = 63
"""The longest label value, host name and Service name."""

POD_INDEX_ROOM: Final = 4
"""A PodClique's name leaves room for a dash and a three-digit pod index in the host names of its pods."""

CLIQUE_LIMIT: Final = LABEL_LIMIT - POD_INDEX_ROOM
GENERATE_NAME_LIMIT: Final = 58
"""The API server cuts generateName here before it adds five characters of its own."""

UPSTREAM_LIMIT: Final = 45
"""Go Grove refuses workloads whose own names are longer than this in sum; so does strict mode."""

CLUSTER_DOMAIN: Final = "cluster.local"
"""The DNS domain of a cluster that was given no other."""

_HEAD: Final = 46
_DIGEST: Final = 8


def shorten(name: str, limit: int) -> str:
    """The name itself where it fits, otherwise its start and a hash of the whole."""
    if len(name) <= limit:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:_DIGEST]
    return f"{name[: min(_HEAD, limit - _DIGEST - 1)]}-{digest}"


def standalone_clique_in_full(pcs: str, replica: int, clique: str) -> str:
    return f"{pcs}-{replica}-{clique}"


def standalone_clique(pcs: str, replica: int, clique: str) -> str:
    """PodClique of a clique outside scaling groups."""
    return shorten(standalone_clique_in_full(pcs, replica, clique), CLIQUE_LIMIT)


def member_clique_in_full(pcs: str, replica: int, group: str, group_replica: int, clique: str) -> str:
    return f"{pcs}-{replica}-{group}-{group_replica}-{clique}"


def member_clique(pcs: str, replica: int, group: str, group_replica: int, clique: str) -> str:
    """PodClique of a clique in a scaling group."""
    return shorten(member_clique_in_full(pcs, replica, group, group_replica, clique), CLIQUE_LIMIT)


def scaling_group(pcs: str, replica: int, group: str) -> str:
    """PodCliqueScalingGroup."""
    return shorten(f"{pcs}-{replica}-{group}", LABEL_LIMIT)


def scaling_group_replica(pcs: str, replica: int, group: str, group_replica: int) -> str:
    """One copy of a scaling group, as a group of pod groups inside its base gang."""
    return shorten(f"{pcs}-{replica}-{group}-{group_replica}", LABEL_LIMIT)


def base_gang(pcs: str, replica: int) -> str:
    """PodGang of a replica of the set."""
    return shorten(f"{pcs}-{replica}", LABEL_LIMIT)


def scaled_gang(pcs: str, replica: int, group: str, number: int) -> str:
    """PodGang of a scaling group's copy beyond its minAvailable; number counts from 0 there."""
    return shorten(f"{pcs}-{replica}-{group}-{number}", LABEL_LIMIT)


def headless_service(pcs: str, replica: int) -> str:
    """The Service, and the subdomain of the pods."""
    return shorten(f"{pcs}-{replica}", LABEL_LIMIT)


def service_address(pcs: str, replica: int, namespace: str, cluster_domain: str = CLUSTER_DOMAIN) -> str:
    """The DNS name under which the pods of a replica are found."""
    return f"{headless_service(pcs, replica)}.{namespace}.svc.{cluster_domain}"


def hostname(clique_name: str, pod_index: int) -> str:
    """Host name of a pod, from the name of its PodClique and its index."""
    suffix = f"-{pod_index}"
    return shorten(clique_name, LABEL_LIMIT - len(suffix)) + suffix


def pod_generate_name(clique_name: str) -> str | None:
    """generateName of a pod; None where the API server would cut the dash off and the caller must name the pod."""
    name = f"{clique_name}-"
    return name if len(name) <= GENERATE_NAME_LIMIT else None


def pod_name(clique_name: str, suffix: str) -> str:
    """Name of a pod that the API server can't name itself; suffix: five random characters."""
    return f"{clique_name[: GENERATE_NAME_LIMIT - 1]}-{suffix}"


def autoscaler(target: str) -> str:
    """HorizontalPodAutoscaler of a PodClique or PodCliqueScalingGroup."""
    return target


def service_account(pcs: str) -> str:
    return pcs


def role(pcs: str) -> str:
    """Role and RoleBinding of the waiters."""
    return f"grove.io:pcs:{pcs}"


def role_label(pcs: str) -> str:
    """The name of the Role as a label value, which can't have colons."""
    return shorten(f"grove.io-pcs-{pcs}", LABEL_LIMIT)


def token_secret(pcs: str) -> str:
    return shorten(f"{pcs}-ic-sat", LABEL_LIMIT)


def legacy_token_secret(pcs: str) -> str:
    return f"{pcs}-initc-sa-token-secret"


def shared_claim(owner: str, sharing: str) -> str:
    """ResourceClaim of scope AllReplicas; pods know it by the same name, which is a DNS label there."""
    return shorten(f"{owner}-all-{sharing}", LABEL_LIMIT)


def replica_claim(owner: str, index: int, sharing: str) -> str:
    """ResourceClaim of scope PerReplica."""
    return shorten(f"{owner}-{index}-{sharing}", LABEL_LIMIT)


def compute_domain(pcs: str, replica: int, mnnvl_group: str) -> str:
    """ComputeDomain and the ResourceClaimTemplate that its driver makes."""
    return shorten(f"{pcs}-{replica}-{mnnvl_group}", LABEL_LIMIT)
