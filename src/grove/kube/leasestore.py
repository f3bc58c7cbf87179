"""The Lease of an election, kept by an API server."""

from grove.kube.client import Client
from grove.kube.errors import AlreadyExists, Conflict, NotFound
from grove.kube.leaserecord import LeaseObject
from grove.kube.resources import LEASES


class ClientLeases:
    """A LeaseStore over a client, which must not be fenced: the lease is what makes the fence."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def get(self, namespace: str, name: str) -> LeaseObject | None:
        try:
            return await self._client.get(LEASES, name, namespace=namespace)
        except NotFound:
            return None

    async def create(self, lease: LeaseObject) -> LeaseObject | None:
        try:
            return await self._client.create(LEASES, lease, namespace=lease["metadata"]["namespace"])
        except AlreadyExists:
            return None

    async def update(self, lease: LeaseObject) -> LeaseObject | None:
        metadata = lease["metadata"]
        try:
            return await self._client.update(LEASES, metadata["name"], lease, namespace=metadata["namespace"])
        except (Conflict, NotFound):
            return None
