"""Events, kept by an API server."""

from grove.kube.client import Client
from grove.kube.errors import Forbidden, NotFound
from grove.kube.events import EventObject, EventRefused
from grove.kube.resources import CORE_EVENTS


class ClientEvents:
    """An EventStore over a client. Not fenced: what happened, happened, also at the end of a term."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def create(self, event: EventObject) -> None:
        namespace = event["metadata"]["namespace"]
        try:
            await self._client.create(CORE_EVENTS, event, namespace=namespace)
        except (NotFound, Forbidden) as error:
            raise EventRefused(f"namespace {namespace}: {error}") from error

    async def patch(self, namespace: str, name: str, change: EventObject) -> bool:
        try:
            await self._client.patch(CORE_EVENTS, name, change, namespace=namespace)
        except NotFound:
            return False
        return True
