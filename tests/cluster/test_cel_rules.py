"""The rules that the API server itself holds objects to, with no webhook running: on create, on update, on scale."""

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest

from grove.api import crds, rules
from grove.api.errors import Path, Problems
from grove.api.fields import JSON
from grove.api.kinds import catalog
from grove.api.kinds.catalog import Kind
from grove.api.kinds.podcliqueset import PACK_DOMAIN_REFUSED
from grove.testing.controlplane import ControlPlane
from grove.testing.kubectl import Kubectl
from grove.testing.waiting import eventually
from tests.cluster.objects import APPLY, CRDS, MERGE, Objects, smallest

pytestmark = pytest.mark.usefixtures("grove_crds")

PACK_DOMAIN: JSON = {"packDomain": "rack"}
TEMPLATE, CLIQUE, GROUP = "the template", "a clique", "a scaling group"
PLACES = {
    TEMPLATE: "spec.template.topologyConstraint.packDomain",
    CLIQUE: "spec.template.cliques",
    GROUP: "spec.template.podCliqueScalingGroups",
}

each_place = pytest.mark.parametrize("place", PLACES)


def constrained(name: str, place: str, constraint: JSON) -> JSON:
    """A PodCliqueSet with a topology constraint at one of the three places that have one."""
    tree = smallest(catalog.POD_CLIQUE_SET, name)
    template = tree["spec"]["template"]
    template["podCliqueScalingGroups"] = [{"name": "group", "cliqueNames": ["worker"]}]
    at = {TEMPLATE: template, CLIQUE: template["cliques"][0], GROUP: template["podCliqueScalingGroups"][0]}[place]
    at["topologyConstraint"] = constraint
    return tree


def causes(answer: tuple[int, Any]) -> list[tuple[str, str, str]]:
    """Reason, field and message of each thing that the server refuses an object for."""
    code, body = answer
    assert code == 422, body
    found = [(one["reason"], one["field"], one["message"]) for one in body["details"]["causes"]]
    return [one for one in found if "some validation rules were not checked" not in one[2]]


def create(cluster: ControlPlane, objects: Objects, kind: Kind, tree: JSON) -> tuple[int, Any]:
    objects.clean_up(kind, tree["metadata"]["name"])
    return cluster.request("POST", objects.path(kind), tree)


# packDomain


@each_place
def test_a_new_workload_may_not_say_pack_domain(cluster: ControlPlane, objects: Objects, place: str) -> None:
    tree = constrained("new", place, PACK_DOMAIN)
    ((reason, field, message),) = causes(create(cluster, objects, catalog.POD_CLIQUE_SET, tree))
    assert (reason, field) == ("FieldValueForbidden", PLACES[place])
    assert message == f"Forbidden: {PACK_DOMAIN_REFUSED}"


@each_place
def test_kubectl_says_what_to_write_in_place_of_pack_domain(kubectl: Kubectl, place: str) -> None:
    tree = constrained("new", place, PACK_DOMAIN)
    refused = kubectl.run("create", "-f", "-", stdin=json.dumps(tree), check=False)
    assert refused.code == 1
    assert f"{PLACES[place]}: Forbidden: {PACK_DOMAIN_REFUSED}" in refused.stderr


