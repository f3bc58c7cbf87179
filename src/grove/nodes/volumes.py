"""The files that a container is given: secrets, config maps, fields of its pod, and tokens of its service account.

Only the waiter reads any, so only its files are fetched, with the node's rights, as a kubelet does. A token is asked
for when it is used first and renewed when four fifths of its time have gone by.
"""

from __future__ import annotations

import base64
import datetime
import posixpath
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import msgspec

from grove.kube.client import Client
from grove.kube.credentials import Identity
from grove.kube.errors import CredentialsError, KubeError, NotFound
from grove.kube.resources import CONFIG_MAPS, SECRETS, SERVICE_ACCOUNTS
from grove.nodes.objects import ContainerSpec, PodRecord

RENEWED_AT: Final = 0.8
TOKEN_SECONDS: Final = 3600


class Token(msgspec.Struct, frozen=True):
    """What a service account token in a file is asked for with."""

    audience: str = ""
    seconds: int = TOKEN_SECONDS


class Files(msgspec.Struct, frozen=True):
    """The files of a container by path. A token stands for itself: it is made when it is used."""

    contents: Mapping[str, bytes]
    tokens: Mapping[str, Token]

    def read(self, path: str) -> str:
        """The text of a file that is no token; raises FileNotFoundError."""
        if path not in self.contents:
            raise FileNotFoundError(f"{path}: no such file in the container")
        return self.contents[path].decode()


class TokenAnswer(msgspec.Struct, frozen=True, rename="camel"):
    token: str
    expiration_timestamp: datetime.datetime


class TokenRequest(msgspec.Struct, frozen=True):
    status: TokenAnswer


async def files(client: Client, pod: PodRecord, container: ContainerSpec) -> Files:
    """What the container sees. Raises NotFound where a secret or config map is missing: a kubelet waits for it."""
    found: dict[str, bytes] = {}
    tokens: dict[str, Token] = {}
    volumes = {volume.name: volume for volume in pod.spec.volumes}
    for mount in container.volume_mounts:
        volume = volumes.get(mount.name)
        if volume is None:
            continue
        for kind, source in _sources(volume):
            for path, content in (await _content(client, pod, kind, source)).items():
                where = _place(mount.mount_path, mount.sub_path, path)
                if where is None:
                    continue
                if isinstance(content, Token):
                    tokens[where] = content
                else:
                    found[where] = content
    return Files(found, tokens)


def _sources(volume: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if volume.secret is not None:
        yield "secret", {"name": volume.secret.get("secretName", ""), **volume.secret}
    if volume.config_map is not None:
        yield "configMap", volume.config_map
    if volume.downward_api is not None:
        yield "downwardAPI", volume.downward_api
    for source in (volume.projected or {}).get("sources") or ():
        yield from source.items()


def _place(mount_path: str, sub_path: str, path: str) -> str | None:
    """Where a file of a volume is seen; a mount with a subPath shows that part of the volume only."""
    if not sub_path:
        return posixpath.join(mount_path, path)
    if path == sub_path:
        return mount_path
    inside = path.removeprefix(sub_path.rstrip("/") + "/")
    return None if inside == path else posixpath.join(mount_path, inside)


async def _content(client: Client, pod: PodRecord, kind: str, source: Mapping[str, Any]) -> Mapping[str, bytes | Token]:
    match kind:
        case "secret":
            data = await _data(client, pod, SECRETS, source)
            return _chosen({key: base64.b64decode(value) for key, value in data.items()}, source)
        case "configMap":
            data = await _data(client, pod, CONFIG_MAPS, source)
            return _chosen({key: value.encode() for key, value in data.items()}, source)
        case "downwardAPI":
            return {item["path"]: field(pod, item).encode() for item in source.get("items") or ()}
        case "serviceAccountToken":
            return {source["path"]: Token(source.get("audience", ""), source.get("expirationSeconds") or TOKEN_SECONDS)}
    return {}  # a source of another kind, which the waiter does not read


async def _data(client: Client, pod: PodRecord, resource: Any, source: Mapping[str, Any]) -> Mapping[str, str]:
    try:
        found = await client.get(resource, source["name"], namespace=pod.metadata.namespace or "")
    except NotFound:
        if source.get("optional"):
            return {}
        raise
    data: Mapping[str, str] = found.get("data") or {}
    return data


def _chosen(data: Mapping[str, bytes], source: Mapping[str, Any]) -> Mapping[str, bytes]:
    items = source.get("items")
    if not items:
        return data
    return {item["path"]: data[item["key"]] for item in items if item["key"] in data}


def field(pod: PodRecord, item: Mapping[str, Any]) -> str:
    """A field of the pod as the downward API gives it; of resources, which no waiter reads, nothing."""
    path: str = (item.get("fieldRef") or {}).get("fieldPath", "")
    metadata = pod.metadata
    for name, held in (("labels", metadata.labels), ("annotations", metadata.annotations)):
        values = held or {}
        if path == f"metadata.{name}":
            return "\n".join(f'{key}="{value}"' for key, value in sorted(values.items()))
        if path.startswith(f"metadata.{name}['"):
            return values.get(path[len(f"metadata.{name}['") : -2], "")
    plain = {
        "metadata.name": metadata.name,
        "metadata.namespace": metadata.namespace or "",
        "metadata.uid": metadata.uid or "",
    }
    return plain.get(path, "")


class PodToken:
    """The credentials of a pod: a token of its service account, bound to it, renewed in time."""

    def __init__(self, client: Client, pod: PodRecord, wanted: Token, *, now: Callable[[], float]) -> None:
        """`now` gives seconds since the epoch."""
        self._client = client
        self._pod = pod
        self._wanted = wanted
        self._now = now
        self._identity: Identity | None = None
        self._until = 0.0

    async def identity(self) -> Identity:
        now = self._now()
        if self._identity is None or now >= self._until:
            granted = await self._ask()
            lifetime = granted.expiration_timestamp.timestamp() - now
            self._identity, self._until = Identity(granted.token), now + lifetime * RENEWED_AT
        return self._identity

    def refused(self, identity: Identity) -> bool:
        self._until = 0.0  # a new one is asked for before the next request
        return True

    async def _ask(self) -> TokenAnswer:
        metadata = self._pod.metadata
        spec = {
            "expirationSeconds": self._wanted.seconds,
            "audiences": [self._wanted.audience] if self._wanted.audience else [],
            "boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": metadata.name, "uid": metadata.uid},
        }
        try:
            answer = await self._client.create(
                SERVICE_ACCOUNTS,
                {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec},
                namespace=metadata.namespace or "",
                name=self._pod.spec.service_account_name,
                subresource="token",
                type=TokenRequest,
            )
        except KubeError as error:
            raise CredentialsError(
                f"no token for service account {self._pod.spec.service_account_name}: {error}"
            ) from error
        return answer.status
