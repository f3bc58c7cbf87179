"""Kubeconfig files: found, merged and read as kubectl does. What we do not support is refused, never passed over."""

from __future__ import annotations

import base64
import binascii
import ipaddress
import os
import time
import urllib.parse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import yaml

from grove.kube.connection import Connection, in_cluster
from grove.kube.credentials import ANONYMOUS, ClientCertificate, Credentials, Files, Fixed, Identity
from grove.kube.errors import ConnectionConfigError
from grove.kube.execplugin import ExecPlugin, read_plugin

Entry: TypeAlias = Mapping[str, Any]
Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address


class Named(msgspec.Struct, frozen=True):
    """An entry of a kubeconfig, and the file that it stands in: relative paths start there."""

    name: str
    content: Entry
    file: Path

    def __repr__(self) -> str:
        return f"Named({self.name!r}, …, {str(self.file)!r})"  # the content of a user is a secret

    def text(self, key: str) -> str:
        value = self.content.get(key)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise ConnectionConfigError(f"{self.file}: {self.name}: {key} must be a text, not {type(value).__name__}")
        return value

    def path(self, key: str) -> str:
        """A file named by the entry, absolute."""
        return str(self.file.parent / self.text(key)) if self.text(key) else ""

    def bytes(self, key: str, what: str) -> bytes:
        """What `<key>-data` holds or else the file `<key>` names; empty if neither is there."""
        if encoded := self.text(f"{key}-data"):
            try:
                return base64.b64decode(encoded, validate=True)
            except (binascii.Error, ValueError) as error:
                raise ConnectionConfigError(f"{self.file}: {self.name}: {key}-data is not base64") from error
        path = self.path(key)
        try:
            return Path(path).read_bytes() if path else b""
        except OSError as error:
            raise ConnectionConfigError(
                f"{self.file}: {self.name}: the {what} {path} cannot be read: {error.strerror}"
            ) from error


class Merged(msgspec.Struct, frozen=True):
    """Several files as one: of what two define, the first counts."""

    files: tuple[Path, ...]
    clusters: Mapping[str, Named]
    users: Mapping[str, Named]
    contexts: Mapping[str, Named]
    current: str


def connect(
    kubeconfig: str = "",
    *,
    context: str = "",
    environment: Mapping[str, str] = os.environ,
    now: Callable[[], float] = time.monotonic,
    wall_clock: Callable[[], float] = time.time,
) -> Connection:
    """The connection that a user means: this kubeconfig; else $KUBECONFIG, ~/.kube/config, or that of our own pod."""
    paths = [Path(kubeconfig)] if kubeconfig else default_paths(environment)
    found = [path for path in paths if path.is_file()]
    if found:
        return to_connection(merge(found), context=context, environment=environment, now=now, wall_clock=wall_clock)
    if not kubeconfig and not environment.get("KUBECONFIG") and environment.get("KUBERNETES_SERVICE_HOST"):
        return in_cluster(environment=environment, now=now)
    searched = ", ".join(map(str, paths))
    raise ConnectionConfigError(f"no kubeconfig: {searched} is not there; name one with --kubeconfig or $KUBECONFIG")


def default_paths(environment: Mapping[str, str]) -> list[Path]:
    if listed := environment.get("KUBECONFIG"):
        return [Path(entry) for entry in listed.split(os.pathsep) if entry]
    return [Path(environment.get("HOME") or Path.home(), ".kube", "config")]


def merge(paths: Sequence[Path]) -> Merged:
    """Reads files in the order of their precedence."""
    clusters: dict[str, Named] = {}
    users: dict[str, Named] = {}
    contexts: dict[str, Named] = {}
    current = ""
    for path in paths:
        document = _load(path)
        for plural, singular, into in (
            ("clusters", "cluster", clusters),
            ("users", "user", users),
            ("contexts", "context", contexts),
        ):
            for named in _entries(document, plural, singular, path):
                into.setdefault(named.name, named)
        chosen = document.get("current-context")
        current = current or (chosen if isinstance(chosen, str) else "")
    return Merged(tuple(paths), clusters, users, contexts, current)