@pytest.fixture(scope="module")
def upgraded() -> Iterator[ControlPlane]:
    """A cluster whose workloads with packDomain are older than the rule against it."""
    new = crds.crd(catalog.POD_CLIQUE_SET)
    old = copy.deepcopy(new)
    del old["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["x-kubernetes-validations"]
    with ControlPlane.start(controller_manager=False) as own:
        install(own, old)
        sets = Objects(own, "default").path(catalog.POD_CLIQUE_SET)
        eventually(lambda: own.request("GET", sets)[0], lambda status: status == 200, timeout=30.0)
        for place in PLACES:
            own.create(sets, constrained(name_for(place), place, PACK_DOMAIN))
        install(own, new)
        probe = constrained("probe", TEMPLATE, PACK_DOMAIN)
        eventually(
            lambda: own.request("POST", f"{sets}?dryRun=All", probe)[0],
            lambda status: status == 422,
            timeout=30.0,
            message="the new rules are not in force",
        )
        yield own


def name_for(place: str) -> str:
    return place.replace(" ", "-")


def install(cluster: ControlPlane, crd: JSON) -> None:
    path = f"{CRDS}/{crd['metadata']['name']}?fieldManager=grove-tests"
    status, answer = cluster.request("PATCH", path, crd, content_type=APPLY)
    assert status in (200, 201), answer


@each_place
def test_a_workload_that_has_pack_domain_can_still_be_updated(upgraded: ControlPlane, place: str) -> None:
    path = Objects(upgraded, "default").path(catalog.POD_CLIQUE_SET, name_for(place))
    code, updated = upgraded.request("PATCH", path, {"spec": {"replicas": 5}}, content_type=MERGE)
    assert code == 200, updated
    assert updated["spec"]["replicas"] == 5
    assert '"packDomain": "rack"' in json.dumps(updated["spec"])
    code, scaled = upgraded.request("PATCH", f"{path}/scale", {"spec": {"replicas": 6}}, content_type=MERGE)
    assert (code, scaled["spec"]["replicas"]) == (200, 6)
    code, written = upgraded.request("PATCH", f"{path}/status", {"status": {"replicas": 6}}, content_type=MERGE)
    assert (code, written["status"]["replicas"]) == (200, 6)


def test_a_workload_may_take_up_pack_domain_later_as_upstream_has_it(cluster: ControlPlane, objects: Objects) -> None:
    """The rule looks at creation only; what an update may change of a constraint is the webhook's to say."""
    create(cluster, objects, catalog.POD_CLIQUE_SET, constrained("set", TEMPLATE, {"pack": {"preferred": "rack"}}))
    change = {"spec": {"template": {"topologyConstraint": PACK_DOMAIN}}}
    code, updated = objects.patch(catalog.POD_CLIQUE_SET, "set", change)
    assert code == 200, updated


# Topology constraints


@each_place
@pytest.mark.parametrize(
    ("constraint", "reason", "field", "message"),
    [
        (
            {"topologyName": "gpus"},
            "FieldValueRequired",
            "",
            "Required value: topologyConstraint must specify pack or deprecated packDomain",
        ),
        (
            {"pack": {"required": "rack"}, "packDomain": "rack"},
            "FieldValueInvalid",
            ".pack.required",
            "must not set both pack.required and deprecated packDomain",
        ),
        (
            {"pack": {}},
            "FieldValueRequired",
            "",
            "Required value: pack must specify at least one of required or preferred",
        ),
    ],
    ids=("nothing to pack", "two ways to say it", "an empty pack"),
)
def test_a_topology_constraint_says_how_to_pack_and_says_it_once(
    cluster: ControlPlane, objects: Objects, place: str, constraint: JSON, reason: str, field: str, message: str
) -> None:
    here = {
        TEMPLATE: "spec.template.topologyConstraint",
        CLIQUE: "spec.template.cliques[0].topologyConstraint",
        GROUP: "spec.template.podCliqueScalingGroups[0].topologyConstraint",
    }[place]
    tree = constrained("new", place, constraint)
    refused = causes(create(cluster, objects, catalog.POD_CLIQUE_SET, tree))
    mine = [one for one in refused if PACK_DOMAIN_REFUSED not in one[2]]
    assert [(one[0], one[1]) for one in mine] == [(reason, f"{here}{field}")]
    assert mine[0][2].endswith(message)

    objects.create(catalog.POD_CLIQUE_SET, constrained("old", place, {"pack": {"preferred": "rack"}}))
    stored = objects.get(catalog.POD_CLIQUE_SET, "old")
    stored["spec"] = tree["spec"]
    changed = cluster.request("PUT", objects.path(catalog.POD_CLIQUE_SET, "old"), stored)
    assert [(one[0], one[1]) for one in causes(changed)] == [(reason, f"{here}{field}")]


@each_place
@pytest.mark.parametrize("pack", [{"required": "rack"}, {"preferred": "host"}, {"required": "zone", "preferred": "x"}])
def test_a_topology_constraint_may_require_prefer_or_both(objects: Objects, place: str, pack: JSON) -> None:
    stored = objects.create(catalog.POD_CLIQUE_SET, constrained("set", place, {"pack": pack}))
    template = stored["spec"]["template"]
    holders = (template, template["cliques"][0], template["podCliqueScalingGroups"][0])
    assert [one["topologyConstraint"] for one in holders if "topologyConstraint" in one] == [{"pack": pack}]


# The scale guard

SCALED = [(catalog.POD_CLIQUE, "pclq"), (catalog.SCALING_GROUP, "pcsg")]
GUARD = "replicas must be 0 or at least minAvailable"

each_guarded = pytest.mark.parametrize(("kind", "word"), SCALED, ids=[word for _, word in SCALED])


@each_guarded
def test_replicas_below_the_minimum_are_refused_on_create(
    cluster: ControlPlane, objects: Objects, kind: Kind, word: str
) -> None:
    tree = smallest(kind, "small")
    tree["spec"]["replicas"] = tree["spec"]["minAvailable"] - 1
    ((reason, field, message),) = causes(create(cluster, objects, kind, tree))
    assert (reason, field) == ("FieldValueInvalid", "spec.replicas")
    assert message.endswith(GUARD)


@each_guarded
@pytest.mark.parametrize("subresource", ["", "scale"], ids=("object", "scale"))
def test_replicas_go_to_zero_and_to_the_minimum_but_not_between(
    objects: Objects, kind: Kind, word: str, subresource: str
) -> None:
    least = objects.create(kind, "one")["spec"]["minAvailable"]
    for replicas in (least, least + 7, 0, least):
        code, answer = objects.patch(kind, "one", {"spec": {"replicas": replicas}}, subresource)
        assert code == 200, answer
        assert objects.get(kind, "one")["spec"]["replicas"] == replicas
    ((reason, field, message),) = causes(objects.patch(kind, "one", {"spec": {"replicas": least - 1}}, subresource))
    assert (reason, field) == ("FieldValueInvalid", "spec.replicas")
    assert message.endswith(GUARD)
    assert objects.get(kind, "one")["spec"]["replicas"] == least


@each_guarded
def test_kubectl_scale_is_told_why_it_may_not(kubectl: Kubectl, objects: Objects, kind: Kind, word: str) -> None:
    objects.create(kind, "one")
    refused = kubectl.run("scale", word, "one", "--replicas=1", check=False)
    assert refused.code == 1
    assert f'The {kind.name} "one" is invalid: spec.replicas: Invalid value: {GUARD}' in refused.stderr
    kubectl.run("scale", word, "one", "--replicas=0")
    assert objects.get(kind, "one")["spec"]["replicas"] == 0


def test_a_scaling_group_that_says_nothing_has_a_minimum_of_one(objects: Objects) -> None:
    tree = smallest(catalog.SCALING_GROUP, "group")
    tree["spec"] = {"cliqueNames": ["worker"]}
    assert objects.create(catalog.SCALING_GROUP, tree)["spec"] == {
        "cliqueNames": ["worker"],
        "replicas": 1,
        "minAvailable": 1,
    }


def test_a_pod_clique_without_a_minimum_may_have_any_number(objects: Objects) -> None:
    tree = smallest(catalog.POD_CLIQUE, "one")
    del tree["spec"]["minAvailable"]
    objects.create(catalog.POD_CLIQUE, tree)
    for replicas in (0, 1, 9):
        code, answer = objects.patch(catalog.POD_CLIQUE, "one", {"spec": {"replicas": replicas}}, "scale")
        assert code == 200, answer


# Queues


def test_a_queue_is_not_its_own_parent(cluster: ControlPlane, objects: Objects, namespace: str) -> None:
    loop = smallest(catalog.QUEUE, namespace) | {"spec": {"parent": namespace}}
    expected = ("FieldValueInvalid", "spec.parent")
    ((reason, field, message),) = causes(create(cluster, objects, catalog.QUEUE, loop))
    assert (reason, field) == expected
    assert message.endswith("a queue cannot be its own parent")

    objects.create(catalog.QUEUE, namespace)
    assert objects.patch(catalog.QUEUE, namespace, {"spec": {"parent": "another"}})[0] == 200
    ((reason, field, message),) = causes(objects.patch(catalog.QUEUE, namespace, {"spec": {"parent": namespace}}))
    assert (reason, field) == expected


# The same rules in Python, for `grove validate` and the webhooks


def below_minimum(kind: Kind) -> JSON:
    tree = smallest(kind, "small")
    tree["spec"]["replicas"] = tree["spec"]["minAvailable"] - 1
    return tree


REFUSED: dict[str, tuple[Kind, JSON]] = {
    **{
        f"{name} at {place}": (catalog.POD_CLIQUE_SET, constrained("new", place, constraint))
        for place in PLACES
        for name, constraint in {
            "packDomain": PACK_DOMAIN,
            "nothing": {},
            "both": {"pack": {"required": "rack"}, **PACK_DOMAIN},
            "empty pack": {"pack": {}},
            "empty pack and packDomain": {"pack": {}, **PACK_DOMAIN},
        }.items()
    },
    **{f"a small {word}": (kind, below_minimum(kind)) for kind, word in SCALED},
    "a loop of queues": (catalog.QUEUE, smallest(catalog.QUEUE, "loop") | {"spec": {"parent": "loop"}}),
}


@pytest.mark.parametrize("case", REFUSED)
def test_the_server_refuses_for_the_same_reasons_as_we_do_offline(
    cluster: ControlPlane, objects: Objects, case: str
) -> None:
    kind, tree = REFUSED[case]
    problems = Problems()
    rules.check(tree, kind.struct, Path(), problems)
    ours = sorted((error.reason.value, str(error.path), error.detail) for error in problems.errors)
    theirs = sorted(causes(create(cluster, objects, kind, tree)))
    assert [(reason, field) for reason, field, _ in theirs] == [(reason, field) for reason, field, _ in ours]
    assert all(message.endswith(detail) for (*_, message), (*_, detail) in zip(theirs, ours, strict=True))
