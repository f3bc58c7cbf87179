"""The CustomResourceDefinitions on a real API server: accepted, installed twice, shown, and collected."""

import pytest

from grove.testing.controlplane import ControlPlane
from grove.testing.waiting import eventually

pytestmark = pytest.mark.usefixtures("grove_crds")


def test_an_object_of_ours_goes_with_its_owner(cluster: ControlPlane, namespace: str) -> None:
    base = f"/apis/scheduler.grove.io/v1alpha1/namespaces/{namespace}/podgangs"

    def gang(name: str, **metadata: object) -> dict[str, object]:
        return {
            "apiVersion": "scheduler.grove.io/v1alpha1",
            "kind": "PodGang",
            "metadata": {"name": name, **metadata},
            "spec": {"podgroups": []},
        }

    owner = cluster.create(base, gang("owner"))
    reference = {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": "owner",
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    cluster.create(base, gang("dependent", ownerReferences=[reference]))
    cluster.request("DELETE", f"{base}/owner")
    eventually(
        lambda: cluster.request("GET", f"{base}/dependent")[0],
        lambda status: status == 404,
        timeout=10.0,
        message="the garbage collector has not taken the dependent",
    )
