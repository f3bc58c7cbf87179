"""The controllers of the operator, made anew for each term of a leader, with the right to write in it."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final

from grove.api.kinds.operatorconfig import Controllers as Settings
from grove.api.policy import Policy
from grove.kube.cachedclient import Caches
from grove.kube.client import Client
from grove.kube.clock import Clock
from grove.kube.events import Recorder
from grove.operator.backends.registry import Backends
from grove.operator.podclique.reconcile import PodCliqueReconciler
from grove.operator.podclique.settings import PodSettings
from grove.operator.podclique.sources import sources as clique_sources
from grove.operator.podcliqueset.reconcile import PodCliqueSetReconciler
from grove.operator.podcliqueset.sources import sources as set_sources
from grove.operator.podgang.reconcile import PodGangReconciler
from grove.operator.podgang.wakes import sources as gang_sources
from grove.operator.scalinggroup.reconcile import ScalingGroupReconciler
from grove.operator.scalinggroup.wakes import sources as group_sources
from grove.operator.topology.reconcile import TopologyReconciler
from grove.operator.topology.reconcile import sources as topology_sources
from grove.operator.world import Key, World
from grove.operator.writer import Writer
from grove.runtime.controller import Controller
from grove.runtime.outcomes import Outcome
from grove.runtime.source import Source

SETS: Final = "podcliqueset-controller"
CLIQUES: Final = "podclique-controller"
GROUPS: Final = "podcliquescalinggroup-controller"
GANGS: Final = "podgang-controller"
TOPOLOGIES: Final = "clustertopology-controller"
NAMES: Final = (SETS, CLIQUES, GROUPS, GANGS, TOPOLOGIES)


class Controllers:
    """See the top of the module."""

    def __init__(
        self,
        settings: Settings,
        *,
        policy: Policy,
        pods: PodSettings,
        world: World,
        caches: Caches,
        backends: Backends,
        recorder: Recorder,
        clock: Clock,
        rng: random.Random,
    ) -> None:
        self.writers: Mapping[str, Writer] = {}
        """Of the term, by the name of the controller."""
        self._running: Sequence[Controller[Key]] = ()
        self._settings = settings
        self._policy = policy
        self._pods = pods
        self._world = world
        self._caches = caches
        self._backends = backends
        self._recorder = recorder
        self._clock = clock
        self._rng = rng

    def running(self) -> Sequence[Controller[Key]]:
        """Those of the term; none on a replica that stands by."""
        return self._running

    def of_term(self, client: Client) -> Sequence[Controller[Key]]:
        """All of them, writing through this client."""
        self.writers = {name: Writer(client, self._caches) for name in NAMES}
        self._running = [self._sets(), self._cliques(), self._groups(), self._gangs(), self._topologies()]
        return self._running

    def _sets(self) -> Controller[Key]:
        reconcile = PodCliqueSetReconciler(
            world=self._world,
            writer=self.writers[SETS],
            recorder=self._recorder,
            clock=self._clock,
            topology_enabled=self._policy.topology_enabled,
        )
        workers = self._settings.pod_clique_set.concurrent_syncs
        return self._controller(SETS, reconcile, set_sources(self._world), workers)

    def _cliques(self) -> Controller[Key]:
        reconcile = PodCliqueReconciler(
            world=self._world,
            writer=self.writers[CLIQUES],
            recorder=self._recorder,
            clock=self._clock,
            backends=self._backends,
            settings=self._pods,
        )
        workers = self._settings.pod_clique.concurrent_syncs
        return self._controller(CLIQUES, reconcile, clique_sources(self._world), workers)

    def _groups(self) -> Controller[Key]:
        reconcile = ScalingGroupReconciler(
            world=self._world, writer=self.writers[GROUPS], recorder=self._recorder, clock=self._clock
        )
        workers = self._settings.pod_clique_scaling_group.concurrent_syncs
        return self._controller(GROUPS, reconcile, group_sources(self._world), workers)

    def _gangs(self) -> Controller[Key]:
        reconcile = PodGangReconciler(
            world=self._world,
            writer=self.writers[GANGS],
            recorder=self._recorder,
            clock=self._clock,
            backends=self._backends,
            topology_enabled=self._policy.topology_enabled,
        )
        workers = self._settings.pod_gang.concurrent_syncs
        return self._controller(GANGS, reconcile, gang_sources(self._world, self._backends), workers)

    def _topologies(self) -> Controller[Key]:
        reconcile = TopologyReconciler(
            world=self._world,
            writer=self.writers[TOPOLOGIES],
            recorder=self._recorder,
            clock=self._clock,
            schedulers=self._policy.schedulers,
        )
        return self._controller(TOPOLOGIES, reconcile, topology_sources(self._world), 1)

    def _controller(
        self,
        name: str,
        reconcile: Callable[[Key], Awaitable[Outcome]],
        sources: Sequence[Source[Key]],
        workers: int,
    ) -> Controller[Key]:
        return Controller(name, reconcile, sources, clock=self._clock, rng=self._rng, workers=workers)
