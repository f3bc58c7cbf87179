"""The init container that lets a pod's containers start when its parents are ready, and the volumes it reads. Pure.

It asks the API server as its own pod, with a token that lives for about an hour and is only its own: no other container
mounts it. It runs under the restricted pod security standard, whatever user the pod's other containers need.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from grove.api import labels
from grove.api.fields import JSON
from grove.operator.podclique.settings import PodSettings
from grove.operator.tree import CliquePlace, Tree, least

NAME: Final = "grove-initc"
TOKEN_VOLUME: Final = "grove-initc-token"
TOKEN_PATH: Final = "/var/run/secrets/kubernetes.io/serviceaccount"
POD_INFO_VOLUME: Final = "pod-info-vol"
POD_INFO_PATH: Final = "/var/grove/pod-info"
ROOT_CERTIFICATES: Final = "kube-root-ca.crt"
"""The ConfigMap that Kubernetes puts into every namespace."""
USER: Final = 65532
"""Nobody in particular: stated because pods that run as root would otherwise make the waiter do so too."""


def arguments(tree: Tree, place: CliquePlace) -> list[str]:
    """Whom the pods of a clique wait for, and for how many pods of each; nothing if they wait for nobody."""
    found = []
    for parent in tree.parents(place):
        count = least(tree.cliques[parent.clique].spec)
        if count > 0:
            found.append(f"--podcliques={tree.clique_name(parent)}:{count}")
    return found


def added(pod_spec: JSON, arguments: Sequence[str], settings: PodSettings) -> JSON:
    """The pod spec with a waiter."""
    own = list(pod_spec.get("initContainers") or ())
    waiter = container(arguments, settings)
    return {
        **pod_spec,
        "initContainers": [waiter, *own] if settings.waiter_position == "first" else [*own, waiter],
        "volumes": [*(pod_spec.get("volumes") or ()), *volumes(settings)],
    }


def container(arguments: Sequence[str], settings: PodSettings) -> JSON:
    return {
        "name": NAME,
        "image": settings.waiter_image,
        "imagePullPolicy": settings.waiter_pull_policy,
        "args": list(arguments),
        "resources": settings.waiter_resources,
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
            "runAsNonRoot": True,
            "runAsUser": USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "volumeMounts": [
            {"name": TOKEN_VOLUME, "mountPath": TOKEN_PATH, "readOnly": True},
            {"name": POD_INFO_VOLUME, "mountPath": POD_INFO_PATH, "readOnly": True},
        ],
    }


def volumes(settings: PodSettings) -> list[JSON]:
    namespace = {"path": "namespace", "fieldRef": {"fieldPath": "metadata.namespace"}}
    gang = {"path": "podgangname", "fieldRef": {"fieldPath": f"metadata.labels['{labels.POD_GANG}']"}}
    sources = [
        {"serviceAccountToken": {"path": "token", "expirationSeconds": settings.token_seconds}},
        {"configMap": {"name": ROOT_CERTIFICATES, "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [namespace]}},
    ]
    return [
        {"name": TOKEN_VOLUME, "projected": {"sources": sources}},
        {"name": POD_INFO_VOLUME, "downwardAPI": {"items": [namespace, gang]}},
    ]
