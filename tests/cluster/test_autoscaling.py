"""Autoscalers of Kubernetes on Grove's kinds: they read and write the scale subresource, with no metrics in between."""

from typing import Any

import pytest

from grove.api.kinds import catalog
from grove.api.kinds.catalog import Kind
from grove.testing.controlplane import ControlPlane
from grove.testing.waiting import eventually
from tests.cluster.objects import Objects

pytestmark = pytest.mark.usefixtures("grove_crds")

CPU = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}


@pytest.mark.parametrize(
    ("kind", "selector"),
    [(catalog.POD_CLIQUE, "hpaPodSelector"), (catalog.SCALING_GROUP, "selector")],
    ids=("PodClique", "PodCliqueScalingGroup"),
)
def test_an_autoscaler_raises_the_replicas_to_its_minimum_and_selects_the_pods(
    cluster: ControlPlane, objects: Objects, namespace: str, kind: Kind, selector: str
) -> None:
    objects.create(kind, "one")
    objects.set_status(kind, "one", {"replicas": 4, selector: "grove.io/podclique=one"})
    autoscalers = f"/apis/autoscaling/v2/namespaces/{namespace}/horizontalpodautoscalers"
    target = {"apiVersion": kind.api_version, "kind": kind.name, "name": "one"}
    spec = {
        "scaleTargetRef": target,
        "minReplicas": 7,
        "maxReplicas": 9,
        "metrics": [{"type": "Resource", "resource": CPU}],
    }
    cluster.create(autoscalers, {"metadata": {"name": "one"}, "spec": spec})

    eventually(lambda: objects.get(kind, "one")["spec"]["replicas"], lambda replicas: replicas == 7, timeout=30.0)

    def conditions() -> dict[str, Any]:
        status = cluster.request("GET", f"{autoscalers}/one")[1].get("status", {})
        return {one["type"]: (one["status"], one["reason"]) for one in status.get("conditions", [])}

    # Nobody serves metrics here; that it got so far as to ask for them means that it could read selector and replicas.
    found = eventually(conditions, lambda found: "ScalingActive" in found, timeout=30.0)
    assert found["AbleToScale"][0] == "True"
    assert found["ScalingActive"] == ("False", "FailedGetResourceMetric")
