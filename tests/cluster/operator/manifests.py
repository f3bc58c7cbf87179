"""Workloads for the stories: small ones, whose pods tolerate the fleet's taint."""

from typing import Any

JSON = dict[str, Any]

TOLERATIONS = [{"key": "fake-node", "operator": "Equal", "value": "true", "effect": "NoSchedule"}]


def clique(
    name: str,
    replicas: int,
    *,
    least: int | None = None,
    image: str = "main:v1",
    after: tuple[str, ...] = (),
    **pod: Any,
) -> JSON:
    """A clique of a template."""
    spec: JSON = {
        "replicas": replicas,
        "podSpec": {
            "tolerations": TOLERATIONS,
            "terminationGracePeriodSeconds": 1,
            "containers": [{"name": "main", "image": image, "resources": {"requests": {"cpu": "1"}}}],
            **pod,
        },
    }
    if least is not None:
        spec["minAvailable"] = least
    if after:
        spec["startsAfter"] = list(after)
    return {"name": name, "spec": spec}


def group(name: str, cliques: list[str], replicas: int, *, least: int = 1, **more: Any) -> JSON:
    return {"name": name, "cliqueNames": cliques, "replicas": replicas, "minAvailable": least, **more}


def workload(
    name: str, cliques: list[JSON], *, replicas: int = 1, groups: list[JSON] | None = None, **more: Any
) -> JSON:
    """A PodCliqueSet; `more` goes into its spec, but `template` into the template."""
    template = {"cliques": cliques, **more.pop("template", {})}
    if groups:
        template["podCliqueScalingGroups"] = groups
    return {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "PodCliqueSet",
        "metadata": {"name": name},
        "spec": {"replicas": replicas, "template": template, **more},
    }


def served(
    name: str, *, replicas: int = 1, copies: int = 2, least: int = 1, image: str = "main:v1", **more: Any
) -> JSON:
    """A router, and model instances of a leader with two workers."""
    cliques = [
        clique("router", 2, least=1, image=image),
        clique("leader", 1, image=image),
        clique("worker", 2, image=image),
    ]
    groups = [group("model", ["leader", "worker"], copies, least=least)]
    return workload(name, cliques, replicas=replicas, groups=groups, **more)


def pods_of(name: str, *, replicas: int = 1, copies: int = 2, routers: int = 2) -> dict[str, int]:
    """How many pods each PodClique of `served` has."""
    found = {}
    for replica in range(replicas):
        found[f"{name}-{replica}-router"] = routers
        for copy in range(copies):
            found[f"{name}-{replica}-model-{copy}-leader"] = 1
            found[f"{name}-{replica}-model-{copy}-worker"] = 2
    return found
