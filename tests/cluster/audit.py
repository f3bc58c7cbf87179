"""What a program asked of the API server, as the API server wrote it down."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

NAMESPACE = "grove-system"


class Asked(NamedTuple):
    """A request, as RBAC sees it."""

    group: str
    resource: str
    """With its subresource, as rules name it."""
    verb: str
    namespace: str


class Audit:
    """The log of a control plane whose API server was started with these flags."""

    def __init__(self, logs: Path, account: str) -> None:
        self._user = f"system:serviceaccount:{NAMESPACE}:{account}"
        self._policy = logs.absolute() / "audit-policy.json"
        self._log = logs.absolute() / "audit.log"

    def flags(self) -> list[str]:
        self._policy.parent.mkdir(parents=True, exist_ok=True)
        policy = {
            "apiVersion": "audit.k8s.io/v1",
            "kind": "Policy",
            "omitStages": ["RequestReceived", "ResponseStarted"],
            "rules": [{"level": "Metadata", "users": [self._user]}, {"level": "None"}],
        }
        self._policy.write_text(json.dumps(policy))
        return [f"--audit-policy-file={self._policy}", f"--audit-log-path={self._log}"]

    def entries(self) -> Iterator[dict[str, Any]]:
        with self._log.open() as lines:
            for line in lines:
                if line.endswith("\n"):
                    yield json.loads(line)

    def asked(self) -> set[Asked]:
        """All kinds of requests that were allowed."""
        return {found for entry in self.entries() if not _forbidden(entry) and (found := _asked(entry))}

    def forbidden(self) -> list[str]:
        """The requests that were not, each with the reason."""
        return [
            f"{entry['verb']} {entry['requestURI']}: {entry['responseStatus'].get('message')}"
            for entry in self.entries()
            if _forbidden(entry)
        ]


def _forbidden(entry: dict[str, Any]) -> bool:
    """Whether rights were missing: admission says no with the same code, and so does a namespace that is going."""
    decision: str = entry.get("annotations", {}).get("authorization.k8s.io/decision", "")
    if decision == "forbid":
        return True
    status = entry.get("responseStatus") or {}
    return status.get("code") == 403 and "finalizers" in str(status.get("message"))


def _asked(entry: dict[str, Any]) -> Asked | None:
    target = entry.get("objectRef")
    if target is None or "resource" not in target:
        return None
    resource = target["resource"] + (f"/{target['subresource']}" if "subresource" in target else "")
    return Asked(target.get("apiGroup", ""), resource, entry["verb"], target.get("namespace", ""))
