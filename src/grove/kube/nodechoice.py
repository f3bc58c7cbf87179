"""Whether a pod wants a node: its node selector and the node affinity that it requires. Pure.

`wants` is for one node. Who has many looks at each requirement once for every value that there is: `holds`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from grove.kube.affinity import Affinity, NodeSelectorTerm, Requirement

NAME: Final = "metadata.name"
"""The one field of nodes that can be asked for."""
LONGEST_NUMBER: Final = 64
_NUMBER: Final = re.compile(r"[+-]?[0-9]+")


def wants(
    selector: Mapping[str, str] | None, affinity: Affinity | None, *, name: str, labels: Mapping[str, str]
) -> bool:
    """Whether a node of this name with these labels is one that the pod may run on."""
    if any(labels.get(key) != value for key, value in (selector or {}).items()):
        return False
    required = None if affinity is None or affinity.node_affinity is None else affinity.node_affinity.required
    return required is None or any(matches(term, name, labels) for term in required.node_selector_terms)


def matches(term: NodeSelectorTerm, name: str, labels: Mapping[str, str]) -> bool:
    """Whether all that the term says holds."""
    if not (term.match_expressions or term.match_fields):
        return False  # an empty term matches nothing
    return all(holds(one, labels.get(one.key)) for one in term.match_expressions) and all(
        holds(one, name if one.key == NAME else None) for one in term.match_fields
    )


def holds(requirement: Requirement, value: str | None) -> bool:
    """Whether a requirement holds of a label's value; None: there is no such label."""
    match requirement.operator:
        case "In":
            return value is not None and value in requirement.values
        case "NotIn":
            return value is None or value not in requirement.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt":
            return _compares(requirement, value)
    return False  # an operator that came after us: better no node than a wrong one


def _compares(requirement: Requirement, value: str | None) -> bool:
    bounds = [_number(one) for one in requirement.values]
    number = None if value is None else _number(value)
    if number is None or len(bounds) != 1 or bounds[0] is None:
        return False
    return number > bounds[0] if requirement.operator == "Gt" else number < bounds[0]


def _number(text: str) -> int | None:
    """The number if Kubernetes takes it for one: Python reads `1_000` and ` 7` too."""
    if len(text) > LONGEST_NUMBER or not _NUMBER.fullmatch(text):
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None
