"""Objects for the tests of the API: the smallest valid one of each kind, and a struct with every field set."""

import copy
import itertools
import typing
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from grove.api.fields import JSON, Field, fields_of, is_struct, unwrap
from grove.api.kinds import catalog
from grove.api.kinds.catalog import Kind
from grove.testing.controlplane import ControlPlane

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
MERGE = "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"

POD_SPEC: JSON = {"containers": [{"name": "main", "image": "main:v1"}]}

SMALLEST: Mapping[Kind, JSON] = {
    catalog.POD_CLIQUE_SET: {
        "replicas": 1,
        "template": {"cliques": [{"name": "worker", "spec": {"replicas": 2, "podSpec": POD_SPEC}}]},
    },
    catalog.POD_CLIQUE: {"roleName": "worker", "replicas": 4, "minAvailable": 2, "podSpec": POD_SPEC},
    catalog.SCALING_GROUP: {"replicas": 3, "minAvailable": 2, "cliqueNames": ["leader", "worker"]},
    catalog.TOPOLOGY_BINDING: {
        "levels": [
            {"domain": "zone", "key": "topology.kubernetes.io/zone"},
            {"domain": "host", "key": "kubernetes.io/hostname"},
        ]
    },
    catalog.POD_GANG: {"podgroups": [{"name": "worker", "podReferences": [], "minReplicas": 2}]},
    catalog.QUEUE: {},
    catalog.POD_GANG_SET: {"replicas": 4, "minAvailable": 4, "template": {"spec": POD_SPEC}},
    catalog.AFFINITY_CLIQUE: {"selector": {"matchLabels": {"app": "worker"}}},
}


def smallest(kind: Kind, name: str) -> JSON:
    """A valid object with next to nothing in it."""
    return {
        "apiVersion": kind.api_version,
        "kind": kind.name,
        "metadata": {"name": name},
        "spec": copy.deepcopy(SMALLEST[kind]),
    }


class Objects:
    """The objects of a test: in its namespace, or of the cluster and then deleted by `close`."""

    def __init__(self, cluster: ControlPlane, namespace: str) -> None:
        self._cluster = cluster
        self._namespace = namespace
        self._cluster_scoped: list[str] = []

    def path(self, kind: Kind, name: str = "", subresource: str = "") -> str:
        """Where an object, its subresource or, without a name, the collection is."""
        place = f"namespaces/{self._namespace}/" if kind.scope == "Namespaced" else ""
        collection = f"/apis/{kind.api_version}/{place}{kind.plural}"
        return "/".join(part for part in (collection, name, subresource) if part)

    def create(self, kind: Kind, tree: JSON | str) -> JSON:
        """Creates an object, the smallest if only a name is given, and gives it as the server stored it."""
        body = smallest(kind, tree) if isinstance(tree, str) else tree
        stored: JSON = self._cluster.create(self.path(kind), body)
        self.clean_up(kind, stored["metadata"]["name"])
        return stored

    def clean_up(self, kind: Kind, name: str) -> None:
        """Has an object deleted in the end that did not come from `create`."""
        if kind.scope == "Cluster":
            self._cluster_scoped.append(self.path(kind, name))

    def get(self, kind: Kind, name: str, subresource: str = "") -> JSON:
        status, answer = self._cluster.request("GET", self.path(kind, name, subresource))
        assert status == 200, answer
        found: JSON = answer
        return found

    def patch(self, kind: Kind, name: str, change: JSON, subresource: str = "") -> tuple[int, Any]:
        """Status and answer of a merge patch."""
        return self._cluster.request("PATCH", self.path(kind, name, subresource), change, content_type=MERGE)

    def set_status(self, kind: Kind, name: str, status: JSON) -> JSON:
        """Writes a status as a controller does."""
        code, answer = self.patch(kind, name, {"status": status}, "status")
        assert code == 200, answer
        written: JSON = answer
        return written

    def close(self) -> None:
        for path in self._cluster_scoped:
            self._cluster.request("DELETE", path)


def filled(bare: Any, declared: Field | None = None, numbers: Iterator[int] | None = None) -> Any:
    """A value of a type with every field set that it declares, and no two alike, so that no mix-up goes unseen."""
    declared, numbers = declared or Field(), numbers or itertools.count(1)
    if is_struct(bare):
        return {info.json_name: filled(info.type, info.declared, numbers) for info in fields_of(bare)}
    origin, arguments = typing.get_origin(bare), typing.get_args(bare)
    if origin is tuple:
        return [filled(*unwrap(arguments[0]), numbers) for _ in range(2)]
    if origin is dict:
        return {f"key-{next(numbers)}": filled(*unwrap(arguments[1]), numbers) for _ in range(2)}
    if origin is Literal:
        return arguments[next(numbers) % len(arguments)]
    return _filled_scalar(bare, declared, next(numbers))


def _filled_scalar(bare: Any, declared: Field, number: int) -> Any:
    if declared.embeds == "io.k8s.apimachinery.pkg.api.resource.Quantity":
        return f"{number}500m"
    if declared.format == "date-time":
        return f"2026-01-02T03:04:{number % 60:02}Z"
    if bare is bool:
        return True
    if bare is float:
        return number + 0.5
    return number if bare is int else f"Example{number}"