def to_connection(
    merged: Merged,
    *,
    context: str = "",
    environment: Mapping[str, str] = os.environ,
    now: Callable[[], float] = time.monotonic,
    wall_clock: Callable[[], float] = time.time,
) -> Connection:
    """The connection of a context, by default the current one."""
    chosen = _choose(merged, context or merged.current)
    cluster = _find(merged.clusters, chosen, "cluster")
    server = cluster.text("server")
    parts = urllib.parse.urlsplit(server)
    if parts.scheme not in ("https", "http") or not parts.hostname:
        raise ConnectionConfigError(f"{cluster.file}: cluster {cluster.name}: server {server!r} is not an https:// URL")
    insecure = cluster.content.get("insecure-skip-tls-verify") is True
    ca = cluster.bytes("certificate-authority", "certificate authority")
    if insecure and ca:
        raise ConnectionConfigError(
            f"{cluster.file}: cluster {cluster.name}: certificate-authority and insecure-skip-tls-verify: true "
            "contradict each other; remove insecure-skip-tls-verify"
        )
    # As kubectl: over plain HTTP everyone could read them.
    user = _find(merged.users, chosen, "user") if chosen.text("user") and parts.scheme == "https" else None
    return Connection(
        server=server,
        credentials=ANONYMOUS if user is None else to_credentials(user, cluster, ca, environment, now, wall_clock),
        ca=ca,
        insecure=insecure,
        server_name=cluster.text("tls-server-name"),
        proxy=_proxy(cluster, parts.scheme, parts.hostname, environment),
        headers=() if user is None else impersonation(user),
        namespace=chosen.text("namespace") or "default",
    )


def to_credentials(
    user: Named,
    cluster: Named,
    ca: bytes,
    environment: Mapping[str, str],
    now: Callable[[], float],
    wall_clock: Callable[[], float],
) -> Credentials:
    """Who the user is. A token beats an exec plugin, a file beats what stands in the kubeconfig, as in kubectl."""
    where = f"{user.file}: user {user.name}"
    if user.content.get("username") or user.content.get("password"):
        raise ConnectionConfigError(
            f"{where}: username and password: Kubernetes has no basic authentication since 1.19; "
            "use a token, a client certificate or an exec plugin"
        )
    if provider := user.content.get("auth-provider"):
        name = provider.get("name", "") if isinstance(provider, Mapping) else ""
        raise ConnectionConfigError(
            f"{where}: auth-provider {name}: kubectl has none since 1.26; use the exec plugin of your provider"
        )
    has_token = bool(user.text("token") or user.text("tokenFile"))
    if user.content.get("exec") and not has_token:
        spec = read_plugin(user.content["exec"], where, folder=user.file.parent)
        return ExecPlugin(spec, cluster=_exec_cluster(cluster, ca), environment=environment, wall_clock=wall_clock)
    return _plain_credentials(user, where, now)


def _plain_credentials(user: Named, where: str, now: Callable[[], float]) -> Credentials:
    has_certificate = bool(user.text("client-certificate") or user.text("client-certificate-data"))
    if has_certificate != bool(user.text("client-key") or user.text("client-key-data")):
        raise ConnectionConfigError(f"{where}: client-certificate and client-key belong together; one is missing")
    from_files = has_certificate and not (user.text("client-certificate-data") or user.text("client-key-data"))
    certificate = (
        ClientCertificate(user.bytes("client-certificate", "certificate"), user.bytes("client-key", "key"))
        if has_certificate
        else None
    )
    token = user.text("token").strip()
    if not token.isprintable():
        raise ConnectionConfigError(f"{where}: token: holds characters that no token has")
    fixed = Identity(token, certificate)
    if not (user.text("tokenFile") or from_files):
        return Fixed(fixed)
    return Files(
        now=now,
        token_file=user.path("tokenFile"),
        certificate_file=user.path("client-certificate") if from_files else "",
        key_file=user.path("client-key") if from_files else "",
        fixed=fixed,
    )


def impersonation(user: Named) -> tuple[tuple[str, str], ...]:
    """The headers that say whom the user acts for. To pass them over would be to act with more rights than asked."""
    headers = [("Impersonate-User", user.text("as"))] if user.text("as") else []
    headers += [("Impersonate-Uid", user.text("as-uid"))] if user.text("as-uid") else []
    headers += [("Impersonate-Group", str(group)) for group in user.content.get("as-groups") or ()]
    for key, values in (user.content.get("as-user-extra") or {}).items():
        headers += [(f"Impersonate-Extra-{urllib.parse.quote(key, safe='')}", str(value)) for value in values]
    if headers and not user.text("as"):
        raise ConnectionConfigError(f"{user.file}: user {user.name}: as-uid, as-groups and as-user-extra need `as`")
    return tuple(headers)


