"""What an API server serves, learnt in two requests where it can aggregate, and one per group and version else."""

from __future__ import annotations

from collections.abc import Awaitable, Iterator, Mapping
from typing import Any, Protocol

import msgspec

from grove.kube.errors import ApiError, UnexpectedAnswer
from grove.kube.resources import Resource
from grove.kube.transport import Answer, Method

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


class Served(msgspec.Struct, frozen=True):
    """A resource as a server serves it."""

    resource: Resource
    verbs: tuple[str, ...] = ()
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    singular: str = ""
    subresources: tuple[str, ...] = ()


class Discovery(msgspec.Struct, frozen=True):
    """All resources, in the server's order of preference: what a user means by a word is the first that fits."""

    served: tuple[Served, ...]
    unavailable: tuple[str, ...] = ()
    """Groups and versions (`metrics.k8s.io/v1beta1`) whose server did not answer."""

    def find(self, api_version: str, kind: str) -> Served | None:
        """By the apiVersion and kind that an object bears."""
        wanted = (api_version, kind)
        return next((one for one in self.served if (one.resource.api_version, one.resource.kind) == wanted), None)

    def named(self, word: str) -> Served | None:
        """By what a user writes: `po`, `pod`, `Pod`, `pods`, `podgangs.scheduler.grove.io`."""
        wanted = word.lower()
        return next((one for one in self.served if wanted in _spellings(one)), None)


class Asks(Protocol):
    """How discovery asks: `Client.request`."""

    def __call__(self, method: Method, path: str, *, accept: str = ...) -> Awaitable[Answer]: ...


async def discover(ask: Asks) -> Discovery:
    """Reads what is served. Groups whose own server is down are named, not an error."""
    documents = [await _document(ask, path) for path in ("/api", "/apis")]
    if all(document.get("kind") == "APIGroupDiscoveryList" for document in documents):
        return _aggregated(documents)
    return await _one_by_one(ask, *documents)


def _aggregated(documents: list[dict[str, Any]]) -> Discovery:
    served: list[Served] = []
    unavailable: list[str] = []
    for document in documents:
        for group in document.get("items") or ():
            name = group.get("metadata", {}).get("name", "")
            for version in group.get("versions") or ():
                if version.get("freshness") == "Stale":
                    unavailable.append(f"{name}/{version['version']}")
                served += [_from_aggregated(name, version["version"], one) for one in version.get("resources") or ()]
    return Discovery(tuple(served), tuple(unavailable))


def _from_aggregated(group: str, version: str, found: Mapping[str, Any]) -> Served:
    kind = found.get("responseKind") or {}
    return Served(
        Resource(group, version, found["resource"], kind.get("kind", ""), found.get("scope") == "Namespaced"),
        verbs=tuple(found.get("verbs") or ()),
        short_names=tuple(found.get("shortNames") or ()),
        categories=tuple(found.get("categories") or ()),
        singular=found.get("singularResource", ""),
        subresources=tuple(one["subresource"] for one in found.get("subresources") or ()),
    )


async def _one_by_one(ask: Asks, core: Mapping[str, Any], groups: Mapping[str, Any]) -> Discovery:
    served: list[Served] = []
    unavailable: list[str] = []
    for group, version in _versions(core, groups):
        api_version = f"{group}/{version}" if group else version
        try:
            document = await _document(ask, f"/apis/{api_version}" if group else f"/api/{version}")
        except ApiError:
            unavailable.append(api_version)
            continue
        served += _from_list(group, version, document.get("resources") or ())
    return Discovery(tuple(served), tuple(unavailable))


def _versions(core: Mapping[str, Any], groups: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for version in core.get("versions") or ():
        yield "", version
    for group in groups.get("groups") or ():
        preferred = (group.get("preferredVersion") or {}).get("version", "")
        versions = [one["version"] for one in group.get("versions") or ()]
        for version in sorted(versions, key=lambda one: one != preferred):
            yield group["name"], version


def _from_list(group: str, version: str, resources: Any) -> Iterator[Served]:
    for one in resources:
        name = one["name"]
        if "/" in name:
            continue
        prefix = f"{name}/"
        yield Served(
            Resource(group, version, name, one["kind"], bool(one.get("namespaced"))),
            verbs=tuple(one.get("verbs") or ()),
            short_names=tuple(one.get("shortNames") or ()),
            categories=tuple(one.get("categories") or ()),
            singular=one.get("singularName", ""),
            subresources=tuple(
                other["name"].removeprefix(prefix) for other in resources if other["name"].startswith(prefix)
            ),
        )


async def _document(ask: Asks, path: str) -> dict[str, Any]:
    answer = await ask("GET", path, accept=f"{AGGREGATED},application/json")
    try:
        return msgspec.json.decode(answer.body, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise UnexpectedAnswer(f"GET {path}: {error}") from error


def _spellings(one: Served) -> set[str]:
    resource = one.resource
    return {resource.plural, resource.name, resource.kind.lower(), one.singular, *one.short_names} - {""}
