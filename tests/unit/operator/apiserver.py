"""An API server made of memory, as far as the operator speaks to one: finalizers, generations, statuses apart.

What goes wrong is up to the test: `fault` is asked before each write, and may raise, or ask for a lost answer.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, Literal

from grove.kube.errors import AlreadyExists, Conflict, Unreachable
from grove.kube.resources import Resource
from grove.nodes.moments import stamp
from tests.unit.nodes.apiserver import JSON, ApiServer, merged, plain, strategic

Fault = Callable[[str, Resource, str], Literal["lost"] | None]
"""Verb, resource and name of a write; raises what the server answers instead, or says that the answer is lost."""


def no_fault(*_: object) -> None:
    return None


class OperatorServer(ApiServer):
    """See the top of the module. Stands in for a Client as well."""

    fault: Fault = staticmethod(no_fault)

    # What tests do

    def names(self, resource: Resource) -> set[str]:
        return {name for plural, _, name in self.objects if plural == resource.plural}

    def one(self, resource: Resource, name: str, namespace: str = "default") -> JSON:
        return self.objects[resource.plural, namespace, name]

    def put(self, resource: Resource, body: JSON) -> JSON:
        """Somebody creates an object."""
        metadata = body["metadata"]
        metadata.setdefault("generation", 1)
        return self._put(resource.plural, metadata.get("namespace", ""), metadata["name"], body)

    def tell(self, resource: Resource, name: str, **status: Any) -> None:
        """Somebody writes fields of a status."""
        self.edit(resource, name, {"status": status}, "default")

    def change(self, resource: Resource, name: str, spec: JSON) -> None:
        """Somebody changes a spec."""
        generation = self.one(resource, name)["metadata"]["generation"] + 1
        self.edit(resource, name, {"metadata": {"generation": generation}, "spec": spec}, "default")

    def ask_to_go(self, resource: Resource, name: str) -> None:
        """Somebody deletes an object."""
        held = self.one(resource, name)
        if held["metadata"].get("finalizers"):
            moment = stamp(self.clock.wall().timestamp())
            self.edit(resource, name, {"metadata": {"deletionTimestamp": moment}}, "default")
        else:
            self.remove(resource, name, "default")

    # What a client does

    async def create(self, resource: Resource, body: Any, *, namespace: str = "", type: Any = JSON, **_: Any) -> Any:
        await self._arrive()
        made = plain(body)
        name = made["metadata"]["name"]
        is_lost = self._faulty("create", resource, name)
        if (resource.plural, namespace, name) in self.objects:
            raise AlreadyExists("there is one", code=409)
        self._note("create", resource, name, "")
        made["metadata"]["generation"] = 1
        stored = self._put(resource.plural, namespace, name, made)
        return self._answered(is_lost, stored, type)

    async def patch(
        self,
        resource: Resource,
        name: str,
        change: Any,
        *,
        namespace: str = "",
        subresource: str = "",
        form: str = "merge",
        type: Any = JSON,
    ) -> Any:
        await self._arrive()
        is_lost = self._faulty("patch", resource, name)
        held, wanted = self._find(resource, namespace, name), plain(change)
        for key in ("uid", "resourceVersion"):
            if wanted.get("metadata", {}).get(key, held["metadata"][key]) != held["metadata"][key]:
                raise Conflict(f"{key} differs", code=409)
        self._note("patch", resource, name, subresource)
        kept = {key: one for key, one in wanted.items() if (key == "status") == (subresource == "status")}
        found = (strategic if form == "strategic" else merged)(held, kept)
        if found.get("spec") != held.get("spec"):
            found = merged(found, {"metadata": {"generation": held["metadata"]["generation"] + 1}})
        if found["metadata"].get("deletionTimestamp") and not found["metadata"].get("finalizers"):
            self.remove(resource, name, namespace)
            return self._answered(is_lost, found, type)
        return self._answered(is_lost, self._put(resource.plural, namespace, name, found), type)

    async def delete(
        self, resource: Resource, name: str, *, namespace: str = "", uid: str = "", type: Any = JSON, **_: Any
    ) -> Any:
        await self._arrive()
        is_lost = self._faulty("delete", resource, name)
        held = self._find(resource, namespace, name)
        if uid and held["metadata"]["uid"] != uid:
            raise Conflict("another uid", code=409)
        self._note("delete", resource, name, "")
        self.ask_to_go(resource, name)
        still = self.get_now(resource, name, namespace)
        return self._answered(is_lost, still or held, type)

    async def delete_collection(self, resource: Resource, *, namespace: str, labels: dict[str, str], **_: Any) -> None:
        await self._arrive()
        is_lost = self._faulty("delete_collection", resource, "")
        self._note("delete_collection", resource, "", "")
        for plural, space, name in list(self.objects):
            found = self.objects[plural, space, name]["metadata"].get("labels", {})
            if plural == resource.plural and space == namespace and labels.items() <= found.items():
                self.ask_to_go(resource, name)
        self._answered(is_lost, {}, dict)

    def _faulty(self, verb: str, resource: Resource, name: str) -> bool:
        return self.fault(verb, resource, name) == "lost"

    def _answered(self, is_lost: bool, obj: JSON, type: Any) -> Any:
        if is_lost:
            raise Unreachable("the answer was lost", may_have_acted=True)
        return None if type is Any else self._read(obj, type)


@contextlib.contextmanager
def faults(server: OperatorServer, fault: Fault) -> Any:
    """As long as this lasts, writes fail as `fault` says."""
    server.fault = fault
    try:
        yield
    finally:
        server.fault = no_fault
