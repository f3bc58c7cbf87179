"""PodGangs and their pods, as the operator would make them, and what tests ask about them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from grove.testing.controlplane import ControlPlane
from grove.testing.waiting import eventually

JSON = dict[str, Any]

PATIENCE = 60.0
GPU = "nvidia.com/gpu"
RACK = "topology.kubernetes.io/rack"
SCHEDULER = "grove-scheduler"
MERGE = "application/merge-patch+json"
EVERYWHERE = "/apis/scheduler.grove.io/v1alpha1/namespaces"


class Gangs:
    """The gangs of a test's namespace."""

    def __init__(self, cluster: ControlPlane, namespace: str) -> None:
        self.cluster = cluster
        self.namespace = namespace
        self._gangs = f"{EVERYWHERE}/{namespace}/podgangs"
        self._pods = f"/api/v1/namespaces/{namespace}/pods"
        self._numbers = itertools.count()

    # Making

    def pod(self, name: str, *, gang: str = "", gpus: int = 1, node: str = "", **spec: Any) -> JSON:
        """A pod; with `node` it is there already, whoever put it there."""
        labels = {"grove.io/podgang": gang} if gang else {}
        container = {"name": "main", "image": "main:v1", "resources": {"limits": {GPU: str(gpus)}}}
        body = {
            "metadata": {"name": name, "labels": labels},
            "spec": {"schedulerName": SCHEDULER, "containers": [container], "terminationGracePeriodSeconds": 1}
            | ({"nodeName": node} if node else {})
            | spec,
        }
        made: JSON = self.cluster.create(self._pods, body)
        return made

    def gang(
        self,
        name: str,
        groups: Mapping[str, int],
        *,
        gpus: int = 8,
        minimum: int | None = None,
        required: str | None = RACK,
        queue: str = "",
        pods: bool = True,
        **spec: Any,
    ) -> list[str]:
        """A PodGang with a group for each name and count, and its pods; gives their names."""
        names = {group: [f"{name}-{group}-{index}" for index in range(count)] for group, count in groups.items()}
        body = {
            "apiVersion": "scheduler.grove.io/v1alpha1",
            "kind": "PodGang",
            "metadata": {"name": name, "labels": {"grove.io/queue": queue} if queue else {}},
            "spec": {
                "podgroups": [
                    {
                        "name": f"{name}-{group}",
                        "minReplicas": len(found) if minimum is None else minimum,
                        "podReferences": [{"namespace": self.namespace, "name": one} for one in found],
                    }
                    for group, found in names.items()
                ],
            }
            | ({"topologyConstraint": {"packConstraint": {"required": required}}} if required else {}),
        }
        found = [one for group in names.values() for one in group]
        if pods:
            for one in found:
                self.pod(one, gang=name, gpus=gpus, **spec)
        self.cluster.create(self._gangs, body)
        return found

    def delete(self, name: str) -> None:
        self.cluster.request("DELETE", f"{self._pods}/{name}", {"gracePeriodSeconds": 0})

    def remove(self, name: str, pods: Iterable[str]) -> None:
        """A gang goes with its pods."""
        self.cluster.request("DELETE", f"{self._gangs}/{name}")
        for pod in pods:
            self.delete(pod)

    def clear(self) -> None:
        """All of them go at once, and with them what they hold."""
        self.cluster.request("DELETE", self._gangs)
        self.cluster.request("DELETE", self._pods, {"gracePeriodSeconds": 0})
        eventually(lambda: self.pods(), lambda found: not found, timeout=PATIENCE, message="pods are left")

    # Looking

    def pods(self) -> dict[str, JSON]:
        items = self.cluster.request("GET", self._pods)[1]["items"]
        return {one["metadata"]["name"]: one for one in items}

    def where(self) -> dict[str, str]:
        """The nodes of the pods that have one."""
        return {name: pod["spec"]["nodeName"] for name, pod in self.pods().items() if pod["spec"].get("nodeName")}

    def status(self, name: str) -> JSON:
        found: JSON = self.cluster.request("GET", f"{self._gangs}/{name}")[1].get("status", {})
        return found

    def view(self, name: str) -> JSON:
        found: JSON = self.cluster.request("GET", f"{self._gangs}/{name}")[1]
        return found

    def condition(self, name: str, type: str) -> JSON:
        return next((one for one in self.status(name).get("conditions", ()) if one["type"] == type), {})

    def events(self, name: str) -> list[JSON]:
        path = f"/api/v1/namespaces/{self.namespace}/events?fieldSelector=involvedObject.name={name}"
        found: list[JSON] = self.cluster.request("GET", path)[1]["items"]
        return found

    # Waiting

    def placed(self, *names: str) -> dict[str, str]:
        """The nodes of these pods, when all have one."""
        found = eventually(
            self.where, lambda where: set(names) <= set(where), timeout=PATIENCE, message=f"{names} are not all placed"
        )
        return {name: found[name] for name in names}

    def running(self, name: str) -> JSON:
        return self.when(name, lambda status: status.get("phase") == "Running")

    def when(self, name: str, until: Callable[[JSON], object]) -> JSON:
        return eventually(lambda: self.status(name), until, timeout=PATIENCE, message=f"PodGang {name}")

    def waits(self, name: str, reason: str) -> JSON:
        """The condition by which a gang says that it waits for this reason."""
        return eventually(
            lambda: self.condition(name, "Scheduled"),
            lambda found: (found.get("status"), found.get("reason")) == ("False", reason),
            timeout=PATIENCE,
        )

    def refused(self, name: str) -> JSON:
        """The condition by which a gang says that it waits, for whatever reason."""
        return eventually(
            lambda: self.condition(name, "Scheduled"), lambda found: found.get("status") == "False", timeout=PATIENCE
        )

    # Judging

    def rack_of(self, node: str) -> str:
        rack: str = self.cluster.request("GET", f"/api/v1/nodes/{node}")[1]["metadata"]["labels"][RACK]
        return rack