def _load(path: Path) -> Entry:
    try:
        document = yaml.load(path.read_text(), Loader=LOADER)  # noqa: S506 - both are safe loaders
    except OSError as error:
        raise ConnectionConfigError(f"{path}: cannot be read: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        # Not the parser's own words: they quote the line, which may be a key.
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 1}" if mark is not None else ""
        raise ConnectionConfigError(f"{path}{where}: this is not YAML") from None
    if document is None:
        return {}
    if not isinstance(document, dict) or document.get("kind", "Config") != "Config":
        raise ConnectionConfigError(f"{path}: this is not a kubeconfig: kind must be Config")
    return document


LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _entries(document: Entry, plural: str, singular: str, path: Path) -> list[Named]:
    listed = document.get(plural) or []
    if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
        raise ConnectionConfigError(f"{path}: {plural} must be a list of objects")
    return [Named(str(one.get("name", "")), one.get(singular) or {}, path.absolute()) for one in listed]


def _choose(merged: Merged, name: str) -> Named:
    files = ", ".join(map(str, merged.files))
    known = ", ".join(merged.contexts) or "there are none"
    if not name:
        raise ConnectionConfigError(f"{files}: no current-context; name one of: {known}")
    if name not in merged.contexts:
        raise ConnectionConfigError(f"{files}: no context {name!r}; there are: {known}")
    return merged.contexts[name]


def _find(entries: Mapping[str, Named], context: Named, what: str) -> Named:
    name = context.text(what)
    if name not in entries:
        known = ", ".join(entries) or "there are none"
        raise ConnectionConfigError(
            f"{context.file}: context {context.name} names the {what} {name!r}, which is not there; there are: {known}"
        )
    return entries[name]


def _exec_cluster(cluster: Named, ca: bytes) -> Entry:
    """What a plugin may know of the cluster: the Cluster of its API, with its own part of the extensions."""
    extensions = cluster.content.get("extensions") or []
    config = next((one.get("extension") for one in extensions if one.get("name") == EXEC_EXTENSION), None)
    described = {
        "server": cluster.text("server"),
        "tls-server-name": cluster.text("tls-server-name"),
        "insecure-skip-tls-verify": cluster.content.get("insecure-skip-tls-verify") is True,
        "certificate-authority-data": base64.b64encode(ca).decode(),
        "proxy-url": cluster.text("proxy-url"),
        "config": config,
    }
    return {key: value for key, value in described.items() if value}


EXEC_EXTENSION = "client.authentication.k8s.io/exec"


def _proxy(cluster: Named, scheme: str, host: str, environment: Mapping[str, str]) -> str:
    """The kubeconfig's proxy, or the environment's for this host."""
    proxy = cluster.text("proxy-url")
    if not proxy and not without_proxy(host, environment.get("no_proxy") or environment.get("NO_PROXY") or ""):
        names = (f"{scheme}_proxy", f"{scheme.upper()}_PROXY")
        proxy = next((environment[name] for name in names if environment.get(name)), "")
    kind = urllib.parse.urlsplit(proxy).scheme
    if proxy and kind not in ("http", "https"):
        # Not the URL: it may hold a password.
        raise ConnectionConfigError(f"proxy {kind}://…: only http:// and https:// proxies are supported")
    return proxy


def without_proxy(host: str, exempt: str) -> bool:
    """Whether NO_PROXY names the host: itself, its domain, its network, or everything. Loopback needs no proxy."""
    address = _address(host)
    if host == "localhost" or (address is not None and address.is_loopback):
        return True
    for entry in filter(None, (part.strip().lower() for part in exempt.split(","))):
        if entry == "*" or f".{host.lower()}".endswith(f".{entry.lstrip('.')}"):
            return True
        if address is not None and "/" in entry and _within(address, entry):
            return True
    return False


def _address(host: str) -> Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _within(address: Address, network: str) -> bool:
    try:
        return address in ipaddress.ip_network(network, strict=False)
    except ValueError:
        return False
