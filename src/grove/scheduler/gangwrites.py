"""The two ways in which the scheduler writes on PodGangs: annotations, and statuses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from grove.api.fields import JSON
from grove.api.kinds.podgang import PodGang
from grove.kube.cachedclient import CachedClient
from grove.kube.errors import ApiError, Conflict, KubeError, NotFound, ServerError, TooManyRequests, Unauthorized
from grove.scheduler.kinds import POD_GANGS
from grove.scheduler.outcomes import BindFailure

_DOUBTFUL: Final = (ServerError, TooManyRequests, Unauthorized)


def is_refusal(error: KubeError) -> bool:
    """Whether nothing was done and another try would not help. Else nobody knows, or it may."""
    return isinstance(error, ApiError) and not isinstance(error, _DOUBTFUL)


async def annotate(
    client: CachedClient, key: str, uid: str, annotations: Mapping[str, str | None]
) -> BindFailure | None:
    """Writes on a PodGang, if it is still this one; gives why that was not done."""
    namespace, _, name = key.partition("/")
    change = {"metadata": {"uid": uid, "annotations": annotations}}
    try:
        await client.patch(POD_GANGS, name, change, namespace=namespace, type=PodGang)
    except (NotFound, Conflict) as error:
        return BindFailure("Gone", str(error))
    except KubeError as error:
        return BindFailure("Refused" if is_refusal(error) else "Unreachable", str(error))
    return None


async def write_status(client: CachedClient, gang: PodGang, patch: JSON) -> None:
    """Only in the version that is held, since a merge patch replaces all conditions. Raises KubeError."""
    metadata = gang.metadata
    guard = {"uid": metadata.uid, "resourceVersion": metadata.resource_version}
    await client.patch(
        POD_GANGS,
        metadata.name,
        {**patch, "metadata": guard},
        namespace=metadata.namespace or "",
        subresource="status",
        type=PodGang,
    )
