"""Keeps the statuses of ClusterTopologyBindings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from grove.api import statuses
from grove.api.kinds.operatorconfig import Backend
from grove.api.kinds.topology import ClusterTopologyBinding
from grove.kube.clock import Clock
from grove.kube.errors import Conflict, NotFound
from grove.kube.events import Recorder
from grove.kube.regarding import regarding
from grove.kube.store import Change
from grove.operator.resources import TOPOLOGY_BINDINGS
from grove.operator.topology import status
from grove.operator.world import Key, World, key_of
from grove.operator.writer import Writer
from grove.runtime.followed import Followed
from grove.runtime.outcomes import Outcome, Retry
from grove.runtime.source import Source

AGAIN = 0.2
"""Seconds until a status is decided anew that met another's write."""


def sources(world: World) -> list[Source[Key]]:
    """What the topology controller follows."""
    return [Followed(world.topologies, _keys)]


def _keys(change: Change[ClusterTopologyBinding]) -> Iterator[Key]:
    old, new = change
    if new is None or (old is not None and old.metadata.generation == new.metadata.generation):
        return
    yield key_of(new.metadata)


class TopologyReconciler:
    """See the top of the module."""

    def __init__(
        self,
        *,
        world: World,
        writer: Writer,
        recorder: Recorder,
        clock: Clock,
        schedulers: Mapping[str, Backend],
    ) -> None:
        """`schedulers` are those of the policy."""
        self._world = world
        self._writer = writer
        self._recorder = recorder
        self._clock = clock
        self._schedulers = schedulers

    async def __call__(self, key: Key) -> Outcome:
        binding = self._world.topologies.get(key.name)
        if binding is None or binding.metadata.deletion_timestamp is not None:
            return None
        wanted = status.wanted(binding, self._schedulers, self._clock.wall())
        patch = statuses.patch(binding.status, wanted)
        if patch is None:
            return None
        try:
            await self._writer.patch(
                TOPOLOGY_BINDINGS,
                binding.metadata,
                patch,
                type=ClusterTopologyBinding,
                subresource="status",
                guarded=True,
            )
        except (Conflict, NotFound) as error:
            raise Retry(f"ClusterTopologyBinding {key.name} has changed meanwhile: {error}", after=AGAIN) from error
        if status.came_into_sync(binding.status, wanted):
            message = "All scheduler backend topologies are in sync"
            about = regarding(TOPOLOGY_BINDINGS, binding.metadata)
            self._recorder.record(about, "Normal", "TopologyInSync", message)
        return None
