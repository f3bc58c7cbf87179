"""Paths of files inside containers and volumes, and their modes."""

from __future__ import annotations

from typing import Final

from grove.api.grammar import Fault
from grove.api.podspec.tree import Node

MAX_MODE: Final = 0o777


def no_backsteps(text: str) -> Fault | None:
    """A path that never steps up."""
    if ".." in text.split("/"):
        return Fault("must not contain '..'", "write the path without '..'")
    return None


def descending(text: str) -> Fault | None:
    """A relative path that stays below where it starts."""
    if text.startswith("/"):
        return Fault("must be a relative path", "remove the leading '/'")
    return no_backsteps(text)


def local(text: str) -> Fault | None:
    """A descending path whose name is not one that the kubelet keeps for itself."""
    fault = descending(text)
    if fault is None and text.startswith(".."):
        fault = Fault("must not start with '..'", "use another name")
    return fault


def absolute(text: str) -> Fault | None:
    return None if text.startswith("/") else Fault("must be an absolute path", "start it with '/'")


def check_mode(node: Node, key: str) -> None:
    mode = node.number(key)
    if mode is not None and not 0 <= mode <= MAX_MODE:
        node.problems.invalid(
            node.at(key),
            mode,
            "must be a number between 0 and 0777 (octal), both inclusive",
            f"use a mode such as 0644 (420 in decimal), at most {MAX_MODE}",
        )
