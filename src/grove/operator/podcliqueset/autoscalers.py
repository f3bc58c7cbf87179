"""The HorizontalPodAutoscalers of cliques and scaling groups that ask for one. Pure.

What the API server fills in or writes in another way is no difference: one that is patched for it comes back the same
and would be patched for ever.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from grove.api import labels, names, quantities
from grove.api.fields import JSON
from grove.api.kinds.scaling import AutoScalingConfig
from grove.kube.resources import AUTOSCALERS, Resource
from grove.operator.podcliqueset import children
from grove.operator.podcliqueset.children import Patch, Plan
from grove.operator.resources import POD_CLIQUES, SCALING_GROUPS
from grove.operator.tree import GroupPlace, Tree
from grove.operator.views import AutoscalerView

SERVER_METRICS: Final[list[JSON]] = [
    {
        "type": "Resource",
        "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}},
    }
]
"""What the API server fills in where no metrics are stated."""


def plan(tree: Tree, existing: Iterable[AutoscalerView]) -> Plan:
    """What must be written so that there are the autoscalers that the template asks for, and no others."""
    return children.plan(wanted(tree), existing, _change)


def wanted(tree: Tree) -> list[JSON]:
    found = []
    for replica in range(tree.pcs.spec.replicas):
        for place in tree.standalone_places(replica):
            spec = tree.cliques[place.clique].spec
            if spec.auto_scaling_config is not None:
                name = tree.clique_name(place)
                found.append(_autoscaler(tree, replica, POD_CLIQUES, name, spec.auto_scaling_config, spec.replicas))
        for config in tree.groups.values():
            if config.scale_config is not None:
                name = tree.group_name(GroupPlace(replica, config.name))
                found.append(_autoscaler(tree, replica, SCALING_GROUPS, name, config.scale_config, config.replicas))
    return found


def _autoscaler(
    tree: Tree, replica: int, target: Resource, target_name: str, config: AutoScalingConfig, replicas: int
) -> JSON:
    name = names.autoscaler(target_name)
    marks = {**tree.common_labels(name, replica), labels.COMPONENT: labels.COMPONENT_AUTOSCALER}
    spec: JSON = {
        "scaleTargetRef": {"apiVersion": target.api_version, "kind": target.kind, "name": target_name},
        "minReplicas": replicas if config.min_replicas is None else config.min_replicas,
        "maxReplicas": config.max_replicas,
    }
    if config.metrics:
        spec["metrics"] = list(config.metrics)
    return {**children.body(tree, AUTOSCALERS, name, marks), "spec": spec}


def _change(body: JSON, held: AutoscalerView) -> Patch | None:
    wanted, live = body["spec"], held.spec
    target = live.scale_target_ref
    spec: JSON = {}
    if {"apiVersion": target.api_version, "kind": target.kind, "name": target.name} != wanted["scaleTargetRef"]:
        spec["scaleTargetRef"] = wanted["scaleTargetRef"]
    if live.min_replicas != wanted["minReplicas"]:
        spec["minReplicas"] = wanted["minReplicas"]
    if live.max_replicas != wanted["maxReplicas"]:
        spec["maxReplicas"] = wanted["maxReplicas"]
    stated = wanted.get("metrics", SERVER_METRICS if live.metrics else [])
    if not is_same(stated, list(live.metrics)):
        spec["metrics"] = wanted.get("metrics")  # null: the server fills them in again
    return children.patch_of(body, held.metadata, {"spec": spec} if spec else {})


def is_same(wanted: Any, held: Any) -> bool:
    """Whether what is held says what is wanted: more fields may be filled in, and amounts be written differently."""
    if isinstance(wanted, Mapping) and isinstance(held, Mapping):
        return all(key in held and is_same(value, held[key]) for key, value in wanted.items() if value is not None)
    if isinstance(wanted, list | tuple) and isinstance(held, list | tuple):
        return len(wanted) == len(held) and all(map(is_same, wanted, held))
    return wanted == held or _is_same_amount(wanted, held)


def _is_same_amount(wanted: Any, held: Any) -> bool:
    if not isinstance(wanted, str | int) or not isinstance(held, str | int):
        return False
    try:
        return quantities.nano(wanted) == quantities.nano(held)
    except quantities.InvalidQuantity:
        return False
