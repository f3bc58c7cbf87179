"""Schemas of the Kubernetes types inside Grove's kinds (pod specs, metrics, claim templates), references resolved."""

from __future__ import annotations

import functools
import importlib.resources
import re
from typing import Any, Final

import msgspec

from grove.api.fields import JSON

LONGEST_DESCRIPTION: Final = 80
_SENTENCE_END: Final = re.compile(r"(?<=[a-z0-9)`'\"])\.\s")


class _Types(msgspec.Struct):
    version: str
    definitions: dict[str, Any]


@functools.cache
def _types() -> _Types:
    raw = importlib.resources.files("grove.api.kubernetes").joinpath("types.json").read_bytes()
    return msgspec.json.decode(raw, type=_Types)


@functools.cache
def schema(name: str) -> JSON:
    """The schema of a Kubernetes type, whole. Shared between callers: copy it before changing it."""
    resolved: JSON = _resolve(_types().definitions[name])
    return resolved


@functools.cache
def brief(name: str) -> JSON:
    """The schema of a Kubernetes type with the start of each description: a CRD has no room for more."""
    shortened: JSON = _shortened(schema(name))
    return shortened


def _shortened(node: Any) -> Any:
    if isinstance(node, list):
        return [_shortened(one) for one in node]
    if not isinstance(node, dict):
        return node
    return {
        key: first_sentence(value) if key == "description" and isinstance(value, str) else _shortened(value)
        for key, value in node.items()
    }


def first_sentence(text: str) -> str:
    """The first sentence, or as much of it as fits."""
    sentence = _SENTENCE_END.split(" ".join(text.split()), maxsplit=1)[0].removesuffix(".")
    if len(sentence) > LONGEST_DESCRIPTION:
        sentence = sentence[: LONGEST_DESCRIPTION - 1].rsplit(" ", 1)[0] + "…"
    return sentence


def _resolve(node: Any) -> Any:
    if isinstance(node, list):
        return [_resolve(one) for one in node]
    if not isinstance(node, dict):
        return node
    if isinstance(node.get("$ref"), str):
        target = schema(node["$ref"])
        return {**target, "description": node["description"]} if "description" in node else target
    return {key: _resolve(value) for key, value in node.items()}
