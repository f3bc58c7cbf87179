"""What may not change once a PodCliqueSet exists.

Fields declared immutable are compared one by one; here stand the rules that a flag can't say: the composition, the
order, annotations, and topology constraints with their two ways out of a deprecated spelling.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from grove.api import codec, labels
from grove.api.errors import Path, Problems, choices
from grove.api.fields import Struct, fields_of
from grove.api.kinds.podcliqueset import ANY_ORDER, PodCliqueSet
from grove.api.kinds.topology import TopologyConstraint
from grove.api.policy import Policy
from grove.api.validation import topology
from grove.api.validation.places import CLIQUES, GROUPS
from grove.api.validation.scheduling import scheduler_of

_TEMPLATE: Final = Path.parse("spec.template")
RECREATE: Final = "keep the old value; to change it, delete the PodCliqueSet and create it anew"


def check(pcs: PodCliqueSet, old: PodCliqueSet, policy: Policy, problems: Problems) -> None:
    """Reports every change that is not allowed."""
    same_cliques = _check_cliques(pcs, old, problems)
    same_groups = _check_groups(pcs, old, problems)
    _check_annotation(pcs.metadata.annotations, old.metadata.annotations, Path.parse("metadata"), problems)
    _check_flagged(pcs.spec.template, old.spec.template, _TEMPLATE, problems)
    if not same_cliques or not same_groups:
        return
    _check_scheduler(pcs, old, policy, problems)
    template, stored = pcs.spec.template, old.spec.template
    stored_cliques = {clique.name: position for position, clique in enumerate(stored.cliques)}
    stored_groups = {group.name: position for position, group in enumerate(stored.pod_clique_scaling_groups)}
    constraints = [
        _Change("PodCliqueSet", _TEMPLATE, _TEMPLATE, template.topology_constraint, stored.topology_constraint)
    ]
    for position, clique in enumerate(template.cliques):
        place = stored_cliques[clique.name]
        before, path = stored.cliques[place], CLIQUES.index(position)
        _check_flagged(clique, before, path, problems)
        _check_flagged(clique.spec, before.spec, path.field("spec"), problems)
        _check_annotation(clique.annotations, before.annotations, path, problems)
        constraints.append(
            _Change("PodClique", path, CLIQUES.index(place), clique.topology_constraint, before.topology_constraint)
        )
    for position, group in enumerate(template.pod_clique_scaling_groups):
        place = stored_groups[group.name]
        earlier, path = stored.pod_clique_scaling_groups[place], GROUPS.index(position)
        _check_flagged(group, earlier, path, problems)
        _check_annotation(group.annotations, earlier.annotations, path, problems)
        what = "PodCliqueScalingGroup"
        constraints.append(
            _Change(what, path, GROUPS.index(place), group.topology_constraint, earlier.topology_constraint)
        )
    _check_constraints(pcs, old, constraints, policy, problems)


def _check_cliques(pcs: PodCliqueSet, old: PodCliqueSet, problems: Problems) -> bool:
    """Whether the set of cliques is the same, and in the same order where that matters."""
    names = [clique.name for clique in pcs.spec.template.cliques]
    stored = [clique.name for clique in old.spec.template.cliques]
    same = _check_composition(
        names,
        stored,
        CLIQUES,
        counts="not allowed to change clique composition",
        added="not allowed to change clique composition, new clique name '{}' is not allowed",
        problems=problems,
    )
    if same and pcs.spec.template.clique_startup_type != ANY_ORDER:
        for position, (name, expected) in enumerate(zip(names, stored, strict=True)):
            if name != expected:
                problems.invalid(
                    CLIQUES.index(position).field("name"),
                    name,
                    "clique order cannot be changed when StartupType is InOrder or Explicit. Expected "
                    f"'{expected}' at position {position}, got '{name}'",
                    "list the cliques in their old order",
                )
    return same


def _check_groups(pcs: PodCliqueSet, old: PodCliqueSet, problems: Problems) -> bool:
    return _check_composition(
        [group.name for group in pcs.spec.template.pod_clique_scaling_groups],
        [group.name for group in old.spec.template.pod_clique_scaling_groups],
        GROUPS,
        counts="not allowed to add or remove PodCliqueScalingGroupConfigs",
        added="not allowed to change scaling group composition, new scaling group name '{}' is not allowed",
        problems=problems,
    )


def _check_composition(
    names: Sequence[str], stored: Sequence[str], path: Path, *, counts: str, added: str, problems: Problems
) -> bool:
    if len(names) != len(stored):
        problems.invalid(path, sorted(names), counts, f"keep exactly these: {choices(stored)}. {RECREATE}")
        return False
    known = set(stored)
    new = [(position, name) for position, name in enumerate(names) if name not in known]
    for position, name in new:
        problems.invalid(path.index(position).field("name"), name, added.format(name), RECREATE)
    return not new


def _check_flagged(new: Struct, old: Struct, path: Path, problems: Problems) -> None:
    """Compares the fields that are declared immutable."""
    for info in fields_of(type(new)):
        if not info.declared.immutable:
            continue
        value, before = getattr(new, info.name), getattr(old, info.name)
        if value != before:
            problems.invalid(path.field(info.json_name), codec.readable(value), "field is immutable", _keep(before))


def _keep(before: Any) -> str:
    if isinstance(before, str | int) and before != "":
        return f"keep {before!r}; to change it, delete the PodCliqueSet and create it anew"
    return RECREATE


def _check_scheduler(pcs: PodCliqueSet, old: PodCliqueSet, policy: Policy, problems: Problems) -> None:
    value, before = scheduler_of(pcs, policy), scheduler_of(old, policy)
    if value != before:
        path = CLIQUES.index(0).field("spec", "podSpec", "schedulerName")
        problems.invalid(path, value, "field is immutable", _keep(before))


def _check_annotation(
    new: Mapping[str, str] | None, old: Mapping[str, str] | None, path: Path, problems: Problems
) -> None:
    key = labels.MNNVL_GROUP
    value, before = (new or {}).get(key), (old or {}).get(key)
    if value != before:
        problems.invalid(path.field("annotations").key(key), value, "annotation is immutable", RECREATE)


class _Change(msgspec.Struct, frozen=True):
    """A constraint and what it was."""

    what: str
    owner: Path
    old_owner: Path
    new: TopologyConstraint | None
    old: TopologyConstraint | None

    @property
    def path(self) -> Path:
        return self.owner.field("topologyConstraint")

    @property
    def old_path(self) -> Path:
        return self.old_owner.field("topologyConstraint")


def _check_constraints(
    pcs: PodCliqueSet, old: PodCliqueSet, changes: Sequence[_Change], policy: Policy, problems: Problems
) -> None:
    names, old_names = topology.names_in_force(pcs), topology.names_in_force(old)
    # Objects from before bindings had names state a packDomain that no topology explains: they may be put right.
    # Lenient mode has turned the packDomain of the stored object into pack.required already.
    legacy = {
        change.path
        for change in changes
        if change.old is not None
        and old_names[change.old_path] is None
        and (change.old.pack_domain or not policy.strict)
    }
    before = len(problems.errors)
    for change in changes:
        _check_constraint(change, change.path in legacy, problems)
        if change.new is not None and change.new.pack_domain is not None:
            problems.warn(
                change.path.field("packDomain"),
                f"{change.path}.packDomain is deprecated; use {change.path}.pack.required instead",
                "write pack.required",
            )
    if any(names.get(path) for path in legacy) and len(problems.errors) == before:
        topology.check(pcs, policy, problems)


def _check_constraint(change: _Change, may_gain_name: bool, problems: Problems) -> None:
    what, path, new, old = change.what, change.path, change.new, change.old
    if new is None and old is None:
        return
    if old is None:
        problems.invalid(path, _text(new), f"{what} topology constraint cannot be added after creation", RECREATE)
        return
    if new is None:
        problems.invalid(path, None, f"{what} topology constraint cannot be removed after creation", RECREATE)
        return
    if new.topology_name != old.topology_name and not may_gain_name:
        problems.invalid(
            path.field("topologyName"),
            new.topology_name,
            f"{what} topologyName cannot be changed from '{old.topology_name or ''}' to '{new.topology_name or ''}'",
            RECREATE,
        )
    if (new.required_domain, new.preferred_domain) != (old.required_domain, old.preferred_domain):
        problems.invalid(
            path,
            _text(new),
            f"{what} topology constraint cannot be changed from {_text(old)} to {_text(new)}",
            RECREATE,
        )


def _text(constraint: TopologyConstraint | None) -> str:
    if constraint is None:
        return ""
    return f'required="{constraint.required_domain or ""}" preferred="{constraint.preferred_domain or ""}"'
