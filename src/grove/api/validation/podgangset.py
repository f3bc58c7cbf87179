"""PodGangSet and PodClique of `grove.dynamo.ai/v1`."""

from __future__ import annotations

from typing import Final

from grove.api import grammar, podspec
from grove.api.errors import Path, Problems
from grove.api.fields import as_mapping
from grove.api.kinds.podgangset import AffinityClique, PodGangSet
from grove.api.validation import metadata

_SPEC: Final = Path.parse("spec")
_TERMS: Final = _SPEC.field("topology", "preferredDuringSchedulingIgnoredDuringExecution")


def check(gang_set: PodGangSet) -> Problems:
    """Everything wrong with a PodGangSet."""
    problems = Problems()
    spec = gang_set.spec
    metadata.check(gang_set.metadata, problems)
    template = spec.template
    if template.metadata is not None:
        path = _SPEC.field("template", "metadata")
        metadata.check_labels(template.metadata.labels, path.field("labels"), problems)
        metadata.check_annotations(template.metadata.annotations, path.field("annotations"), problems)
    podspec.check(template.spec, _SPEC.field("template", "spec"), problems)
    if spec.replicas == 0:
        problems.warn(_SPEC.field("replicas"), "is 0: nothing will run", "set replicas to 1 or more")
    return problems


def check_clique(clique: AffinityClique) -> Problems:
    """Everything wrong with a PodClique of that API."""
    problems = Problems()
    metadata.check(clique.metadata, problems)
    selector = clique.spec.selector
    if not selector.get("matchLabels") and not selector.get("matchExpressions"):
        problems.required(
            _SPEC.field("selector"), "an empty selector would mean every pod", "state matchLabels or matchExpressions"
        )
    topology = clique.spec.topology
    terms = topology.preferred_during_scheduling_ignored_during_execution if topology else ()
    for position, term in enumerate(terms):
        path, weight = _TERMS.index(position), term.get("weight")
        if isinstance(weight, int) and not 1 <= weight <= 100:
            problems.invalid(path.field("weight"), weight, "must be in the range 1-100", "use 1 to 100")
        key = as_mapping(term.get("podAffinityTerm")).get("topologyKey")
        if not isinstance(key, str) or not grammar.is_qualified(key):
            where = path.field("podAffinityTerm", "topologyKey")
            problems.invalid(where, key, "is not a label key", "name a label of the nodes")
    if not terms:
        problems.warn(_SPEC.field("topology"), "states no wish: nothing will change", "add a weighted term")
    return problems
