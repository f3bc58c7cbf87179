"""What is written so that claims get their volumes: the node for which one is made, or the claim that one is for. Pure.

The controllers of Kubernetes and the provisioner of the storage class do the rest.
"""

from __future__ import annotations

from collections.abc import Iterable

from grove.kube.objects import NodeView, PodView
from grove.kube.resources import PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES
from grove.scheduler.promises import VolumePromise
from grove.scheduler.reach import reaches
from grove.scheduler.step import JSON, Progress, Refused, Step, User, Write, has_seen
from grove.scheduler.storage import BOUND_BY_CONTROLLER, SELECTED_NODE, PersistentVolumeClaim
from grove.scheduler.surroundings import Surroundings
from grove.scheduler.volumeneeds import volume_needs


def volume_steps(pod: PodView, node: NodeView, surroundings: Surroundings) -> Iterable[Step]:
    """For the claims of a pod that wait for its node."""
    if not pod.spec.volumes:
        return
    needs = volume_needs(pod, surroundings, {})
    if needs.refusal:
        raise Refused(needs.refusal)
    for wanted in needs.wanted:
        key = wanted.key(pod.metadata.namespace or "", pod.metadata.name)
        promise = surroundings.promises.claims.get(key)
        if promise is None:
            raise Refused(f"claim {key} was promised no volume: the pod must be put on its node first")
        claim = _claim(key, surroundings)
        if claim is None:
            raise Refused(f"claim {key} is gone")
        yield _volume_step(claim, promise, (pod, node), surroundings)


def _volume_step(claim: PersistentVolumeClaim, promise: VolumePromise, user: User, surroundings: Surroundings) -> Step:
    meta = claim.metadata
    if not promise.volume:
        selected = (meta.annotations or {}).get(SELECTED_NODE)
        change = Write({"metadata": {"annotations": {SELECTED_NODE: promise.node}}})
        return Step(
            kind="make a volume",
            resource=PERSISTENT_VOLUME_CLAIMS,
            namespace=meta.namespace or "",
            name=meta.name,
            uid=meta.uid or "",
            resource_version=meta.resource_version or "",
            writes=() if selected == promise.node else (change,),
            claim=claim.key,
            users=(user,),
        )
    volume = surroundings.persistent_volumes.get(promise.volume)
    if volume is None:
        raise Refused(f"persistentvolume {promise.volume} is gone")
    ref: JSON = {
        "apiVersion": PERSISTENT_VOLUME_CLAIMS.api_version,
        "kind": PERSISTENT_VOLUME_CLAIMS.kind,
        "namespace": meta.namespace,
        "name": meta.name,
        "uid": meta.uid,
        "resourceVersion": meta.resource_version,
    }
    is_named = volume.is_for(meta.namespace or "", meta.name, meta.uid or "")
    marks = {} if is_named else {"metadata": {"annotations": {BOUND_BY_CONTROLLER: "yes"}}}
    is_written = is_named and volume.spec.claim_ref is not None and volume.spec.claim_ref.uid == meta.uid
    return Step(
        kind="give a volume",
        resource=PERSISTENT_VOLUMES,
        namespace="",
        name=promise.volume,
        uid=volume.metadata.uid or "",
        resource_version=volume.metadata.resource_version or "",
        writes=() if is_written else (Write({**marks, "spec": {"claimRef": ref}}),),
        claim=claim.key,
        users=(user,),
    )


def _claim(key: str, surroundings: Surroundings) -> PersistentVolumeClaim | None:
    namespace, _, name = key.partition("/")
    return surroundings.persistent_volume_claims.get(name, namespace)


def volume_progress(step: Step, surroundings: Surroundings, written: str) -> Progress | str:
    """See `prebind.progress`."""
    claim = _claim(step.claim, surroundings)
    if claim is None or claim.metadata.deletion_timestamp:
        return f"claim {step.claim} is gone"
    if claim.status.phase == "Lost":
        return f"claim {step.claim} has lost its volume"
    if claim.is_bound:
        volume = surroundings.persistent_volumes.get(claim.spec.volume_name)
        if volume is None:
            return "waiting"
        strangers = [node.metadata.name for _, node in step.users if not reaches(volume.reach, node)]
        return f"the volume of claim {step.claim} cannot be used on node {strangers[0]}" if strangers else "done"
    if step.kind == "make a volume":
        selected = (claim.metadata.annotations or {}).get(SELECTED_NODE)
        if not selected and has_seen(claim.metadata.resource_version, written):
            return f"no volume could be made for claim {step.claim}: its provisioner gave the node up"
        return "waiting"
    volume = surroundings.persistent_volumes.get(step.name)
    if volume is None:
        return f"persistentvolume {step.name} is gone"
    meta = claim.metadata
    if not volume.is_for(meta.namespace or "", meta.name, meta.uid or "") and has_seen(
        volume.metadata.resource_version, written
    ):
        return f"persistentvolume {step.name} was given to another claim"
    return "waiting"


def undo_volume(step: Step, surroundings: Surroundings) -> Step | None:
    """See `prebind.undo`."""
    claim = _claim(step.claim, surroundings)
    if claim is not None and claim.spec.volume_name:
        return None  # it has its volume, and keeps it
    if step.kind == "make a volume":
        if claim is None or not (claim.metadata.annotations or {}).get(SELECTED_NODE):
            return None
        write = Write({"metadata": {"annotations": {SELECTED_NODE: None}}})
        # Whatever else has changed: a claim that has its volume by now does not need the mark.
        return step._replace(resource_version="", writes=(write,))
    volume = surroundings.persistent_volumes.get(step.name)
    if volume is None or volume.metadata.uid != step.uid or volume.spec.claim_ref is None:
        return None
    if BOUND_BY_CONTROLLER not in (volume.metadata.annotations or {}):
        return None  # its owner promised it to the claim
    if f"{volume.spec.claim_ref.namespace}/{volume.spec.claim_ref.name}" != step.claim:
        return None
    write = Write({"metadata": {"annotations": {BOUND_BY_CONTROLLER: None}}, "spec": {"claimRef": None}})
    return step._replace(resource_version=volume.metadata.resource_version or "", writes=(write,))
