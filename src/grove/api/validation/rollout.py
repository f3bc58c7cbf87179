"""Rolling updates: budgets that let them go on, where the strategy reads them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from grove.api import durations
from grove.api.errors import Path, Problems
from grove.api.kinds.podcliqueset import PodCliqueSet
from grove.api.kinds.scaling import RollingUpdate
from grove.api.validation.cliques import check_positive
from grove.api.validation.places import CLIQUES, GROUPS

STRATEGY = Path.parse("spec.updateStrategy.type")


def strategy_of(pcs: PodCliqueSet) -> str:
    """The update strategy in force."""
    return pcs.spec.update_strategy.type if pcs.spec.update_strategy else "RollingRecreate"


def check(pcs: PodCliqueSet, problems: Problems) -> None:
    """Reports rollingUpdate settings that would never be read or never let an update end."""
    template = pcs.spec.template
    members = {name: group.name for group in template.pod_clique_scaling_groups for name in group.clique_names}
    for position, clique in enumerate(template.cliques):
        if clique.rolling_update is not None and clique.name in members:
            problems.forbidden(
                CLIQUES.index(position).field("rollingUpdate"),
                "is not allowed for a clique in a scaling group, which is updated as a whole",
                f"move it to scaling group {members[clique.name]}",
            )
    for path, settings, replicas, minimum in _settings(pcs):
        _check_settings(settings, replicas, minimum, strategy_of(pcs), path, problems)


def _settings(pcs: PodCliqueSet) -> Iterator[tuple[Path, RollingUpdate, int, int]]:
    template = pcs.spec.template
    for position, clique in enumerate(template.cliques):
        if clique.rolling_update is not None:
            minimum = clique.spec.min_available or clique.spec.replicas
            yield CLIQUES.index(position).field("rollingUpdate"), clique.rolling_update, clique.spec.replicas, minimum
    for position, group in enumerate(template.pod_clique_scaling_groups):
        if group.rolling_update is not None:
            path = GROUPS.index(position).field("rollingUpdate")
            yield path, group.rolling_update, group.replicas, group.min_available


def _check_settings(
    settings: RollingUpdate, replicas: int, minimum: int, strategy: str, path: Path, problems: Problems
) -> None:
    if strategy == "OnDelete":
        problems.forbidden(
            path,
            "is not read with updateStrategy OnDelete, where pods are replaced when someone deletes them",
            "remove it, or choose another updateStrategy",
        )
    budget = settings.max_unavailable
    where = path.field("maxUnavailable")
    if budget is not None:
        check_positive(budget, where, problems)
        if replicas > 0 and budget > replicas:
            problems.invalid(where, budget, "must not be greater than replicas", f"use {replicas} or less")
        if strategy == "Coherent" and 0 < budget < minimum:
            problems.invalid(
                where,
                budget,
                "must be at least minAvailable with updateStrategy Coherent, which replaces complete sets",
                f"use {minimum} or more",
            )
    if settings.progress_deadline is not None:
        check_positive_duration(settings.progress_deadline, path.field("progressDeadline"), problems)


_FORM: Final = "write it as in 30s, 15m or 4h"


def check_positive_duration(text: str, path: Path, problems: Problems) -> None:
    """Reports a duration that is none, or not longer than nothing."""
    value = _parsed(text, path, problems)
    if value is not None and value <= 0:
        problems.invalid(path, text, f"{path.steps[-1]} must be greater than 0", _FORM)


def check_duration(text: str, path: Path, problems: Problems) -> None:
    """Reports a duration that is none, or shorter than nothing."""
    value = _parsed(text, path, problems)
    if value is not None and value < 0:
        problems.invalid(path, text, "must not be negative", "use 0s or more")


def _parsed(text: str, path: Path, problems: Problems) -> int | None:
    try:
        return durations.parse(text)
    except durations.InvalidDuration as error:
        problems.invalid(path, text, str(error), _FORM)
        return None
