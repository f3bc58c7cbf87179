"""The PodGangs and pods that manifests would become, made by the operator's own code. Pure.

As the operator and the API server would make them: with their defaults, names, labels, priority and requests. What they
add beyond that (service accounts, runtime overheads, limit ranges) is not known here.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from grove import __version__
from grove.api import admission, codec, labels, policy
from grove.api.conditions import timestamp
from grove.api.errors import FieldError
from grove.api.fields import JSON
from grove.api.kinds import catalog
from grove.api.kinds.operatorconfig import OperatorConfiguration
from grove.api.kinds.podcliqueset import PodCliqueSet
from grove.api.kinds.podgang import PodGang
from grove.api.kinds.queue import Queue
from grove.api.kinds.topology import ClusterTopologyBinding
from grove.kube.objects import PodView
from grove.operator.backends.registry import Backends
from grove.operator.podclique import naming, podbuild
from grove.operator.podclique import settings as pod_settings
from grove.operator.podclique.plan import NewPod
from grove.operator.podgang import plan as gang_plan
from grove.operator.podgang.members import Member
from grove.operator.topology import levels
from grove.operator.tree import CliquePlace, GangPlace, Tree, least
from grove.operator.views import PodCliqueView
from grove.scheduler.views import PriorityClassView


class Refused(Exception):
    """The API server or Grove's webhook would refuse an object."""

    def __init__(self, name: str, errors: Sequence[FieldError]) -> None:
        super().__init__(f"{name} would be refused: {errors[0]}")


class NoPriorityClass(Exception):
    """A pod names a PriorityClass that is not there: the API server refuses such pods."""


class Around(NamedTuple):
    """What the cluster has to do with what becomes of manifests."""

    operator: OperatorConfiguration
    topologies: Mapping[str, ClusterTopologyBinding]
    priorities: Mapping[str, PriorityClassView]
    namespace: str
    now: datetime.datetime
    schedulers: tuple[str, ...]
    """Names of the scheduler that decides."""


class Expanded(NamedTuple):
    """What is created, in the order in which a scheduler would hear of it."""

    topologies: list[ClusterTopologyBinding]
    priorities: list[PriorityClassView]
    queues: list[Queue]
    pods: list[PodView]
    gangs: list[PodGang]
    elsewhere: list[str]
    """Objects whose pods are left to other schedulers."""
    passed_over: int
    """Documents that create no pods."""


def expand(documents: Sequence[JSON], around: Around) -> Expanded:
    """Raises Refused and NoPriorityClass."""
    found = Expanded([], [], [], [], [], [], 0)
    passed_over = 0
    for document in documents:
        if admission.kind_of(document) is catalog.TOPOLOGY_BINDING:
            found.topologies.append(codec.decode(_admitted(document, around), ClusterTopologyBinding))
        elif (document.get("apiVersion"), document.get("kind")) == ("scheduling.k8s.io/v1", "PriorityClass"):
            found.priorities.append(msgspec.convert(document, PriorityClassView))
    around = around._replace(
        topologies={**around.topologies, **{one.metadata.name: one for one in found.topologies}},
        priorities={**around.priorities, **{one.metadata.name: one for one in found.priorities}},
    )
    for document in documents:
        kind = admission.kind_of(document)
        if kind is catalog.POD_CLIQUE_SET:
            _add_set(found, _admitted(_placed_in(document, around), around), around)
        elif kind is catalog.POD_GANG:
            tree = _admitted(_placed_in(document, around), around)
            found.gangs.append(codec.decode(_made(tree, around), PodGang))
        elif kind is catalog.QUEUE:
            found.queues.append(codec.decode(_admitted(document, around), Queue))
        elif (document.get("apiVersion"), document.get("kind")) == ("v1", "Pod"):
            found.pods.append(_stored(_placed_in(document, around), around))
        elif kind is not catalog.TOPOLOGY_BINDING:
            passed_over += 1
    return found._replace(passed_over=passed_over - len(found.priorities))


def _admitted(document: JSON, around: Around) -> JSON:
    """As Grove's webhook leaves it."""
    rules = policy.of_configuration(
        around.operator, {name: policy.domains_of(one) for name, one in around.topologies.items()}
    )
    verdict = admission.review(document, rules)
    if not verdict.allowed:
        metadata = document.get("metadata")
        name = metadata.get("name", "?") if isinstance(metadata, dict) else "?"
        raise Refused(f"{document.get('kind')} {name}", verdict.errors)
    return verdict.admitted


def _placed_in(tree: JSON, around: Around) -> JSON:
    metadata = tree.get("metadata") or {}
    return {**tree, "metadata": {**metadata, "namespace": metadata.get("namespace") or around.namespace}}


def _made(tree: JSON, around: Around) -> JSON:
    """As an API server stores it: with a uid and a time."""
    metadata = tree["metadata"]
    kind, name = str(tree.get("kind")).lower(), f"{metadata.get('namespace', '')}/{metadata['name']}"
    added = {"uid": f"planned:{kind}:{name}", "creationTimestamp": timestamp(around.now)}
    return {**tree, "metadata": {**metadata, **added}}


