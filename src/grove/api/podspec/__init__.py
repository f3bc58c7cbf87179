"""Would the API server create a pod from this spec? Asked before anything is made from it.

The structural schema judges types, required fields and enumerations; this package judges the rest of what Kubernetes
1.36 refuses, with the same verdict and a remedy each. Where a rule hangs on a feature gate that is off by default, the
spec is admitted with a warning. `tests/cluster/test_podspec_agrees.py` holds it to a real API server.
"""

from __future__ import annotations

from typing import Final

from grove.api import grammar
from grove.api.errors import Path, Problems
from grove.api.podspec import (
    affinity,
    claims,
    containers,
    gates,
    network,
    operatingsystem,
    podresources,
    probes,
    resources,
    security,
    spreading,
    tolerations,
    volumes,
)
from grove.api.podspec.tree import JSON, Node

NAMES: Final = ("serviceAccountName", "nodeName", "priorityClassName")
PREEMPTION_POLICIES: Final = ("Never", "PreemptLowerPriority")
RESTART_POLICIES: Final = ("Always", "Never", "OnFailure")
LONGEST_DEADLINE: Final = 2**31 - 1


def check(spec: JSON, path: Path, problems: Problems) -> None:
    """Adds to `problems` whatever makes the API server refuse pods of this spec, which stands at `path`."""
    pod = Node(spec, path, problems)
    everyone = [*pod.each("initContainers"), *pod.each("containers")]
    _check_own_fields(pod)
    volumes.check(pod)
    containers.check(pod, _surroundings(pod))
    podresources.check(pod)
    affinity.check(pod)
    tolerations.check(pod)
    spreading.check(pod)
    gates.check(pod)
    network.check(pod)
    security.check_pod(pod)
    security.check_user_namespace(pod, everyone)
    operatingsystem.check(pod, everyone)


def _surroundings(pod: Node) -> containers.Surroundings:
    grace = pod.number("terminationGracePeriodSeconds")
    return containers.Surroundings(
        volumes=volumes.by_name(pod),
        claims=claims.check(pod),
        grace=probes.DEFAULT_GRACE if grace is None else grace,
        host_network=pod.flag("hostNetwork"),
        host_users=pod.value.get("hostUsers") is not False,
        never_restarts=pod.text("restartPolicy") == "Never",
    )


def _check_own_fields(pod: Node) -> None:
    pod.choose("restartPolicy", RESTART_POLICIES)
    pod.choose("preemptionPolicy", PREEMPTION_POLICIES, may_be_empty=False)
    _check_priority(pod)
    pod.within("activeDeadlineSeconds", 1, LONGEST_DEADLINE)
    for key in NAMES:
        pod.judge(key, grammar.subdomain)
    if pod.has("runtimeClassName"):
        pod.need("runtimeClassName", "name the runtime class, or remove it", grammar.subdomain)
    if pod.text("nodeName") and pod.items("schedulingGates"):
        pod.problems.forbidden(
            pod.at("nodeName"), "cannot be set until all schedulingGates have been cleared", "remove nodeName"
        )
    resources.check_amounts(
        pod.mapping("overhead"), pod.at("overhead"), problems=pod.problems, rule=resources.container_name
    )


def _check_priority(pod: Node) -> None:
    """Admission takes priority and preemption from the priority class, and refuses what differs from it."""
    if pod.text("priorityClassName") != "":
        return
    for key, unusual in (
        ("priority", bool(pod.number("priority"))),
        ("preemptionPolicy", pod.text("preemptionPolicy") == "Never"),
    ):
        if unusual:
            pod.problems.warn(
                pod.at(key), "is refused unless the default priority class says the same", "name a priorityClassName"
            )
