"""Configuration files of the operator and the scheduler."""

from __future__ import annotations

from typing import Final

from grove.api import durations, grammar, policy
from grove.api.errors import Path, Problems
from grove.api.kinds.operatorconfig import BACKENDS_BY_NAME, OperatorConfiguration, PodDefaults, Schedulers
from grove.api.kinds.processconfig import ClientConnection, LeaderElection
from grove.api.kinds.schedulerconfig import SchedulerConfiguration
from grove.api.validation.queue import check_amounts
from grove.api.validation.rollout import check_duration, check_positive_duration

_ELECTION: Final = Path.parse("leaderElection")
_PROFILES: Final = Path.parse("scheduler.profiles")
_SERVICE_ACCOUNT: Final = "system:serviceaccount:"


def check_operator(configuration: OperatorConfiguration) -> Problems:
    """Everything wrong with the operator's configuration."""
    problems = Problems()
    _check_connection(configuration.runtime_client_connection, problems)
    _check_election(configuration.leader_election, problems)
    _check_profiles(configuration.scheduler, problems)
    _check_pod_defaults(configuration.pod_defaults, problems)
    check_amounts(configuration.waiter.resources.requests, Path.parse("waiter.resources.requests"), problems)
    check_amounts(configuration.waiter.resources.limits, Path.parse("waiter.resources.limits"), problems)
    exempt = Path.parse("authorizer.exemptServiceAccountUserNames")
    for position, name in enumerate(configuration.authorizer.exempt_service_account_user_names):
        parts = name.removeprefix(_SERVICE_ACCOUNT).split(":")
        if not name.startswith(_SERVICE_ACCOUNT) or len(parts) != 2 or not all(parts):
            problems.invalid(
                exempt.index(position),
                name,
                "is not the user name of a service account",
                f"write {_SERVICE_ACCOUNT}<namespace>:<name>",
            )
    return problems


def check_scheduler(configuration: SchedulerConfiguration) -> Problems:
    """Everything wrong with the scheduler's configuration."""
    problems = Problems()
    _check_connection(configuration.runtime_client_connection, problems)
    _check_election(configuration.leader_election, problems)
    names = Path.parse("schedulerNames")
    if not configuration.scheduler_names:
        problems.required(names, "at least one scheduler name is required", "name the schedulers whose pods are placed")
    for position, name in enumerate(configuration.scheduler_names):
        if name in configuration.scheduler_names[:position]:
            problems.duplicate(names.index(position), name, "name each scheduler once")
    check_positive_duration(configuration.placement.search_budget, Path.parse("placement.searchBudget"), problems)
    check_positive_duration(configuration.starvation.after, Path.parse("starvation.after"), problems)
    check_positive_duration(configuration.binding.gang_bind_timeout, Path.parse("binding.gangBindTimeout"), problems)
    check_duration(configuration.preemption.delay, Path.parse("preemption.delay"), problems)
    for tier, gigabits in (configuration.nodes.network_tiers or {}).items():
        if gigabits < 0:
            path = Path.parse("nodes.networkTiers").key(tier)
            problems.invalid(path, gigabits, "must be non-negative", "write the bandwidth in Gbit/s")
    return problems


def _check_connection(connection: ClientConnection, problems: Problems) -> None:
    if connection.burst < 0:
        path = Path.parse("runtimeClientConnection.burst")
        problems.invalid(path, connection.burst, "must be non-negative", "use 0 or more")


def _check_election(election: LeaderElection, problems: Problems) -> None:
    if not election.enabled:
        return
    before = len(problems.errors)
    for name, text in (
        ("leaseDuration", election.lease_duration),
        ("renewDeadline", election.renew_deadline),
        ("retryPeriod", election.retry_period),
    ):
        check_positive_duration(text, _ELECTION.field(name), problems)
    if len(problems.errors) == before and durations.parse(election.lease_duration) <= durations.parse(
        election.renew_deadline
    ):
        problems.invalid(
            _ELECTION.field("leaseDuration"),
            election.lease_duration,
            "LeaseDuration must be greater than RenewDeadline",
            f"use more than {election.renew_deadline}",
        )
    if election.resource_lock != "leases":
        problems.unsupported(_ELECTION.field("resourceLock"), election.resource_lock, ("leases",))
    if not election.resource_name:
        problems.required(_ELECTION.field("resourceName"), "resourceName is required", "name the Lease")


def _check_profiles(schedulers: Schedulers, problems: Problems) -> None:
    seen: set[str] = set()
    for position, profile in enumerate(schedulers.profiles):
        path = _PROFILES.index(position)
        if not profile.name:
            problems.required(path.field("name"), "scheduler profile name is required", "name the scheduler")
        elif profile.name in seen:
            problems.duplicate(path.field("name"), profile.name, "give every profile its own name")
        elif profile.kind_of_backend is None:
            known = ", ".join(BACKENDS_BY_NAME)
            problems.required(
                path.field("backend"),
                f'which backend "{profile.name}" has does not follow from its name',
                f"set backend, as in external, or use one of the names {known}",
            )
        seen.add(profile.name)
    default = schedulers.default_profile_name
    names = [profile.name for profile in policy.profiles_of(schedulers)]
    if default and default not in names:
        problems.invalid(
            Path.parse("scheduler.defaultProfileName"),
            default,
            "default profile must be one of the configured profiles",
            f"use one of {', '.join(names)}, or add a profile of that name",
        )


def _check_pod_defaults(defaults: PodDefaults, problems: Problems) -> None:
    check_amounts(defaults.requests, Path.parse("podDefaults.requests"), problems)
    fault = grammar.port(defaults.port_name) if defaults.port_name is not None else None
    if fault is not None:
        problems.invalid(Path.parse("podDefaults.portName"), defaults.port_name, fault.detail, fault.remedy)
    if defaults.port_name is not None and defaults.port is None:
        problems.required(Path.parse("podDefaults.port"), "portName needs a port", "set port, or remove portName")
