"""How controllers write children: nothing of anybody else's is adopted or overwritten, and a lost answer is no error.

What is written is in the caches before the caller goes on.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, TypeVar

from grove.api.fields import JSON
from grove.api.kinds.meta import ObjectMeta
from grove.kube.cachedclient import CachedClient, Caches
from grove.kube.client import Client
from grove.kube.errors import AlreadyExists, Conflict, NotFound
from grove.kube.options import PatchForm
from grove.kube.resources import Resource
from grove.kube.store import metadata_of
from grove.operator.owners import controller_of, is_controlled_by
from grove.runtime.outcomes import Retry

T = TypeVar("T")

GOING = 1.0
"""Seconds until a name is tried again whose holder is being deleted."""

COLLECTED = 5.0
"""Seconds until a name is tried again whose holder is left over, until the cluster collects what has no owner."""


class ForeignObjectError(Exception):
    """An object that Grove needs is there already, and is not Grove's."""

    def __init__(self, resource: Resource, namespace: str, name: str, owner: str) -> None:
        self.kind = resource.kind
        super().__init__(
            f"{resource.kind} {namespace}/{name} exists and does not belong to {owner}: "
            f"delete or rename it, or give the PodCliqueSet another name"
        )


class Writer:
    """Writes for one leader's term, and for one controller if its conflicts are to be told from others'."""

    def __init__(self, client: Client, caches: Caches) -> None:
        self.conflicts: Counter[str] = Counter()
        """Statuses that somebody else had changed meanwhile, by kind."""
        self._client = client
        self._writes = CachedClient(client, caches)
        self._caches = caches

    async def create(self, resource: Resource, body: JSON, owner: ObjectMeta, *, type: type[T]) -> T:
        """Creates a child of the owner; the one that is there if an earlier try has made it."""
        try:
            return await self._writes.create(resource, body, namespace=body["metadata"]["namespace"], type=type)
        except AlreadyExists:
            return await self._made_before(resource, body, owner, type)

    async def _made_before(self, resource: Resource, body: JSON, owner: ObjectMeta, type: type[T]) -> T:
        namespace, name = body["metadata"]["namespace"], body["metadata"]["name"]
        try:
            held = await self._client.get(resource, name, namespace=namespace, type=type)
        except NotFound:
            raise Retry(f"{resource.kind} {namespace}/{name} was there and is gone", after=0.0) from None
        metadata = metadata_of(held)
        if metadata.deletion_timestamp is not None:
            raise Retry(f"{resource.kind} {namespace}/{name} is still being deleted", after=GOING)
        if _is_of_predecessor(metadata, body):
            message = f"{resource.kind} {namespace}/{name} is of an earlier {owner.name}, and goes after it"
            raise Retry(message, after=COLLECTED)
        if not is_controlled_by(metadata, owner):
            raise ForeignObjectError(resource, namespace, name, owner.name)
        if (found := self._caches.of(resource)) is not None:
            found[0].wrote(held)
        return held

    async def patch(
        self,
        resource: Resource,
        held: ObjectMeta,
        change: JSON,
        *,
        type: type[T],
        subresource: str = "",
        form: PatchForm = "merge",
        guarded: bool = False,
    ) -> T:
        """Patches an object. `guarded`: only if it is still in the version that is held; a Conflict otherwise."""
        if guarded:
            change = {**change, "metadata": {**change.get("metadata", {}), "resourceVersion": held.resource_version}}
        try:
            return await self._writes.patch(
                resource,
                held.name,
                change,
                namespace=held.namespace or "",
                type=type,
                form=form,
                subresource=subresource,
            )
        except Conflict:
            if subresource == "status":
                self.conflicts[resource.kind] += 1
            raise

    async def delete(self, resource: Resource, held: ObjectMeta) -> bool:
        """Deletes this very object; whether there was anything to delete. One of its name that came later stays."""
        try:
            await self._writes.delete(resource, held.name, namespace=held.namespace or "", uid=held.uid or "")
        except (NotFound, Conflict):
            return False  # it is gone, or another has taken its name
        return True

    async def delete_collection(self, resource: Resource, namespace: str, labels: dict[str, str]) -> None:
        """Asks for the deletion of all objects with these labels, in one request. The watch tells what became of it."""
        await self._client.delete_collection(resource, namespace=namespace, labels=labels, type=Any)


def _is_of_predecessor(held: ObjectMeta, body: JSON) -> bool:
    """Whether an object is of an owner that had the name of the one for whom it is to be made now."""
    before = controller_of(held)
    if before is None:
        return False
    return any(
        (one["kind"], one["name"]) == (before.kind, before.name) and one["uid"] != before.uid
        for one in body["metadata"].get("ownerReferences", ())
    )
