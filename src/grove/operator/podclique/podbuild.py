"""The pods of a PodClique as they are sent to the API server. Pure.

What all pods of a reconcile have in common is worked out once, as a `Blueprint`; what is made of it leaves it as it is.
"""

from __future__ import annotations

from typing import Final

import msgspec

from grove.api import labels, names
from grove.api.fields import JSON
from grove.operator import owners
from grove.operator.backends.backend import Backend
from grove.operator.cliquesync import BOOKKEEPING
from grove.operator.podclique import waiter
from grove.operator.podclique.plan import NewPod
from grove.operator.podclique.replacement import REPLACEMENTS
from grove.operator.podclique.settings import PodSettings
from grove.operator.resources import POD_CLIQUES
from grove.operator.tree import CliquePlace, Tree, from_label, with_environment
from grove.operator.views import PodCliqueView

NOT_FOR_PODS: Final = BOOKKEEPING | {"kubectl.kubernetes.io/last-applied-configuration"}
"""Annotations of a PodClique that say nothing of its pods."""


class Blueprint(msgspec.Struct, frozen=True):
    """What the pods of a PodClique have in common."""

    clique: str
    gang: str
    metadata: JSON
    spec: JSON
    backend: Backend


def blueprint(
    tree: Tree, place: CliquePlace, clique: PodCliqueView, *, backend: Backend, settings: PodSettings
) -> Blueprint:
    """The pods of a PodClique that stands at this place, made from the template that the PodClique holds now."""
    metadata = clique.metadata
    gang = (metadata.labels or {})[labels.POD_GANG]
    return Blueprint(
        clique=metadata.name,
        gang=gang,
        metadata=_metadata(clique),
        spec=_spec(tree, place, clique, backend, settings),
        backend=backend,
    )


def pod(plan: Blueprint, new: NewPod) -> JSON:
    """One pod."""
    metadata = {
        **plan.metadata,
        "name": new.name,
        "labels": {**plan.metadata["labels"], labels.POD_CLIQUE_POD_INDEX: str(new.index)},
    }
    if new.replacements:
        metadata["annotations"] = {**plan.metadata.get("annotations", {}), REPLACEMENTS: str(new.replacements)}
    body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {**plan.spec, "hostname": names.hostname(plan.clique, new.index)},
    }
    return plan.backend.prepare(body, gang=plan.gang, clique=plan.clique)


def _metadata(clique: PodCliqueView) -> JSON:
    metadata = clique.metadata
    annotations = {key: text for key, text in (metadata.annotations or {}).items() if key not in NOT_FOR_PODS}
    found: JSON = {
        "namespace": metadata.namespace,
        "labels": {**(metadata.labels or {}), labels.POD_CLIQUE: metadata.name},
        "ownerReferences": [owners.reference(POD_CLIQUES, metadata)],
    }
    if prefix := names.pod_generate_name(metadata.name):
        found["generateName"] = prefix
    if annotations:
        found["annotations"] = annotations
    return found


def _spec(tree: Tree, place: CliquePlace, clique: PodCliqueView, backend: Backend, settings: PodSettings) -> JSON:
    spec: JSON = msgspec.json.decode(clique.spec.pod_spec, type=JSON)
    spec = with_environment(spec, _environment(tree, place, clique, settings))
    config = tree.template.headless_service_config
    if config is None or config.enabled is not False:
        spec["subdomain"] = names.headless_service(tree.name, place.replica)
    if backend.holds_pods:
        gates = [one for one in spec.get("schedulingGates") or () if one.get("name") != labels.SCHEDULING_GATE]
        spec["schedulingGates"] = [*gates, {"name": labels.SCHEDULING_GATE}]
    if arguments := waiter.arguments(tree, place):
        spec = waiter.added(spec, arguments, settings)
    return spec


def _environment(tree: Tree, place: CliquePlace, clique: PodCliqueView, settings: PodSettings) -> list[JSON]:
    address = names.service_address(tree.name, place.replica, tree.namespace, settings.cluster_domain)
    return [
        {"name": labels.ENV_SET_NAME, "value": tree.name},
        {"name": labels.ENV_SET_INDEX, "value": str(place.replica)},
        {"name": labels.ENV_CLIQUE_NAME, "value": clique.metadata.name},
        {"name": labels.ENV_HEADLESS_SERVICE, "value": address},
        from_label(labels.ENV_POD_INDEX, labels.POD_CLIQUE_POD_INDEX),
    ]
