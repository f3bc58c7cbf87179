"""That no two things that Grove makes for a PodCliqueSet get the same name, whatever their numbers are.

Names are compared as forms: the words between dashes, with a wildcard for every index. The work grows with the number
of names, not with its square: a hostile manifest must not hold up the webhook.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations_with_replacement
from typing import Final

import msgspec

from grove.api.errors import Path, Problems
from grove.api.kinds.podcliqueset import PodCliqueSet
from grove.api.kinds.scaling import ResourceSharing
from grove.api.validation.places import CLIQUES, GROUPS, SHARING

Words = tuple[str | None, ...]
"""The words of a name; None where an index stands."""

_INDEX: Final = re.compile(r"0|[1-9][0-9]*")
_ALL: Final = "all"


class Form(msgspec.Struct, frozen=True):
    """The form of a generated name behind `<set>-<replica>-`."""

    words: Words
    path: Path
    what: str


def check(pcs: PodCliqueSet, problems: Problems) -> None:
    """Reports names that would be given twice."""
    for forms in (_cliques(pcs), _autoscalers(pcs), _gangs(pcs), _claims(pcs)):
        for one, other in meetings(list(forms)):
            # Two of the same list with the same name are duplicates, which are reported as such.
            if one.words == other.words and one.path.steps[:-2] == other.path.steps[:-2]:
                continue
            problems.invalid(
                other.path,
                other.what,
                f"would give the same generated name as {one.what} ({one.path}), as in <name>-0-{_common(one, other)}",
                "rename one of them",
            )


def meetings(forms: Sequence[Form]) -> Iterator[tuple[Form, Form]]:
    """Forms that for some indices give the same name: of each that meets earlier ones, the first of a kind."""
    order = {id(form): position for position, form in enumerate(forms)}
    alike: dict[Words, dict[frozenset[int], list[Form]]] = defaultdict(lambda: defaultdict(list))
    for form in forms:
        # Only forms that agree in everything but numbers can meet.
        shape = tuple(None if word is None or _INDEX.fullmatch(word) else word for word in form.words)
        alike[shape][frozenset(place for place, word in enumerate(form.words) if word is None)].append(form)
    for by_wildcards in alike.values():
        for mine, theirs in combinations_with_replacement(by_wildcards, 2):
            # Where either has a wildcard they agree already; the rest must be equal word for word.
            hidden = mine | theirs
            first: dict[Words, Form] = {}
            for form in by_wildcards[mine]:
                first.setdefault(_outside(form, hidden), form)
            for form in by_wildcards[theirs]:
                met = first.get(_outside(form, hidden))
                if met is not None and met is not form:
                    yield (met, form) if order[id(met)] < order[id(form)] else (form, met)


def _outside(form: Form, hidden: frozenset[int]) -> Words:
    return tuple(word for place, word in enumerate(form.words) if place not in hidden)


def _common(one: Form, other: Form) -> str:
    return "-".join(mine or theirs or "0" for mine, theirs in zip(one.words, other.words, strict=True))


def _words(name: str) -> Words:
    return tuple(name.split("-"))


def _members(pcs: PodCliqueSet) -> set[str]:
    return {name for group in pcs.spec.template.pod_clique_scaling_groups for name in group.clique_names}


def _cliques(pcs: PodCliqueSet) -> Iterator[Form]:
    """The names of PodCliques."""
    template = pcs.spec.template
    position_of = {clique.name: position for position, clique in enumerate(template.cliques)}
    members = _members(pcs)
    for position, clique in enumerate(template.cliques):
        if clique.name not in members:
            yield Form(_words(clique.name), CLIQUES.index(position).field("name"), f"clique {clique.name}")
    for group in template.pod_clique_scaling_groups:
        for name in dict.fromkeys(group.clique_names):
            if name in position_of:
                path = CLIQUES.index(position_of[name]).field("name")
                words = (*_words(group.name), None, *_words(name))
                yield Form(words, path, f"clique {name} in scaling group {group.name}")


def _autoscalers(pcs: PodCliqueSet) -> Iterator[Form]:
    """The names of HorizontalPodAutoscalers: those of what they scale."""
    template = pcs.spec.template
    members = _members(pcs)
    for position, clique in enumerate(template.cliques):
        if clique.spec.auto_scaling_config is not None and clique.name not in members:
            path = CLIQUES.index(position).field("name")
            yield Form(_words(clique.name), path, f"the autoscaler of clique {clique.name}")
    for position, group in enumerate(template.pod_clique_scaling_groups):
        if group.scale_config is not None:
            path = GROUPS.index(position).field("name")
            yield Form(_words(group.name), path, f"the autoscaler of scaling group {group.name}")


def _gangs(pcs: PodCliqueSet) -> Iterator[Form]:
    """The names of scaled PodGangs."""
    for position, group in enumerate(pcs.spec.template.pod_clique_scaling_groups):
        path = GROUPS.index(position).field("name")
        yield Form((*_words(group.name), None), path, f"scaling group {group.name}")


def _claims(pcs: PodCliqueSet) -> Iterator[Form]:
    """The names of ResourceClaims. Those of all replicas of the set have a word where others have its index."""
    template = pcs.spec.template
    groups = {name: group for group in template.pod_clique_scaling_groups for name in group.clique_names}
    per_replica = [(place, entry) for place, entry in enumerate(template.resource_sharing) if _is_per_replica(entry)]
    for place, entry in per_replica:
        yield Form(_words(entry.name), SHARING.index(place).field("name"), f"the claim {entry.name} of the set")
    for position, group in enumerate(template.pod_clique_scaling_groups):
        path = GROUPS.index(position).field("resourceSharing")
        yield from _claims_of(group.resource_sharing, _words(group.name), path, f"scaling group {group.name}")
    for position, clique in enumerate(template.cliques):
        path, owner = CLIQUES.index(position).field("resourceSharing"), groups.get(clique.name)
        words = (*_words(owner.name), None, *_words(clique.name)) if owner else _words(clique.name)
        yield from _claims_of(clique.resource_sharing, words, path, f"clique {clique.name}")


def _claims_of(entries: Iterable[ResourceSharing], owner: Words, path: Path, what: str) -> Iterator[Form]:
    for place, entry in enumerate(entries):
        words = (*owner, None if _is_per_replica(entry) else _ALL, *_words(entry.name))
        yield Form(words, path.index(place).field("name"), f"the claim {entry.name} of {what}")


def _is_per_replica(entry: ResourceSharing) -> bool:
    return entry.scope == "PerReplica"
