"""What a PodCliqueSet is made of: the places of its PodCliques, scaling groups and gangs, and what stands there. Pure.

A `CliquePlace` says where a PodClique stands in its set; names, labels and gang follow from it. Nothing here looks at
what exists, except for how often a scaling group is to exist, which users and autoscalers decide on the live object.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import Any, Final, Protocol

import msgspec

from grove.api import grammar, hashes, labels, names
from grove.api.fields import JSON
from grove.api.kinds.podclique import CliqueSpec
from grove.api.kinds.podcliqueset import CliqueTemplate, PodCliqueSet, PodCliqueSetTemplate, ScalingGroupConfig
from grove.operator import startup

TEMPLATE_REPLICAS: Final = "grove.io/template-replicas"
"""Annotation of PodCliques and scaling groups: the replicas of the template that they were last told of."""


class Copies(Protocol):
    """How often scaling groups are to exist, by replica of the set and name of the group.

    None for those that are not there yet: they are to exist as often as their template says. A dict will do.
    """

    def get(self, place: tuple[int, str], /) -> int | None: ...


class TemplateHashes:
    """The hashes of a template, worked out when they are asked for."""

    def __init__(self, template: PodCliqueSetTemplate) -> None:
        self._template = template

    @functools.cached_property
    def whole(self) -> str:
        return hashes.generation_hash(self._template)

    @functools.cached_property
    def by_clique(self) -> Mapping[str, str]:
        priority = self._template.priority_class_name
        return {one.name: hashes.pod_template_hash(one, priority) for one in self._template.cliques}


class CliquePlace(msgspec.Struct, frozen=True):
    """Where a PodClique stands: in which replica of the set, and in which copy of which scaling group, if any."""

    replica: int
    clique: str
    group: str = ""
    copy: int = -1


class GroupPlace(msgspec.Struct, frozen=True):
    """Where a scaling group stands."""

    replica: int
    group: str


class GangPlace(msgspec.Struct, frozen=True):
    """Which gang: the base gang of a replica, or the scaled one of a group's copy."""

    replica: int
    group: str = ""
    copy: int = -1

    @property
    def is_scaled(self) -> bool:
        return bool(self.group)


