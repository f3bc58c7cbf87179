"""Shows a witness every state of the pods and PodGangs of a namespace, from a thread of its own."""

from __future__ import annotations

import asyncio

from grove.kube.client import Client
from grove.kube.kubeconfig import connect
from grove.kube.resources import PODS
from grove.runtime.clock import SystemClock
from grove.scheduler.kinds import POD_GANGS
from grove.testing.controlplane import ControlPlane
from tests.cluster.beside import Beside, follow
from tests.cluster.together.witness import JSON, Pod, Witness


class Watching(Beside):
    """To be used with `with`; what the witness has seen is asked afterwards, or while the test waits."""

    def __init__(self, cluster: ControlPlane, namespace: str, witness: Witness) -> None:
        super().__init__("witness")
        self._cluster = cluster
        self._namespace = namespace
        self.witness = witness
        self._clock = SystemClock()

    async def go_on(self) -> None:
        async with (
            Client(connect(str(self._cluster.kubeconfig)), field_manager="witness") as client,
            asyncio.TaskGroup() as group,
        ):
            group.create_task(follow(client, POD_GANGS, self._namespace, self._gang))
            group.create_task(follow(client, PODS, self._namespace, self._pod))

    def _gang(self, gang: JSON, is_gone: bool) -> None:
        name = gang["metadata"]["name"]
        if is_gone:
            self.witness.gang_gone(name)
        else:
            groups = gang["spec"]["podgroups"]
            self.witness.gang(name, {one["name"]: one["minReplicas"] for one in groups if one["minReplicas"]})

    def _pod(self, pod: JSON, is_gone: bool) -> None:
        self.witness.pod(Pod.of(pod), self._clock.monotonic(), is_gone=is_gone)
