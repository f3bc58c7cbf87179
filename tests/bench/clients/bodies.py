"""What the clients send: pods as Grove's operator creates them, 4 kB each, and the status that makes one of them ready.

Every client sends the same for the same number. Runs in the environments of all clients: the standard library alone.
"""

from __future__ import annotations

import random
from typing import Any

from tests.bench import pods

NAMESPACE = "bench"

# Set by the server, or naming what only a whole cluster has.
METADATA_OF_SERVER = ("uid", "resourceVersion", "generation", "creationTimestamp", "generateName", "managedFields")
SPEC_OF_CLUSTER = ("nodeName", "priority", "priorityClassName", "preemptionPolicy")


def name(number: int) -> str:
    return f"worker-{number:06d}"


def created(number: int) -> dict[str, Any]:
    """A pod as it is created."""
    pod = whole(number)
    metadata = {key: value for key, value in pod["metadata"].items() if key not in METADATA_OF_SERVER}
    spec = {key: value for key, value in pod["spec"].items() if key not in SPEC_OF_CLUSTER}
    for container in (*spec["initContainers"], *spec["containers"][1:]):
        del container["ports"]  # the same in all: the server warns
    for volume in spec["volumes"]:
        for source in volume.get("projected", {}).get("sources", ()):
            source["serviceAccountToken"]["path"] = "token"
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata | {"name": name(number), "namespace": NAMESPACE},
        "spec": spec,
    }


def ready(number: int) -> dict[str, Any]:
    """A merge patch of its status."""
    status = whole(number)["status"]
    del status["qosClass"]  # the server's word
    return {"status": status}


def whole(number: int) -> dict[str, Any]:
    rng = random.Random(number)
    gang = {"number": number // pods.GANG, "start": rng.randrange(pods.MONTH), "owner": pods.identifier(rng)}
    return pods.pod(number, gang, rng)