class Tree:
    """A PodCliqueSet taken apart. Made anew for each reconcile: it costs next to nothing until it is asked.

    `hashes` are those of this very template, where somebody has worked them out before.
    """

    def __init__(self, pcs: PodCliqueSet, copies: Copies, hashes: TemplateHashes | None = None) -> None:
        self.pcs = pcs
        self.name = pcs.metadata.name
        self.namespace = pcs.metadata.namespace or ""
        self.template = pcs.spec.template
        self.cliques: Mapping[str, CliqueTemplate] = {one.name: one for one in self.template.cliques}
        self.groups: Mapping[str, ScalingGroupConfig] = {
            one.name: one for one in self.template.pod_clique_scaling_groups
        }
        self.group_of: Mapping[str, str] = {
            clique: group.name for group in self.template.pod_clique_scaling_groups for clique in group.clique_names
        }
        self._copies = copies
        self._hashes = hashes or TemplateHashes(pcs.spec.template)

    # Places

    def copies(self, replica: int, group: str) -> int:
        """How often a scaling group is to exist in a replica."""
        found = self._copies.get((replica, group))
        return self.groups[group].replicas if found is None else found

    @property
    def standalone(self) -> tuple[CliqueTemplate, ...]:
        """The cliques outside scaling groups, in the order of the template."""
        return tuple(one for one in self.template.cliques if one.name not in self.group_of)

    def standalone_places(self, replica: int) -> list[CliquePlace]:
        return [CliquePlace(replica, one.name) for one in self.standalone]

    def member_places(self, replica: int, group: str, copy: int) -> list[CliquePlace]:
        return [CliquePlace(replica, clique, group, copy) for clique in self.groups[group].clique_names]

    def gangs(self) -> Iterator[GangPlace]:
        """All gangs: of each replica the base gang, then the scaled ones."""
        for replica in range(self.pcs.spec.replicas):
            yield GangPlace(replica)
            for group, config in self.groups.items():
                for copy in range(config.min_available, self.copies(replica, group)):
                    yield GangPlace(replica, group, copy)

    def has_gang(self, place: GangPlace) -> bool:
        """Whether there is to be this gang."""
        if not 0 <= place.replica < self.pcs.spec.replicas:
            return False
        if not place.is_scaled:
            return True
        config = self.groups.get(place.group)
        return config is not None and config.min_available <= place.copy < self.copies(place.replica, place.group)

    def gang_of(self, place: CliquePlace) -> GangPlace:
        """The gang to which the pods of a clique belong."""
        if place.group and place.copy >= self.groups[place.group].min_available:
            return GangPlace(place.replica, place.group, place.copy)
        return GangPlace(place.replica)

    def gang_cliques(self, place: GangPlace) -> list[CliquePlace]:
        """The cliques of a gang, in the order in which its pod groups stand."""
        if place.is_scaled:
            return self.member_places(place.replica, place.group, place.copy)
        found = self.standalone_places(place.replica)
        for group, config in self.groups.items():
            for copy in range(min(config.min_available, self.copies(place.replica, group))):
                found += self.member_places(place.replica, group, copy)
        return found

    # Names

    def clique_name(self, place: CliquePlace) -> str:
        if place.group:
            return names.member_clique(self.name, place.replica, place.group, place.copy, place.clique)
        return names.standalone_clique(self.name, place.replica, place.clique)

    def group_name(self, place: GroupPlace) -> str:
        return names.scaling_group(self.name, place.replica, place.group)

    def gang_name(self, place: GangPlace) -> str:
        if place.is_scaled:
            number = place.copy - self.groups[place.group].min_available
            return names.scaled_gang(self.name, place.replica, place.group, number)
        return names.base_gang(self.name, place.replica)

    # Hashes

    @property
    def generation_hash(self) -> str:
        return self._hashes.whole

    @property
    def template_hashes(self) -> Mapping[str, str]:
        """By the name of the clique."""
        return self._hashes.by_clique

    # What stands at a place

    def common_labels(self, name: str, replica: int) -> dict[str, str]:
        """The labels of everything that is made for a replica; kinds add their component, and more."""
        return {
            **labels.common(self.name),
            labels.NAME: name,
            labels.POD_CLIQUE_SET: self.name,
            labels.POD_CLIQUE_SET_REPLICA_INDEX: str(replica),
        }

    def clique_labels(self, place: CliquePlace) -> dict[str, str]:
        """The labels of a PodClique; its pods carry them too."""
        template = self.cliques[place.clique]
        gang = self.gang_of(place)
        found = dict(template.labels or {})
        found |= self.common_labels(self.clique_name(place), place.replica)
        found |= {
            labels.COMPONENT: labels.COMPONENT_MEMBER_CLIQUE if place.group else labels.COMPONENT_STANDALONE_CLIQUE,
            labels.CLIQUE: names.shorten(place.clique, names.LABEL_LIMIT),
            labels.POD_GANG: self.gang_name(gang),
            labels.POD_TEMPLATE_HASH: self.template_hashes[place.clique],
        }
        if grammar.is_label_value(role := template.spec.role_name):
            found[labels.ROLE] = role
        if place.group:
            found[labels.SCALING_GROUP] = self.group_name(GroupPlace(place.replica, place.group))
            found[labels.SCALING_GROUP_REPLICA_INDEX] = str(place.copy)
        if gang.is_scaled:
            found[labels.BASE_POD_GANG] = self.gang_name(GangPlace(place.replica))
        return found

    def clique_annotations(self, place: CliquePlace) -> dict[str, str]:
        """Those of the template, which its pods carry too, and Grove's own."""
        template = self.cliques[place.clique]
        found = {key: text for key, text in (template.annotations or {}).items() if key != labels.TOPOLOGY_NAME}
        return found | {TEMPLATE_REPLICAS: str(template.spec.replicas)}

    def clique_spec(self, place: CliquePlace) -> JSON:
        """The spec of a new PodClique."""
        template = self.cliques[place.clique]
        spec: JSON = {
            "roleName": template.spec.role_name,
            "replicas": template.spec.replicas,
            "minAvailable": least(template.spec),
            "podSpec": self.pod_spec(place),
        }
        if parents := self.parents(place):
            spec["startsAfter"] = [self.clique_name(one) for one in parents]
        if template.spec.auto_scaling_config and not place.group:
            spec["autoScalingConfig"] = _tree(template.spec.auto_scaling_config)
        if template.rolling_update and not place.group:
            spec["rollingUpdate"] = _tree(template.rolling_update)
        return spec

    def pod_spec(self, place: CliquePlace) -> JSON:
        """The template's pod spec with what the whole clique has in common added."""
        template = self.cliques[place.clique]
        spec = template.spec.pod_spec
        if priority := self.template.priority_class_name:
            spec = {"priorityClassName": priority, **spec} if not spec.get("priorityClassName") else spec
        if not place.group:
            return spec
        return with_environment(spec, self._group_environment(place.group))

    def group_labels(self, place: GroupPlace) -> dict[str, str]:
        found = self.common_labels(self.group_name(place), place.replica)
        return found | {labels.COMPONENT: labels.COMPONENT_SCALING_GROUP}

    def group_annotations(self, place: GroupPlace) -> dict[str, str]:
        config = self.groups[place.group]
        found = dict(config.annotations or {})
        inherited = (self.pcs.metadata.annotations or {}).get(labels.MNNVL_GROUP)
        if inherited is not None:
            found.setdefault(labels.MNNVL_GROUP, inherited)
        return found | {TEMPLATE_REPLICAS: str(config.replicas)}

    def group_spec(self, place: GroupPlace) -> JSON:
        """The spec of a new scaling group."""
        config = self.groups[place.group]
        spec: JSON = {
            "replicas": config.replicas,
            "minAvailable": config.min_available,
            "cliqueNames": list(config.clique_names),
        }
        if config.rolling_update:
            spec["rollingUpdate"] = _tree(config.rolling_update)
        return spec

    def parents(self, place: CliquePlace) -> list[CliquePlace]:
        """The cliques that must be ready before the containers of this one start."""
        return startup.parents(self, place)

    def _group_environment(self, group: str) -> list[JSON]:
        pods = sum(self.cliques[name].spec.replicas for name in self.groups[group].clique_names)
        return [
            from_label(labels.ENV_GROUP_NAME, labels.SCALING_GROUP),
            {"name": labels.ENV_GROUP_TEMPLATE_PODS, "value": str(pods)},
            from_label(labels.ENV_GROUP_INDEX, labels.SCALING_GROUP_REPLICA_INDEX),
        ]


def least(spec: CliqueSpec) -> int:
    """A clique's minAvailable; the webhook fills it in, and where it did not run, it is all pods."""
    return spec.replicas if spec.min_available is None else spec.min_available


def from_label(name: str, label: str) -> JSON:
    """An environment variable that a pod's label gives its value."""
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": f"metadata.labels['{label}']"}}}


def with_environment(pod_spec: JSON, variables: list[JSON]) -> JSON:
    """The pod spec with these variables first in all containers; the user's own of the same names are left out."""
    taken = {one["name"] for one in variables}

    def extended(container: JSON) -> JSON:
        own = [one for one in container.get("env") or () if one.get("name") not in taken]
        return {**container, "env": [*variables, *own]}

    changed = {
        field: [extended(one) for one in pod_spec[field]]
        for field in ("initContainers", "containers")
        if pod_spec.get(field)
    }
    return {**pod_spec, **changed}


def _tree(value: Any) -> JSON:
    tree: JSON = msgspec.to_builtins(value)
    return {key: one for key, one in tree.items() if one not in (None, [], "")}
