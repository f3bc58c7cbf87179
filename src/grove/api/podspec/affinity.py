"""Where pods want to be: node selectors, node affinity, and pod affinity for and against."""

from __future__ import annotations

from typing import Final

from grove.api import grammar
from grove.api.podspec import selectors
from grove.api.podspec.tree import Node, judge_always

REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
ORDER_OPERATORS: Final = ("Gt", "Lt")
NODE_NAME_FIELD: Final = "metadata.name"
HEAVIEST: Final = 100


def check(spec: Node) -> None:
    """The node selector and the affinity of a pod."""
    selectors.check_labels(spec, "nodeSelector")
    affinity = spec.child("affinity")
    if affinity is None:
        return
    if (nodes := affinity.child("nodeAffinity")) is not None:
        _check_nodes(nodes)
    for key in ("podAffinity", "podAntiAffinity"):
        if (pods := affinity.child(key)) is not None:
            for term in pods.each(REQUIRED):
                _check_pod_term(term)
            for weighted in pods.each(PREFERRED):
                _check_weight(weighted)
                if (preferred := weighted.child("podAffinityTerm")) is not None:
                    _check_pod_term(preferred)


def _check_nodes(nodes: Node) -> None:
    required = nodes.child(REQUIRED)
    if required is not None:
        if not required.items("nodeSelectorTerms"):
            required.problems.required(
                required.at("nodeSelectorTerms"),
                "must have at least one node selector term",
                "add a term, or remove the affinity",
            )
        for term in required.each("nodeSelectorTerms"):
            _check_node_term(term, values_too=True)
    for weighted in nodes.each(PREFERRED):
        _check_weight(weighted)
        # A value that no label can have only makes a preference useless, and Kubernetes lets it pass.
        if (preference := weighted.child("preference")) is not None:
            _check_node_term(preference, values_too=False)


def _check_node_term(term: Node, *, values_too: bool) -> None:
    for requirement in term.each("matchExpressions"):
        operator = requirement.text("operator")
        if operator in ORDER_OPERATORS:
            if len(requirement.items("values")) != 1:
                requirement.problems.required(
                    requirement.at("values"),
                    "must be specified single value when `operator` is 'Lt' or 'Gt'",
                    "give one whole number",
                )
            _warn_of_words(requirement)
        elif operator not in (*selectors.SET_OPERATORS, *selectors.PRESENCE_OPERATORS, None):
            requirement.problems.invalid(
                requirement.at("operator"),
                operator,
                "not a valid selector operator",
                "use In, NotIn, Exists, DoesNotExist, Gt or Lt",
            )
        selectors.check_presence(requirement)
        selectors.check_key(requirement)
        if values_too:
            selectors.check_values(requirement)
    for requirement in term.each("matchFields"):
        _check_field(requirement)


def _warn_of_words(requirement: Node) -> None:
    for where, value in requirement.texts("values"):
        if not value.removeprefix("-").isdecimal():
            requirement.problems.warn(
                where, f'"{value}" is no whole number, so that no node matches', "write a whole number"
            )


def _check_field(requirement: Node) -> None:
    operator = requirement.text("operator")
    if operator in selectors.SET_OPERATORS:
        if len(requirement.items("values")) != 1:
            requirement.problems.required(
                requirement.at("values"), "must be only one value for a field of the node", "make a term of each value"
            )
    elif operator is not None:
        requirement.problems.invalid(
            requirement.at("operator"), operator, "not a valid selector operator", "use In or NotIn"
        )
    key = requirement.text("key")
    if key == NODE_NAME_FIELD:
        for where, value in requirement.texts("values"):
            judge_always(where, value, grammar.subdomain, requirement.problems)
    elif key is not None:
        requirement.problems.invalid(
            requirement.at("key"), key, "not a valid field selector key", f"use {NODE_NAME_FIELD}"
        )


def _check_weight(weighted: Node) -> None:
    weight = weighted.number("weight")
    if not weighted.has("weight") or (weight is not None and not 1 <= weight <= HEAVIEST):
        weighted.problems.invalid(
            weighted.at("weight"), weight or 0, f"must be in the range 1-{HEAVIEST}", f"use a weight up to {HEAVIEST}"
        )


def _check_pod_term(term: Node) -> None:
    for key in ("labelSelector", "namespaceSelector"):
        if (selector := term.child(key)) is not None:
            selectors.check(selector)
    for where, namespace in term.texts("namespaces"):
        judge_always(where, namespace, grammar.label, term.problems)
    selectors.check_label_keys(term)
    term.need("topologyKey", "name a node label, such as kubernetes.io/hostname", grammar.qualified, "can not be empty")
