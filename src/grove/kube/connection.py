"""Where an API server is, who vouches for it, and who asks: the data that a client is made with."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from grove.kube.credentials import ANONYMOUS, Credentials, Files
from grove.kube.errors import ConnectionConfigError

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


class Connection(msgspec.Struct, frozen=True, kw_only=True):
    """An API server as a client reaches it."""

    server: str
    """`https://host:port`, perhaps with a path before the API's."""
    credentials: Credentials = ANONYMOUS
    ca: bytes = b""
    """The authorities that may vouch for the server, as PEM; empty for those of the system."""
    insecure: bool = False
    """Whether anyone may claim to be the server: only ever because the user said so."""
    server_name: str = ""
    """The name in the server's certificate, where it is not that in `server`."""
    proxy: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    """Sent with every request: whom we act for (`Impersonate-User` …)."""
    namespace: str = "default"
    """Where commands work unless told otherwise."""

    def __repr__(self) -> str:
        return f"Connection({self.server!r}, …)"  # the URL of a proxy may hold a password


def in_cluster(
    *,
    environment: Mapping[str, str] = os.environ,
    folder: Path = SERVICE_ACCOUNT,
    now: Callable[[], float] = time.monotonic,
) -> Connection:
    """The connection of a pod to its own cluster, as its service account."""
    host, port = environment.get("KUBERNETES_SERVICE_HOST", ""), environment.get("KUBERNETES_SERVICE_PORT", "")
    if not host or not port:
        raise ConnectionConfigError(
            "not inside a cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set; name a kubeconfig"
        )
    token, ca, namespace = folder / "token", folder / "ca.crt", folder / "namespace"
    if not token.is_file():
        raise ConnectionConfigError(f"{token} is not there: the pod has automountServiceAccountToken: false")
    try:
        authorities = ca.read_bytes()
    except OSError as error:
        raise ConnectionConfigError(f"{ca}: the cluster's authority cannot be read: {error.strerror}") from error
    return Connection(
        server=f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}",
        credentials=Files(now=now, token_file=str(token)),
        ca=authorities,
        namespace=namespace.read_text().strip() if namespace.is_file() else "default",
    )
