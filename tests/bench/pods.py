"""Pods as an API server writes them, made up: cliques of eight in gangs, running, with managedFields; 10 kB each."""

from __future__ import annotations

import datetime
import json
import random
import uuid
from collections.abc import Iterator
from typing import Any

CLIQUE, GANG = 8, 24
START = datetime.datetime(2026, 11, 1, tzinfo=datetime.UTC)
MONTH = 30 * 24 * 3600


def pages(count: int, size: int) -> Iterator[bytes]:
    """Lists of pods, the same at every call."""
    rng = random.Random(7)
    gang: dict[str, Any] = {}
    for first in range(0, count, size):
        items = []
        for index in range(first, min(first + size, count)):
            if index % GANG == 0:
                gang = {"number": index // GANG, "start": rng.randrange(MONTH)}
            if index % CLIQUE == 0:
                gang["owner"] = identifier(rng)
            items.append(pod(index, gang, rng))
        yield json.dumps(
            {"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": items}, separators=(",", ":")
        ).encode()


def identifier(rng: random.Random) -> str:
    return str(uuid.UUID(int=rng.getrandbits(128), version=4))


def at(seconds: int) -> str:
    return (START + datetime.timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def pod(index: int, gang: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    team, clique = gang["number"] % 40, index // CLIQUE % 3
    pcs = f"inference-{gang['number'] // 4}"
    role = ("router", "prefill", "decode")[clique]
    pclq = f"{pcs}-{gang['number'] % 4}-{role}"
    name = f"{pclq}-{''.join(rng.choices('bcdfghjklmnpqrstvwxz2456789', k=5))}"
    created, ready = gang["start"], gang["start"] + rng.randrange(30, 60)
    cause = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
    times = (created + 3, created + 2, ready, ready, created + 1)
    token = f"kube-api-access-{''.join(rng.choices('bcdfghjklmnpqrstvwxz2456789', k=5))}"
    resources = {"cpu": "16", "memory": "128Gi", "nvidia.com/gpu": "8"}
    address = f"10.{index >> 16 & 255}.{index >> 8 & 255}.{index & 255}"
    host = f"gpu-node-{index // CLIQUE:05d}"
    return {
        "metadata": {
            "name": name,
            "generateName": f"{pclq}-",
            "namespace": f"team-{team}",
            "uid": identifier(rng),
            "resourceVersion": str(1_000_000 + index * 7),
            "generation": 1,
            "creationTimestamp": at(created),
            "labels": {
                "app.kubernetes.io/managed-by": "grove-operator",
                "app.kubernetes.io/part-of": pcs,
                "grove.io/podcliqueset": pcs,
                "grove.io/podcliqueset-replica-index": str(gang["number"] % 4),
                "grove.io/podclique": pclq,
                "grove.io/clique": role,
                "grove.io/podgang": f"{pcs}-{gang['number'] % 4}",
                "grove.io/podclique-pod-index": str(index % CLIQUE),
                "grove.io/pod-template-hash": f"{role}5c9d7f",
            },
            "ownerReferences": [
                {
                    "apiVersion": "grove.io/v1alpha1",
                    "kind": "PodClique",
                    "name": pclq,
                    "uid": gang["owner"],
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
            "managedFields": managed_fields(gang["owner"], created, ready),
        },
        "spec": {
            "volumes": [
                {"name": "model", "persistentVolumeClaim": {"claimName": "models"}},
                {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "32Gi"}},
                {"name": token, "projected": {"sources": [{"serviceAccountToken": {"expirationSeconds": 3607}}]}},
            ],
            "initContainers": [container("grove-initc", "grove-initc:v0.9", {"cpu": "50m", "memory": "64Mi"}, token)],
            "containers": [
                container("main", "inference-server:v1.4.2", resources, token),
                container("metrics", "exporter:v0.31", {"cpu": "100m", "memory": "128Mi"}, token),
            ],
            "restartPolicy": "Always",
            "terminationGracePeriodSeconds": 30,
            "dnsPolicy": "ClusterFirst",
            "serviceAccountName": pcs,
            "nodeName": host,
            "securityContext": {},
            "hostname": f"{pclq}-{index % CLIQUE}",
            "subdomain": f"{pcs}-{gang['number'] % 4}",
            "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
                {"matchExpressions": [{"key": "nvidia.com/gpu.product", "operator": "In", "values": ["H100"]}]}
            ]}}},
            "schedulerName": "grove-scheduler",
            "tolerations": [
                {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
                {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute",
                 "tolerationSeconds": 300},
                {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute",
                 "tolerationSeconds": 300},
            ],
            "priorityClassName": "inference",
            "priority": 1000,
            "enableServiceLinks": True,
            "preemptionPolicy": "PreemptLowerPriority",
        },
        "status": {
            "phase": "Running",
            "conditions": [
                {"type": kind, "status": "True", "lastProbeTime": None, "lastTransitionTime": at(time)}
                for kind, time in zip(cause, times, strict=True)
            ],
            "hostIP": f"172.16.{index // CLIQUE >> 8 & 255}.{index // CLIQUE & 255}",
            "podIP": address,
            "podIPs": [{"ip": address}],
            "startTime": at(created + 1),
            "initContainerStatuses": [
                status("grove-initc", rng, {"terminated": {"exitCode": 0, "reason": "Completed",
                       "startedAt": at(created + 3), "finishedAt": at(created + 8)}})
            ],
            "containerStatuses": [
                status(one, rng, {"running": {"startedAt": at(created + 9)}}) for one in ("main", "metrics")
            ],
            "qosClass": "Burstable",
        },
    }  # fmt: skip


def container(name: str, image: str, requests: dict[str, str], token: str) -> dict[str, Any]:
    return {
        "name": name,
        "image": f"images.example.com/ai/{image}",
        "args": ["--model=/models/llama-70b", "--tensor-parallel-size=8", "--port=8000", "--max-model-len=32768"],
        "ports": [{"name": "http", "containerPort": 8000, "protocol": "TCP"}],
        "env": [
            {"name": key, "value": "some-value-of-the-template"}
            for key in ("GROVE_PCS_NAME", "GROVE_PCLQ_NAME", "GROVE_HEADLESS_SERVICE", "NCCL_DEBUG", "NCCL_IB_HCA")
        ],
        "resources": {"limits": requests, "requests": requests},
        "volumeMounts": [
            {"name": "model", "mountPath": "/models", "readOnly": True},
            {"name": token, "readOnly": True, "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"},
        ],
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "imagePullPolicy": "IfNotPresent",
    }


def status(name: str, rng: random.Random, state: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": name,
        "state": state,
        "lastState": {},
        "ready": True,
        "restartCount": 0,
        "image": f"images.example.com/ai/{name}",
        "imageID": f"images.example.com/ai/{name}@sha256:{'ab12' * 16}",
        "containerID": f"containerd://{rng.getrandbits(256):064x}",
        "started": True,
    }


def managed_fields(owner: str, created: int, ready: int) -> list[dict[str, Any]]:
    def named(kind: str, *names: str) -> dict[str, Any]:
        return {f'k:{{"{kind}":"{name}"}}': {".": {}, "f:name": {}, "f:value": {}} for name in names}

    mounts = named("mountPath", "/models", "/var/run/secrets")
    one = {".": {}, "f:args": {}, "f:image": {}, "f:imagePullPolicy": {}, "f:name": {}, "f:resources": {
        ".": {}, "f:limits": {".": {}, "f:cpu": {}, "f:memory": {}}, "f:requests": {".": {}, "f:cpu": {}}},
        "f:env": {".": {}, **named("name", "GROVE_PCS_NAME", "GROVE_PCLQ_NAME", "NCCL_DEBUG", "NCCL_IB_HCA")},
        "f:terminationMessagePath": {}, "f:terminationMessagePolicy": {}, "f:volumeMounts": {".": {}, **mounts},
    }  # fmt: skip
    spec = {"f:containers": {'k:{"name":"main"}': one, 'k:{"name":"metrics"}': one}, "f:dnsPolicy": {},
            "f:enableServiceLinks": {}, "f:hostname": {}, "f:initContainers": {'k:{"name":"grove-initc"}': one},
            "f:restartPolicy": {}, "f:schedulerName": {}, "f:subdomain": {}, "f:tolerations": {}, "f:volumes": {},
    }  # fmt: skip
    labels: dict[str, Any] = {
        f"f:grove.io/{key}": {} for key in ("podclique", "podgang", "podcliqueset", "pod-template-hash")
    }
    owners: dict[str, Any] = {".": {}, f'k:{{"uid":"{owner}"}}': {}}
    one_condition: dict[str, Any] = {".": {}, "f:lastProbeTime": {}, "f:lastTransitionTime": {}, "f:status": {}}
    kinds = ("ContainersReady", "Initialized", "PodReadyToStartContainers", "Ready")
    conditions = {f'k:{{"type":"{kind}"}}': one_condition for kind in kinds}
    return [
        {"manager": "grove-operator", "operation": "Update", "apiVersion": "v1", "time": at(created),
         "fieldsType": "FieldsV1", "fieldsV1": {
             "f:metadata": {"f:labels": {".": {}, **labels}, "f:ownerReferences": owners}, "f:spec": spec}},
        {"manager": "kubelet", "operation": "Update", "apiVersion": "v1", "time": at(ready),
         "fieldsType": "FieldsV1", "subresource": "status", "fieldsV1": {"f:status": {
             "f:conditions": conditions, "f:containerStatuses": {}, "f:hostIP": {}, "f:hostIPs": {}, "f:phase": {},
             "f:podIP": {}, "f:podIPs": {".": {}, 'k:{"ip":"10.0.0.1"}': {".": {}, "f:ip": {}}}, "f:startTime": {}}}},
    ]  # fmt: skip
