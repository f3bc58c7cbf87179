"""Statuses on a real API server: every field that we declare is kept, and only the status subresource writes them."""

import pytest

from grove.api import codec
from grove.api.fields import JSON, fields_of
from grove.api.kinds import catalog
from grove.api.kinds.catalog import SERVED, Kind
from grove.testing.controlplane import ControlPlane
from tests.cluster.objects import Objects, filled, smallest

pytestmark = pytest.mark.usefixtures("grove_crds")

each_kind = pytest.mark.parametrize("kind", SERVED, ids=lambda kind: kind.plural)


def full_status(kind: Kind) -> JSON:
    """A status with every field set."""
    (info,) = [info for info in fields_of(kind.struct) if info.json_name == "status"]
    status: JSON = filled(info.type)
    return status


@each_kind
def test_a_status_with_every_field_set_is_read_back_as_it_was_written(
    objects: Objects, namespace: str, kind: Kind
) -> None:
    objects.create(kind, namespace)
    status = full_status(kind)
    objects.set_status(kind, namespace, status)
    stored = objects.get(kind, namespace)
    assert stored["status"] == status
    assert stored["metadata"]["generation"] == 1
    # And our structs hold all of it.
    assert codec.encode(codec.decode(stored, kind.struct))["status"] == status


@each_kind
def test_an_unknown_field_of_a_status_is_refused_where_the_writer_asks_for_it(
    cluster: ControlPlane, objects: Objects, namespace: str, kind: Kind
) -> None:
    stored = objects.create(kind, namespace)
    stored["status"] = full_status(kind) | {"mood": "good"}
    path = objects.path(kind, namespace, "status")
    code, refused = cluster.request("PUT", f"{path}?fieldValidation=Strict", stored)
    assert code == 400
    assert 'unknown field "status.mood"' in refused["message"]


@each_kind
def test_the_main_resource_does_not_write_the_status(
    cluster: ControlPlane, objects: Objects, namespace: str, kind: Kind
) -> None:
    created = objects.create(kind, smallest(kind, namespace) | {"status": full_status(kind)})
    assert "status" not in created
    objects.set_status(kind, namespace, full_status(kind))
    stored = objects.get(kind, namespace)
    emptied = stored | {"status": {}}
    code, answer = cluster.request("PUT", objects.path(kind, namespace), emptied)
    assert (code, answer["status"]) == (200, stored["status"])
    assert answer["metadata"]["resourceVersion"] == stored["metadata"]["resourceVersion"]


@each_kind
def test_the_status_subresource_writes_nothing_but_the_status(
    cluster: ControlPlane, objects: Objects, namespace: str, kind: Kind
) -> None:
    created = objects.create(kind, namespace)
    changed = created | {"spec": different(kind), "status": full_status(kind)}
    changed["metadata"] = created["metadata"] | {"labels": {"written": "too"}}
    code, answer = cluster.request("PUT", objects.path(kind, namespace, "status"), changed)
    assert (code, answer["status"]) == (200, full_status(kind))
    assert answer["spec"] == created["spec"]
    assert answer["metadata"]["generation"] == 1
    assert "labels" not in answer["metadata"]


def different(kind: Kind) -> JSON:
    """A valid spec that is not the smallest one."""
    spec: JSON = smallest(kind, "")["spec"]
    if kind is catalog.QUEUE:
        return {"weight": 7}
    if kind is catalog.POD_GANG:
        return spec | {"priorityClassName": "high"}
    if kind is catalog.TOPOLOGY_BINDING:
        return {"levels": spec["levels"][:1]}
    if kind is catalog.AFFINITY_CLIQUE:
        return {"selector": {"matchLabels": {"app": "another"}}}
    return spec | {"replicas": 9}


@each_kind
def test_a_minimal_status_gets_its_counters(objects: Objects, namespace: str, kind: Kind) -> None:
    objects.create(kind, namespace)
    least = {"phase": "Pending"} if kind is catalog.POD_GANG else {"observedGeneration": 1}
    stored = objects.set_status(kind, namespace, least)["status"]
    declared = codec.encode(codec.decode({**smallest(kind, namespace), "status": least}, kind.struct))["status"]
    assert stored == declared
