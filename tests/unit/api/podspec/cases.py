"""The pod specs that this package's rules are held to, here and (in `tests/cluster`) against a real API server.

A case of `cases/*.yaml` is a pod of one container, into which it merges `pod`, `container` and `init` (an init
container). `refused` maps the path of each expected error to its reason; without it the spec is fine. `server` names
the path that the API server reports where that is not one of ours; `unless` what a cluster must have, and most have
not, to accept what we admit with a warning; `offline` says why a case is not sent to a server.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

FOLDER: Final = Path(__file__).parent / "cases"


@dataclass(frozen=True)
class Case:
    """A pod spec and what is wrong with it."""

    group: str
    name: str
    pod: dict[str, Any] = field(default_factory=dict)
    container: dict[str, Any] = field(default_factory=dict)
    init: dict[str, Any] | None = None
    refused: dict[str, str] = field(default_factory=dict)
    warned: list[str] = field(default_factory=list)
    server: str = ""
    unless: str = ""
    offline: str = ""

    @property
    def spec(self) -> dict[str, Any]:
        spec: dict[str, Any] = {"containers": [{"name": "main", "image": "app:1", **self.container}]}
        if self.init is not None:
            spec["initContainers"] = [{"name": "init", "image": "app:1", **self.init}]
        return {**spec, **self.pod}

    @property
    def accepted_by_server(self) -> bool:
        return not self.refused and not self.unless

    def __str__(self) -> str:
        return f"{self.group}: {self.name}"


def load() -> list[Case]:
    """Every case of every file."""
    return [
        Case(group=file.stem, **case)
        for file in sorted(FOLDER.glob("*.yaml"))
        for case in yaml.safe_load(file.read_text(encoding="utf-8"))
    ]
