"""Schedulers: that all pods go to one, that it is there, and that it can do what is asked of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from grove.api import grammar, labels
from grove.api.errors import Path, Problems, choices
from grove.api.fields import JSON
from grove.api.kinds.podcliqueset import PodCliqueSet
from grove.api.kinds.topology import TopologyConstraint
from grove.api.policy import Policy
from grove.api.validation.places import CLIQUES, GROUPS

_TEMPLATE: Final = Path.parse("spec.template")
_SCHEDULER_NAME: Final = ("spec", "podSpec", "schedulerName")
_SPREAD: Final = Path.parse("spec.replicaSpreadConstraints")
_COMMON_MISSPELLINGS: Final = {
    "kubernetes.io/zone": "topology.kubernetes.io/zone",
    "kubernetes.io/region": "topology.kubernetes.io/region",
    "kubernetes.io/rack": "topology.kubernetes.io/rack",
}


def check(pcs: PodCliqueSet, policy: Policy, problems: Problems) -> None:
    """Reports schedulers that are missing or differ, and wishes that theirs can't grant."""
    scheduler = _check_names(pcs, policy, problems)
    if scheduler in policy.schedulers:
        _check_backend(pcs, scheduler, policy, problems)
    _check_packing(pcs, problems)
    _check_spread(pcs, problems)


def scheduler_of(pcs: PodCliqueSet, policy: Policy) -> str:
    """The scheduler of the set's pods: the first that a clique names, otherwise the default."""
    for clique in pcs.spec.template.cliques:
        name = clique.spec.pod_spec.get("schedulerName")
        if name:
            return str(name)
    return policy.default_scheduler


def _check_names(pcs: PodCliqueSet, policy: Policy, problems: Problems) -> str:
    names = [
        str(clique.spec.pod_spec.get("schedulerName") or policy.default_scheduler)
        for clique in pcs.spec.template.cliques
    ]
    for position, name in enumerate(names):
        path = CLIQUES.index(position).field(*_SCHEDULER_NAME)
        if name != names[0]:
            problems.invalid(
                path,
                name,
                "the schedulerName for all pods have to be the same",
                f"name the same scheduler in every clique; the first one goes to {names[0]}",
            )
        elif name not in policy.schedulers:
            problems.invalid(
                path,
                name,
                "schedulerName must be an enabled scheduler backend; this scheduler is not enabled in "
                "OperatorConfiguration",
                f"name one of {', '.join(policy.schedulers)}, or add a profile to the operator's configuration",
            )
    return names[0] if names else policy.default_scheduler


def _check_backend(pcs: PodCliqueSet, scheduler: str, policy: Policy, problems: Problems) -> None:
    match policy.schedulers[scheduler]:
        case "kai":
            _check_kai_queue(pcs, problems)
        case "volcano":
            _refuse_constraints(pcs, "volcano scheduler backend does not support topologyConstraint", problems)
            _check_volcano_queue(pcs, problems)
        case "lpx":
            _refuse_constraints(
                pcs,
                "lpx-scheduler does not support Grove topology constraints; placement topology must be expressed "
                "through the LPX workload contract",
                problems,
            )
        case "kubernetes":
            for path, _ in constraints_of(pcs):
                problems.warn(
                    path,
                    f"is not enforced: {scheduler} knows nothing of topology",
                    "give the pods to grove-scheduler, or remove the constraint",
                )


def constraints_of(pcs: PodCliqueSet) -> Iterator[tuple[Path, TopologyConstraint]]:
    """Every topology constraint of the set with its place: of the set, its groups, its cliques."""
    template = pcs.spec.template
    if template.topology_constraint is not None:
        yield _TEMPLATE.field("topologyConstraint"), template.topology_constraint
    for position, group in enumerate(template.pod_clique_scaling_groups):
        if group.topology_constraint is not None:
            yield GROUPS.index(position).field("topologyConstraint"), group.topology_constraint
    for position, clique in enumerate(template.cliques):
        if clique.topology_constraint is not None:
            yield CLIQUES.index(position).field("topologyConstraint"), clique.topology_constraint


def _refuse_constraints(pcs: PodCliqueSet, detail: str, problems: Problems) -> None:
    for path, _ in constraints_of(pcs):
        problems.forbidden(path, detail, "remove it, or choose a scheduler that honours topology")