# PodCliqueSets


def _add_set(found: Expanded, admitted: JSON, around: Around) -> None:
    pcs = codec.decode(_made(admitted, around), PodCliqueSet)
    rules = policy.of_configuration(around.operator)
    backend = Backends(rules).of_template(pcs.spec.template)
    if backend.name not in around.schedulers:
        found.elsewhere.append(f"PodCliqueSet {pcs.metadata.name}: {backend.name}")
        return
    tree = Tree(pcs, {})
    keys = levels.keys(pcs.spec.template, around.topologies, rules.topology_enabled)
    for place in tree.gangs():
        members = [_member(tree, one, around) for one in tree.gang_cliques(place)]
        found.pods.extend(pod for member in members for pod in member.pods)
        found.gangs.append(_gang(tree, place, members, keys, backend.name, around))


def _gang(
    tree: Tree, place: GangPlace, members: Sequence[Member], keys: levels.Keys, scheduler: str, around: Around
) -> PodGang:
    wanted = gang_plan.wanted(tree, place, members, keys, scheduler)
    return codec.decode(_made(gang_plan.creation(tree, place, wanted), around), PodGang)


def _member(tree: Tree, place: CliquePlace, around: Around) -> Member:
    template = tree.cliques[place.clique].spec
    name = tree.clique_name(place)
    body = _made(
        {
            "kind": "PodClique",
            "metadata": {
                "name": name,
                "namespace": tree.namespace,
                "labels": tree.clique_labels(place),
                "annotations": tree.clique_annotations(place),
            },
            "spec": tree.clique_spec(place),
        },
        around,
    )
    clique = msgspec.json.decode(msgspec.json.encode(body), type=PodCliqueView)
    settings = pod_settings.of_configuration(around.operator, environment={}, version=__version__)
    backend = Backends(policy.of_configuration(around.operator)).of_template(tree.template)
    blueprint = podbuild.blueprint(tree, place, clique, backend=backend, settings=settings)
    template_hash = tree.template_hashes[place.clique]
    uid = clique.metadata.uid or ""
    new = [
        NewPod(name=naming.pod_name(name, uid, index, template_hash, ()), index=index)
        for index in range(clique.spec.replicas)
    ]
    pods = [_stored(podbuild.pod(blueprint, one), around) for one in new]
    return Member(place, name, least(template) if template.replicas else 0, clique, tuple(pods))


# Pods


def _stored(pod: JSON, around: Around) -> PodView:
    """The pod with what the API server adds: requests for limits, its priority. Its gates are taken off."""
    spec = dict(pod.get("spec") or {})
    for field in ("initContainers", "containers"):
        if spec.get(field):
            spec[field] = [_requesting(one) for one in spec[field]]
    if spec.get("resources"):
        spec = _requesting(spec)
    spec["schedulingGates"] = [
        one for one in spec.get("schedulingGates") or () if one.get("name") != labels.SCHEDULING_GATE
    ]
    spec |= _priority(spec, around)
    made = _made({**pod, "kind": "Pod"}, around)
    return msgspec.convert({**made, "spec": spec, "status": {"phase": "Pending"}}, PodView)


def _requesting(part: JSON) -> JSON:
    """What states a limit and no request asks for the limit."""
    resources = part.get("resources") or {}
    limits = resources.get("limits")
    if not limits:
        return part
    return {**part, "resources": {**resources, "requests": {**limits, **(resources.get("requests") or {})}}}


_SYSTEM: Final = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}


def _priority(spec: Mapping[str, Any], around: Around) -> JSON:
    name = spec.get("priorityClassName")
    if not name:
        default = next((one for one in around.priorities.values() if one.global_default), None)
        return {} if default is None else _of_class(default)
    known = around.priorities.get(name)
    if known is not None:
        return _of_class(known)
    if name in _SYSTEM:
        return {"priority": _SYSTEM[name]}
    raise NoPriorityClass(f"there is no PriorityClass {name}, so the API server would refuse the pods that name it")


def _of_class(found: PriorityClassView) -> JSON:
    policy_ = {"preemptionPolicy": found.preemption_policy} if found.preemption_policy else {}
    return {"priority": found.value, "priorityClassName": found.metadata.name, **policy_}


def keys(found: Expanded) -> Iterator[str]:
    """The gangs of it, in the words of the scheduler; pods without a PodGang are gangs of one."""
    named = {f"{one.metadata.namespace}/{one.metadata.name}" for one in found.gangs}
    yield from sorted(named, key=[f"{g.metadata.namespace}/{g.metadata.name}" for g in found.gangs].index)
    referred = {
        (reference.namespace, reference.name)
        for gang in found.gangs
        for group in gang.spec.podgroups
        for reference in group.pod_references
    }
    for pod in found.pods:
        meta = pod.metadata
        namespace, gang = meta.namespace or "", (meta.labels or {}).get(labels.POD_GANG)
        if gang and f"{namespace}/{gang}" not in named:
            named.add(f"{namespace}/{gang}")
            yield f"{namespace}/{gang}"
        elif not gang and (namespace, meta.name) not in referred:
            yield f"{namespace}/pod:{meta.name}"
