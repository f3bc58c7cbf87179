"""The annotation `grove.io/mnnvl-group`: which pods share a multi-node NVLink domain."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from grove.api import grammar, labels, quantities
from grove.api.errors import Path, Problems
from grove.api.fields import JSON, as_mapping
from grove.api.kinds.podcliqueset import PodCliqueSet
from grove.api.policy import Policy
from grove.api.validation.places import CLIQUES, GROUPS

GPU: Final = "nvidia.com/gpu"


def check(pcs: PodCliqueSet, policy: Policy, problems: Problems) -> None:
    """Reports groups that can't be, and cliques in a group that have nothing to share."""
    for path, value in groups_of(pcs):
        if not value:
            problems.invalid(path, value, "must not be empty", f'name a group, or "{labels.MNNVL_OPTED_OUT}"')
        elif value != labels.MNNVL_OPTED_OUT and not policy.mnnvl_enabled:
            problems.invalid(
                path,
                value,
                "multi-node NVLink is not enabled in OperatorConfiguration",
                f'remove the annotation, set it to "{labels.MNNVL_OPTED_OUT}", or enable network.autoMNNVLEnabled',
            )
        elif not grammar.is_label(value):
            problems.invalid(
                path, value, "must be a DNS-1123 label", "use at most 63 lower case letters, digits and '-'"
            )
    for position, clique in enumerate(pcs.spec.template.cliques):
        own = (clique.annotations or {}).get(labels.MNNVL_GROUP)
        if own and own != labels.MNNVL_OPTED_OUT and not uses_gpu(clique.spec.pod_spec):
            problems.invalid(
                CLIQUES.index(position).field("annotations").key(labels.MNNVL_GROUP),
                own,
                f"no container of clique {clique.name} asks for {GPU}",
                "remove the annotation, or ask for GPUs",
            )


def groups_of(pcs: PodCliqueSet) -> Iterator[tuple[Path, str]]:
    """Every place where the annotation is set, with its value."""
    places: list[tuple[Path, Mapping[str, str] | None]] = [(Path.parse("metadata"), pcs.metadata.annotations)]
    template = pcs.spec.template
    places += [(CLIQUES.index(position), clique.annotations) for position, clique in enumerate(template.cliques)]
    places += [
        (GROUPS.index(position), group.annotations) for position, group in enumerate(template.pod_clique_scaling_groups)
    ]
    for path, stated in places:
        if stated and labels.MNNVL_GROUP in stated:
            yield path.field("annotations").key(labels.MNNVL_GROUP), stated[labels.MNNVL_GROUP]


def uses_gpu(pod_spec: JSON) -> bool:
    """Whether any container of the pod asks for GPUs."""
    containers = [*_list(pod_spec.get("containers")), *_list(pod_spec.get("initContainers"))]
    return any(_asks_for_gpu(as_mapping(container)) for container in containers)


def _asks_for_gpu(container: Mapping[str, Any]) -> bool:
    resources = as_mapping(container.get("resources"))
    amounts = (as_mapping(resources.get(part)).get(GPU) for part in ("limits", "requests"))
    return any(_positive(amount) for amount in amounts)


def _positive(amount: Any) -> bool:
    if not isinstance(amount, str | int):
        return False
    try:
        return quantities.nano(amount) > 0
    except quantities.InvalidQuantity:
        return False


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
