"""Kubeconfigs for tests."""

import base64
import datetime
import json
from pathlib import Path
from typing import Any

from grove.testing.certificates import Authority, Certificate

AUTHORITY = Authority.create("test", datetime.datetime.now(datetime.UTC))
CA = AUTHORITY.certificate


def encoded(content: bytes) -> str:
    return base64.b64encode(content).decode()


def client_certificate() -> Certificate:
    return AUTHORITY.client("jane", ["admins"])


def content(
    *, name: str = "one", cluster: dict[str, Any] | None = None, user: dict[str, Any] | None = None, **context: Any
) -> dict[str, Any]:
    """A whole kubeconfig: one cluster, one user, one context, all of one name."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {"name": name, "cluster": {"server": f"https://{name}.example:6443", **(cluster or {})}},
        ],
        "users": [{"name": name, "user": user or {}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name, **context}}],
        "current-context": name,
    }


def write(path: Path, document: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return path


class Clock:
    """A time that tests set."""

    def __init__(self, time: float = 1000.0) -> None:
        self.time = time

    def __call__(self) -> float:
        return self.time
