"""Whether a toleration lets a pod onto a node with a taint. Pure."""

from __future__ import annotations

import re
from typing import Final

from grove.kube.objects import Taint, Toleration

_INTEGER: Final = re.compile(r"0|-?[1-9][0-9]{0,18}")
_LARGEST: Final = 2**63 - 1


def tolerates(toleration: Toleration, taint: Taint, *, compares: bool = False) -> bool:
    """`compares`: whether the operators `Gt` and `Lt` count, which Kubernetes has behind a feature gate."""
    if toleration.effect not in ("", taint.effect) or toleration.key not in ("", taint.key):
        return False
    match toleration.operator:
        case "Exists":
            return True
        case "" | "Equal":
            return toleration.value == taint.value
        case "Gt" | "Lt" if compares:
            bound, value = _number(toleration.value), _number(taint.value)
            if bound is None or value is None:
                return False
            return value > bound if toleration.operator == "Gt" else value < bound
    return False  # an operator that came after us: better no node than a wrong one


def told(taint: Taint) -> str:
    """As kubectl writes a taint."""
    value = f"={taint.value}" if taint.value else ""
    return f"{taint.key}{value}:{taint.effect}"


def _number(text: str) -> int | None:
    number = int(text) if _INTEGER.fullmatch(text) else None
    return number if number is not None and -_LARGEST - 1 <= number <= _LARGEST else None
