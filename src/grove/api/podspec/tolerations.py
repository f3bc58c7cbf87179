"""Tolerations of taints."""

from __future__ import annotations

import re
from typing import Final

from grove.api import grammar
from grove.api.podspec.tree import Node

EFFECTS: Final = ("NoExecute", "NoSchedule", "PreferNoSchedule")
EQUALITY: Final = ("", "Equal")
ORDER: Final = ("Gt", "Lt")
_INTEGER: Final = re.compile(r"0|-?[1-9][0-9]*")
_INT64: Final = range(-(2**63), 2**63)


def check(spec: Node) -> None:
    """The tolerations of a pod."""
    for toleration in spec.each("tolerations"):
        operator, key = toleration.text("operator"), toleration.text("key")
        toleration.judge("key", grammar.qualified)
        if key == "" and operator not in ("Exists", None):
            toleration.problems.invalid(
                toleration.at("operator"),
                operator,
                'must be Exists when `key` is empty, which means "match all values and all keys"',
                "set the key, or use operator Exists",
            )
        if toleration.has("tolerationSeconds") and toleration.text("effect") not in ("NoExecute", None):
            toleration.problems.invalid(
                toleration.at("effect"),
                toleration.text("effect"),
                "must be 'NoExecute' when `tolerationSeconds` is set",
                "set effect: NoExecute, or remove tolerationSeconds",
            )
        toleration.choose("effect", EFFECTS)
        _check_value(toleration, operator)


def _check_value(toleration: Node, operator: str | None) -> None:
    value = toleration.text("value")
    if operator in EQUALITY:
        toleration.judge("value", grammar.label_value)
    elif operator == "Exists":
        if value:
            toleration.problems.invalid(
                toleration.at("value"), value, "must be empty when `operator` is 'Exists'", "remove it, or use Equal"
            )
    elif operator in ORDER:
        if value is not None and not (_INTEGER.fullmatch(value) and int(value[:20]) in _INT64):
            toleration.problems.invalid(
                toleration.at("value"), value, "must be a whole number of 64 bits", "write a number such as 100"
            )
        toleration.problems.warn(
            toleration.at("operator"),
            f"{operator} needs the feature gate TaintTolerationComparisonOperators; without it every pod is refused",
            "use Equal or Exists, or enable the gate",
        )
    elif operator is not None:
        toleration.problems.unsupported(toleration.at("operator"), operator, ("Equal", "Exists"))
