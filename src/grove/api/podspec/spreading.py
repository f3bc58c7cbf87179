"""Topology spread constraints."""

from __future__ import annotations

from typing import Final

from grove.api.podspec import selectors
from grove.api.podspec.tree import Node

ACTIONS: Final = ("DoNotSchedule", "ScheduleAnyway")
POLICIES: Final = ("Honor", "Ignore")


def check(spec: Node) -> None:
    """The constraints of a pod: a topology key and what to do without a place are the identity of one."""
    seen: set[tuple[str, str]] = set()
    for constraint in spec.each("topologySpreadConstraints"):
        skew = constraint.number("maxSkew")
        if not constraint.has("maxSkew") or (skew is not None and skew < 1):
            constraint.problems.invalid(
                constraint.at("maxSkew"), skew or 0, "must be greater than zero", "use 1 for the most even spread"
            )
        key, action = constraint.text("topologyKey"), constraint.text("whenUnsatisfiable")
        constraint.need(
            "topologyKey", "name a node label, such as topology.kubernetes.io/zone", None, "can not be empty"
        )
        if action == "":
            constraint.problems.unsupported(constraint.at("whenUnsatisfiable"), action, ACTIONS)
        constraint.choose("whenUnsatisfiable", ACTIONS)
        if key and action:
            if (key, action) in seen:
                constraint.problems.duplicate(
                    constraint.path,
                    f"{{{key}, {action}}}",
                    "keep one constraint for each topologyKey and whenUnsatisfiable",
                )
            seen.add((key, action))
        domains = constraint.number("minDomains")
        constraint.at_least("minDomains", 1)
        if domains is not None and action == "ScheduleAnyway":
            constraint.problems.invalid(
                constraint.at("minDomains"),
                domains,
                "can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway",
                "remove minDomains, or use DoNotSchedule",
            )
        for policy in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            constraint.choose(policy, POLICIES, may_be_empty=False)
        if (selector := constraint.child("labelSelector")) is not None:
            selectors.check(selector)
        selectors.check_label_keys(constraint)
