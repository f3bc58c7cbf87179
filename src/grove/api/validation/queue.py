"""Queue: shares that can be kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from grove.api import grammar, quantities
from grove.api.errors import Path, Problems
from grove.api.kinds.queue import Queue
from grove.api.validation import metadata

_SPEC: Final = Path.parse("spec")


def check(queue: Queue) -> Problems:
    """Everything wrong with a Queue on its own; the tree is the scheduler's business."""
    problems = Problems()
    metadata.check(queue.metadata, problems)
    parent = queue.spec.parent
    if parent is not None and not grammar.is_subdomain(parent):
        problems.invalid(_SPEC.field("parent"), parent, "cannot be the name of a queue", "name another Queue")
    guaranteed = check_amounts(queue.spec.guaranteed, _SPEC.field("guaranteed"), problems)
    limit = check_amounts(queue.spec.limit, _SPEC.field("limit"), problems)
    for resource, amount in guaranteed.items():
        if resource in limit and amount > limit[resource]:
            problems.invalid(
                _SPEC.field("guaranteed").key(resource),
                (queue.spec.guaranteed or {})[resource],
                "must not be greater than the limit",
                f"guarantee at most {(queue.spec.limit or {})[resource]}, or raise the limit",
            )
    return problems


def check_amounts(amounts: Mapping[str, str | int] | None, path: Path, problems: Problems) -> dict[str, int]:
    """The amounts in nano-units; reports those that are none."""
    parsed: dict[str, int] = {}
    for resource, amount in (amounts or {}).items():
        if not grammar.is_qualified(resource):
            problems.invalid(
                path.key(resource), resource, "is not the name of a resource", "as in cpu or nvidia.com/gpu"
            )
        try:
            parsed[resource] = quantities.nano(amount)
        except quantities.InvalidQuantity as error:
            problems.invalid(path.key(resource), amount, str(error), "write a quantity, as in 500m, 2 or 4Gi")
            continue
        if parsed[resource] < 0:
            problems.invalid(path.key(resource), amount, "must not be negative", "use 0 or more")
    return parsed
