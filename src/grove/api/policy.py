"""What the rules need to know of the cluster and its operator: the mode, the schedulers, the topologies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

import msgspec

from grove.api.kinds.operatorconfig import (
    DEFAULT_SCHEDULER,
    GROVE_SCHEDULER,
    TOPOLOGY_AWARE_BACKENDS,
    Backend,
    OperatorConfiguration,
    PodDefaults,
    SchedulerProfile,
    Schedulers,
)
from grove.api.kinds.topology import ClusterTopologyBinding

Mode = Literal["lenient", "strict"]
Topologies = Mapping[str, tuple[str, ...]]
"""By the name of a ClusterTopologyBinding: its domains, broadest first."""


class Policy(msgspec.Struct, frozen=True):
    """The circumstances under which workloads are judged."""

    mode: Mode = "lenient"
    schedulers: Mapping[str, Backend] = msgspec.field(
        default_factory=lambda: {GROVE_SCHEDULER: "grove", DEFAULT_SCHEDULER: "kubernetes"}
    )
    default_scheduler: str = GROVE_SCHEDULER
    topology_enabled: bool = True
    topologies: Topologies | None = None
    """None where nobody knows them, as when a file is validated without a cluster."""
    mnnvl_enabled: bool = False
    pod_defaults: PodDefaults = PodDefaults()

    @property
    def strict(self) -> bool:
        return self.mode == "strict"

    def is_topology_aware(self, scheduler_name: str) -> bool:
        backend = self.schedulers.get(scheduler_name)
        return backend == "external" or backend in TOPOLOGY_AWARE_BACKENDS


def of_configuration(configuration: OperatorConfiguration, topologies: Topologies | None = None) -> Policy:
    """The policy of an operator with this configuration."""
    profiles = profiles_of(configuration.scheduler)
    default = default_profile_of(configuration.scheduler)
    backends = {profile.name: profile.kind_of_backend or "external" for profile in profiles}
    enabled = configuration.topology_aware_scheduling.enabled
    return Policy(
        mode=configuration.admission.mode,
        schedulers=backends,
        default_scheduler=default,
        topology_enabled=backends.get(default) == "grove" if enabled is None else enabled,
        topologies=topologies,
        mnnvl_enabled=configuration.network.auto_mnnvl_enabled,
        pod_defaults=configuration.pod_defaults,
    )


_DEFAULT_PROFILE: Final = SchedulerProfile(name=DEFAULT_SCHEDULER)


def profiles_of(schedulers: Schedulers) -> tuple[SchedulerProfile, ...]:
    """The profiles in force: those stated, default-scheduler always among them."""
    if not schedulers.profiles:
        return (SchedulerProfile(name=GROVE_SCHEDULER), _DEFAULT_PROFILE)
    if any(profile.name == DEFAULT_SCHEDULER for profile in schedulers.profiles):
        return schedulers.profiles
    return (*schedulers.profiles, _DEFAULT_PROFILE)


def default_profile_of(schedulers: Schedulers) -> str:
    """The profile of pods that name no scheduler."""
    if schedulers.default_profile_name:
        return schedulers.default_profile_name
    names = {profile.name for profile in profiles_of(schedulers)}
    return GROVE_SCHEDULER if GROVE_SCHEDULER in names else DEFAULT_SCHEDULER


def domains_of(binding: ClusterTopologyBinding) -> tuple[str, ...]:
    """The domains of a topology, broadest first."""
    return tuple(level.domain for level in binding.spec.levels)
