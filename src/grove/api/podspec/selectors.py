"""Labels, label selectors, and the label keys that constraints add to a selector."""

from __future__ import annotations

from typing import Final

from grove.api import grammar
from grove.api.podspec.tree import Node, judge_always

SET_OPERATORS: Final = ("In", "NotIn")
PRESENCE_OPERATORS: Final = ("DoesNotExist", "Exists")


def check_labels(node: Node, key: str) -> None:
    """A map of labels."""
    for name, value in node.mapping(key).items():
        where = node.at(key).key(name)
        judge_always(where, name, grammar.qualified, node.problems)
        if isinstance(value, str):
            judge_always(where, value, grammar.label_value, node.problems)


def check(selector: Node) -> None:
    """A label selector."""
    check_labels(selector, "matchLabels")
    for requirement in selector.each("matchExpressions"):
        operator = requirement.text("operator")
        if operator not in (*SET_OPERATORS, *PRESENCE_OPERATORS, None):
            requirement.problems.invalid(
                requirement.at("operator"),
                operator,
                "not a valid selector operator",
                "use In, NotIn, Exists or DoesNotExist",
            )
        check_presence(requirement)
        check_key(requirement)
        check_values(requirement)


def check_presence(requirement: Node) -> None:
    """Values with the operators that compare, none with those that do not."""
    operator, values = requirement.text("operator"), requirement.items("values")
    if operator in SET_OPERATORS and not values:
        requirement.problems.required(
            requirement.at("values"),
            "must be specified when `operator` is 'In' or 'NotIn'",
            "list the values, or use Exists",
        )
    elif operator in PRESENCE_OPERATORS and values:
        requirement.problems.forbidden(
            requirement.at("values"),
            "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
            "remove the values, or use In",
        )


def check_key(requirement: Node) -> None:
    key = requirement.text("key")
    if key is not None:
        judge_always(requirement.at("key"), key, grammar.qualified, requirement.problems)


def check_values(requirement: Node) -> None:
    for where, value in requirement.texts("values"):
        judge_always(where, value, grammar.label_value, requirement.problems)


def check_label_keys(term: Node) -> None:
    """`matchLabelKeys` and `mismatchLabelKeys`: they add to a selector, so there must be one without those keys."""
    selector = term.child("labelSelector")
    for key in ("matchLabelKeys", "mismatchLabelKeys"):
        if not term.items(key):
            continue
        if not term.has("labelSelector"):
            term.problems.forbidden(
                term.at(key), "must not be specified when labelSelector is not set", "add a labelSelector"
            )
            continue
        for where, label in term.texts(key):
            judge_always(where, label, grammar.qualified, term.problems)
    mismatched = {label for _, label in term.texts("mismatchLabelKeys")}
    once, twice = _selected_keys(selector) if selector is not None else (set(), set())
    for where, label in term.texts("matchLabelKeys"):
        if label in mismatched:
            term.problems.invalid(
                where, label, "exists in both matchLabelKeys and mismatchLabelKeys", "keep it in one of them"
            )
        if label in twice:
            term.problems.invalid(
                where, label, "exists in both matchLabelKeys and labelSelector", "remove it from one of them"
            )
        elif label in once:
            term.problems.warn(
                where,
                f"labelSelector uses {label} as well, and pods that carry it are refused",
                "remove one of the two",
            )


def _selected_keys(selector: Node) -> tuple[set[str], set[str]]:
    """Keys that the selector uses, and those that an expression repeats.

    The API server merges `matchLabelKeys` into the selector before it looks for a double use, so it finds a single use
    only in pods that carry the label.
    """
    once = set(selector.mapping("matchLabels"))
    twice: set[str] = set()
    for requirement in selector.each("matchExpressions"):
        key = requirement.text("key")
        if key:
            (twice if key in once else once).add(key)
    return once, twice
