"""What is wanted of a pod: from its spec, the annotations of the pod and its node, and the fleet's defaults. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from grove.nodes import behaviour, containers
from grove.nodes.behaviour import ONE_SHOT, REGULAR, Behaviour, Problem, Span
from grove.nodes.containers import Plan, Role
from grove.nodes.life import PodPlan
from grove.nodes.objects import ContainerSpec, PodRecord

WAITER: Final = "grove-initc"
"""The init container that really does its work."""


class Defaults(msgspec.Struct, frozen=True, kw_only=True):
    """How containers behave of which nothing else is said."""

    start_delay: Span = Span()
    ready_delay: Span = Span()


def of_pod(pod: PodRecord, node: Mapping[str, str], defaults: Defaults) -> tuple[PodPlan, tuple[Problem, ...]]:
    """The plan, and what of the annotations was not understood. `node` are the annotations of the pod's node."""
    own = behaviour.ours(pod.metadata.annotations)
    told = (own, behaviour.ours(node))
    specs = pod.spec.init_containers + pod.spec.containers
    problems = [*behaviour.unknown(own, [one.name for one in specs])]
    lasting = msgspec.structs.replace(REGULAR, start_delay=defaults.start_delay, ready_delay=defaults.ready_delay)

    def planned(spec: ContainerSpec, role: Role) -> Plan:
        default = ONE_SHOT if role == "init" else lasting
        found, misread = behaviour.of_container(spec.name, is_regular=role == "regular", default=default, told=told)
        problems.extend(misread)
        return _plan(pod, spec, role, found)

    plan = PodPlan(
        policy=pod.spec.restart_policy,
        grace=pod.spec.termination_grace_period_seconds,
        init=tuple(
            planned(one, "sidecar" if one.restart_policy == "Always" else "init") for one in pod.spec.init_containers
        ),
        regular=tuple(planned(one, "regular") for one in pod.spec.containers),
        deadline=pod.spec.active_deadline_seconds,
    )
    return plan, tuple(dict.fromkeys(problems))


def _plan(pod: PodRecord, spec: ContainerSpec, role: Role, found: Behaviour) -> Plan:
    return Plan(
        name=spec.name,
        role=role,
        behaviour=found,
        policy=spec.restart_policy or pod.spec.restart_policy,
        rules=tuple(
            containers.RestartRule(frozenset(rule.exit_codes.values), rule.exit_codes.operator == "In")
            for rule in spec.restart_policy_rules
            if rule.action == "Restart" and rule.exit_codes is not None
        ),
        startup_delay=0.0 if spec.startup_probe is None else spec.startup_probe.initial_delay_seconds,
        readiness_delay=0.0 if spec.readiness_probe is None else spec.readiness_probe.initial_delay_seconds,
        ends_from_outside=spec.name == WAITER and role == "init",
        seed=f"{pod.metadata.uid}/{spec.name}",
    )