def _first(key: str, *maps: Mapping[str, str] | None) -> str:
    return next((found[key] for found in maps if found and found.get(key)), "")


def _check_kai_queue(pcs: PodCliqueSet, problems: Problems) -> None:
    key = labels.KAI_QUEUE
    own = _first(key, pcs.metadata.labels, pcs.metadata.annotations)
    wanted = own
    for position, clique in enumerate(pcs.spec.template.cliques):
        queue = _first(key, clique.labels, clique.annotations)
        if queue and wanted and queue != wanted:
            problems.invalid(
                CLIQUES.index(position).field("labels").key(key),
                queue,
                f'KAI queue on PodCliqueSet is "{own}" but PodClique template "{clique.name}" resolves to "{queue}"'
                if own
                else "conflicting KAI queues on PodCliqueSet",
                f"use {wanted} everywhere",
            )
        wanted = wanted or queue
    if not wanted:
        problems.required(
            Path.parse("metadata.labels").key(key),
            "no KAI queue is configured on PodCliqueSet or its PodClique templates",
            f"label the PodCliqueSet with {key}: <queue>",
        )


def _check_volcano_queue(pcs: PodCliqueSet, problems: Problems) -> None:
    key = labels.VOLCANO_QUEUE
    own = _first(key, pcs.metadata.annotations)
    places = [(Path.parse("metadata.annotations").key(key), own)] if own else []
    places += [
        (CLIQUES.index(position).field("annotations").key(key), _first(key, clique.annotations))
        for position, clique in enumerate(pcs.spec.template.cliques)
        if _first(key, clique.annotations)
    ]
    for path, queue in places:
        if not grammar.is_subdomain(queue):
            problems.invalid(path, queue, "must be a DNS-1123 subdomain", "use the name of a Volcano Queue")
        elif queue != places[0][1]:
            problems.invalid(path, queue, "all cliques must go to the same queue", f"use {places[0][1]} everywhere")


def _check_packing(pcs: PodCliqueSet, problems: Problems) -> None:
    config = pcs.spec.template.scheduling_policy_config
    known = dict.fromkeys(clique.name for clique in pcs.spec.template.cliques)
    for position, group in enumerate(config.network_pack_group_configs if config else ()):
        path = _TEMPLATE.field("schedulingPolicyConfig", "networkPackGroupConfigs").index(position).field("cliqueNames")
        if not group.clique_names:
            problems.required(path, "a pack group needs at least one clique", "name the cliques to place together")
        seen: set[str] = set()
        for number, name in enumerate(group.clique_names):
            if name not in known:
                problems.not_found(path.index(number), name, f"name one of the cliques: {choices(known)}")
            elif name in seen:
                problems.duplicate(path.index(number), name, "name each clique once")
            seen.add(name)


def _check_spread(pcs: PodCliqueSet, problems: Problems) -> None:
    for position, constraint in enumerate(pcs.spec.replica_spread_constraints):
        path = _SPREAD.index(position)
        skew, key = constraint.get("maxSkew"), constraint.get("topologyKey")
        if isinstance(skew, int) and skew <= 0:
            problems.invalid(path.field("maxSkew"), skew, "must be greater than zero", "use 1 or more")
        if not isinstance(key, str) or not grammar.is_qualified(key):
            problems.invalid(path.field("topologyKey"), key, "is not a label key", "name a label of the nodes")
        elif key in _COMMON_MISSPELLINGS:
            problems.warn(
                path.field("topologyKey"),
                f"{key} is not a label that Kubernetes or clouds put on nodes",
                f"use {_COMMON_MISSPELLINGS[key]}, unless your nodes have this label",
            )
        _check_min_domains(constraint, path.field("minDomains"), problems)
        if constraint.get("labelSelector"):
            problems.warn(
                path.field("labelSelector"), "is not read: the replicas of the set are spread", "remove labelSelector"
            )


def _check_min_domains(constraint: JSON, path: Path, problems: Problems) -> None:
    least = constraint.get("minDomains")
    if least is None:
        return
    if isinstance(least, int) and least <= 0:
        problems.invalid(path, least, "must be greater than zero", "use 1 or more")
    if constraint.get("whenUnsatisfiable") != "DoNotSchedule":
        problems.invalid(
            path,
            least,
            "can only be used with whenUnsatisfiable DoNotSchedule",
            "remove minDomains, or set whenUnsatisfiable to DoNotSchedule",
        )
