"""What a program asked of the API server, as the API server wrote it down; and clusters that write it down."""

import contextlib
import json
import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from grove.install import rbac
from grove.install.rbac import Rights
from grove.runtime.permission import Permission
from grove.testing.binaries import BinaryError
from grove.testing.controlplane import ControlPlane
from tests.cluster.conftest import LOGS

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

    def unused(self, permissions: Iterable[Permission], rare: Collection[tuple[str, str]]) -> list[str]:
        """The rights that were asked for in vain, but for the rare ones."""
        asked = self.asked()
        return [
            f"{verb} {resource}.{permission.group}"
            for permission in permissions
            if permission.by_request
            for resource in permission.resources
            for verb in permission.verbs
            if not (verb == "list" and _uses(permission, resource, "watch", asked))  # where the server streams no lists
            and (verb, resource) not in rare
            and not _uses(permission, resource, verb, asked)
        ]

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


def _uses(permission: Permission, resource: str, verb: str, asked: set[Asked]) -> bool:
    return any(
        (one.group, one.resource, one.verb) == (permission.group, resource, verb)
        and (permission.where == "cluster" or one.namespace == NAMESPACE)
        for one in asked
    )


@contextlib.contextmanager
def audited(
    request: pytest.FixtureRequest, account: str, *, flags: Sequence[str] = (), **options: Any
) -> Iterator[ControlPlane]:
    """A control plane with kube-scheduler and all controllers that writes down what a program asks, by its account."""
    logs = request.config.rootpath / "build" / "cluster-logs" / f"{account}-{os.getpid()}"
    request.config.stash[LOGS].append(logs)
    try:
        running = ControlPlane.start(
            scheduler=True,
            disabled_controllers=(),
            apiserver_flags=(*Audit(logs, account).flags(), *flags),
            logs=logs,
            **options,
        )
    except BinaryError as error:
        raise pytest.fail.Exception(str(error), pytrace=False) from None
    with running:
        yield running


def authorized(cluster: ControlPlane, rights: Rights) -> Path:
    """The way to the cluster as the service account of a program, with the rights that are rendered for it."""
    cluster.create_namespace(NAMESPACE)
    manifests = {"apiVersion": "v1", "kind": "List", "items": rbac.manifests(NAMESPACE, rights=rights)}
    cluster.kubectl().run("apply", "-f", "-", stdin=json.dumps(manifests))
    return cluster.kubeconfig_for(NAMESPACE, rights.account)
