"""The verbs of an API server, typed.

    async with Client(connect()) as client:
        pod = await client.get(PODS, "router-0", namespace="default", type=Pod)

Every verb takes `type`, a msgspec struct of what is to be read, and without it gives a plain dict. What is sent is a
dict, a struct, or JSON as bytes. Errors are those of `errors.py`. Reads are repeated after failures; a write only if
the server certainly did nothing (`retry.py`). Whoever is cancelled while writing does not know whether it was written.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Self

from grove.kube import options
from grove.kube.decoding import JSON, Body, Page, T, encode, is_status
from grove.kube.fence import Fence
from grove.kube.options import (
    APPLY_TYPE,
    PATCH_TYPES,
    FieldValidation,
    PatchForm,
    Propagation,
    Query,
    Selector,
)
from grove.kube.reader import Reader
from grove.kube.resources import Resource
from grove.kube.transport import JSON as JSON_TYPE
from grove.kube.transport import Answer, Method


class Client(Reader):
    """What a Reader can, and the verbs that write. Made as a Reader is."""

    def fenced(self, fence: Fence) -> Self:
        """This client, on the same connections, for a leader: a write raises NotLeaderError once its term is over."""
        leaders = copy.copy(self)
        leaders._fence = fence
        return leaders

    async def create(
        self,
        resource: Resource,
        body: Body,
        *,
        namespace: str = "",
        name: str = "",
        subresource: str = "",
        dry_run: bool = False,
        field_validation: FieldValidation = "",
        field_manager: str = "",
        type: type[T] = JSON,
    ) -> T:
        """Creates an object; or, with its name, a subresource of one (`binding`, `eviction`, `token`)."""
        path = resource.path(namespace, name, subresource)
        query = self._write_query(dry_run, field_validation, field_manager)
        content = encode(body if subresource else with_kind(resource, body))
        return await self._object("create", "POST", path, query, content, type)

    async def update(
        self,
        resource: Resource,
        name: str,
        body: Body,
        *,
        namespace: str = "",
        subresource: str = "",
        dry_run: bool = False,
        field_validation: FieldValidation = "",
        field_manager: str = "",
        type: type[T] = JSON,
    ) -> T:
        """Replaces an object or a subresource (`status`, `scale`); with a resourceVersion in it, only that version."""
        path = resource.object_path(namespace, name, subresource)
        query = self._write_query(dry_run, field_validation, field_manager)
        content = encode(body if subresource else with_kind(resource, body))
        return await self._object("update", "PUT", path, query, content, type)

    async def patch(
        self,
        resource: Resource,
        name: str,
        change: Body,
        *,
        namespace: str = "",
        subresource: str = "",
        form: PatchForm = "merge",
        dry_run: bool = False,
        field_validation: FieldValidation = "",
        field_manager: str = "",
        type: type[T] = JSON,
    ) -> T:
        """Changes an object or a subresource: a merge patch, the operations of a JSON patch, or a strategic one."""
        path = resource.object_path(namespace, name, subresource)
        query = self._write_query(dry_run, field_validation, field_manager)
        return await self._object("patch", "PATCH", path, query, encode(change), type, PATCH_TYPES[form])

    async def apply(
        self,
        resource: Resource,
        name: str,
        body: Body,
        *,
        namespace: str = "",
        subresource: str = "",
        force: bool = False,
        dry_run: bool = False,
        field_validation: FieldValidation = "",
        field_manager: str = "",
        type: type[T] = JSON,
    ) -> T:
        """Server-side apply: the object as far as `field_manager` cares, created if it is not there.

        A field that another manager owns is a Conflict whose causes name it; with `force` we take it over.
        """
        if not (field_manager or self._field_manager):
            raise ValueError("apply: name the field_manager, here or for the whole client: it owns what is applied")
        path = resource.object_path(namespace, name, subresource)
        query = self._write_query(dry_run, field_validation, field_manager) + options.present(force=force)
        content = encode(with_kind(resource, body))
        return await self._object("patch", "PATCH", path, query, content, type, APPLY_TYPE)

    async def delete(
        self,
        resource: Resource,
        name: str,
        *,
        namespace: str = "",
        propagation: Propagation = "",
        grace_period: int | None = None,
        uid: str = "",
        resource_version: str = "",
        dry_run: bool = False,
        type: type[T] = JSON,
    ) -> T | None:
        """Deletes an object if it still has this uid and version, else Conflict.

        Gives the object as the server last knew it, or None where the server says only that it is done. An object with
        finalizers or a grace period is still there afterwards.
        """
        path = resource.object_path(namespace, name)
        told = options.delete_options(
            propagation=propagation,
            grace_period=grace_period,
            dry_run=dry_run,
            uid=uid,
            resource_version=resource_version,
        )
        answer = await self._send("delete", "DELETE", path, [], encode(told))
        return None if is_status(answer.body) else self._decoders.object(answer.body, type, f"DELETE {path}")

    async def delete_collection(
        self,
        resource: Resource,
        *,
        namespace: str = "",
        labels: Selector = "",
        fields: Selector = "",
        propagation: Propagation = "",
        grace_period: int | None = None,
        dry_run: bool = False,
        type: type[T] = JSON,
    ) -> Page[T]:
        """Deletes all objects that the selectors choose, and gives them. Not one transaction: a failure leaves some."""
        if resource.namespaced and not namespace:
            raise ValueError(f"deleting {resource.name}: name the namespace; not even the API server deletes in all")
        path = resource.path(namespace)
        told = options.delete_options(propagation=propagation, grace_period=grace_period, dry_run=dry_run)
        answer = await self._send("deletecollection", "DELETE", path, options.select(labels, fields), encode(told))
        return Page([], "") if is_status(answer.body) else self._decoders.page(answer.body, type, f"DELETE {path}")

    async def request(
        self,
        method: Method,
        path: str,
        body: Body | None = None,
        *,
        query: Mapping[str, str] | None = None,
        content_type: str = JSON_TYPE,
        accept: str = JSON_TYPE,
    ) -> Answer:
        """Any request, its answer as bytes; bounded, authenticated and repeated as the others."""
        content = None if body is None else encode(body)
        return await self._send("raw", method, path, [*(query or {}).items()], content, content_type, accept)

    def _write_query(self, dry_run: bool, field_validation: str, field_manager: str) -> Query:
        return options.write(
            dry_run=dry_run,
            field_validation=field_validation,
            field_manager=field_manager or self._field_manager,
        )


def with_kind(resource: Resource, body: Body) -> Body:
    """A dict with the apiVersion and kind that the server wants to see in it, unless they are there."""
    if not isinstance(body, Mapping) or ("apiVersion" in body and "kind" in body):
        return body
    return {"apiVersion": resource.api_version, "kind": resource.kind, **body}
