"""Grove through kubectl: columns, documentation, scaling, waiting, and manifests that several people apply."""

import json
import re

import pytest

from grove.api.fields import JSON
from grove.api.kinds import catalog
from grove.api.kinds.catalog import Kind
from grove.testing.kubectl import Kubectl
from tests.cluster.objects import POD_SPEC, Objects, smallest

pytestmark = pytest.mark.usefixtures("grove_crds")

BREACHED: JSON = {
    "type": "MinAvailableBreached",
    "status": "False",
    "reason": "Enough",
    "message": "enough pods are ready",
    "lastTransitionTime": "2026-01-02T03:04:05Z",
}
CLIQUES_UPDATED: JSON = {"updatedPodCliquesCount": 31, "totalPodCliquesCount": 32}


def row(kubectl: Kubectl, *arguments: str) -> dict[str, str]:
    """The one line that `kubectl get` prints, by column."""
    header, line = kubectl.run("get", *arguments).stdout.splitlines()
    starts = [match.start() for match in re.finditer(r"\S+(?: \S+)*", header)]
    ends = [*starts[1:], None]
    return {header[start:end].strip(): line[start:end].strip() for start, end in zip(starts, ends, strict=True)}


# Columns: chapter 1 of the specification, word for word

COLUMNS = [
    (
        catalog.POD_CLIQUE_SET,
        "pcs",
        {
            "availableReplicas": 11,
            "updatedReplicas": 12,
            "updateProgress": {
                **CLIQUES_UPDATED,
                "updatedPodCliqueScalingGroupsCount": 33,
                "totalPodCliqueScalingGroupsCount": 34,
            },
        },
        {
            "REPLICAS": "1",
            "AVAILABLE": "11",
            "UPDATED": "12",
            "PCLQS-UPDATED": "31",
            "PCLQS-TOTAL": "32",
            "PCSGS-UPDATED": "33",
            "PCSGS-TOTAL": "34",
        },
        {},
    ),
    (
        catalog.POD_CLIQUE,
        "pclq",
        {
            "readyReplicas": 11,
            "scheduledReplicas": 12,
            "updatedReplicas": 13,
            "scheduleGatedReplicas": 14,
            "conditions": [BREACHED | {"type": "PodCliqueScheduled", "status": "True"}, BREACHED],
        },
        {"MINAVAIL": "2", "REPLICAS": "4", "READY": "11", "SCHEDULED": "12", "UPDATED": "13"},
        {"GATED": "14", "MINBREACHED": "False"},
    ),
    (
        catalog.SCALING_GROUP,
        "pcsg",
        {
            "availableReplicas": 11,
            "scheduledReplicas": 12,
            "updatedReplicas": 13,
            "conditions": [BREACHED],
            "updateProgress": {
                **CLIQUES_UPDATED,
                "updateStartedAt": "2026-01-02T03:04:05Z",
                "podCliqueSetGenerationHash": "abc",
            },
        },
        {
            "MINAVAIL": "2",
            "REPLICAS": "3",
            "AVAILABLE": "11",
            "SCHEDULED": "12",
            "UPDATED": "13",
            "PCLQS-UPDATED": "31",
            "PCLQS-TOTAL": "32",
        },
        {"MINBREACHED": "False"},
    ),
    (catalog.TOPOLOGY_BINDING, "ct", {}, {"DOMAINS": "zone"}, {}),
    (catalog.POD_GANG, "pg", {"phase": "Starting"}, {"PHASE": "Starting"}, {}),
]


@pytest.mark.parametrize(("kind", "word", "status", "columns", "wide"), COLUMNS, ids=[word for _, word, *_ in COLUMNS])
def test_kubectl_get_has_the_columns_of_the_specification(
    kubectl: Kubectl,
    objects: Objects,
    namespace: str,
    kind: Kind,
    word: str,
    status: JSON,
    columns: dict[str, str],
    wide: dict[str, str],
) -> None:
    objects.create(kind, namespace)
    objects.set_status(kind, namespace, status)
    for arguments, expected in ((), columns), (("-o", "wide"), columns | wide):
        printed = row(kubectl, word, namespace, *arguments)
        assert re.fullmatch(r"\d+s", printed.pop("AGE"))
        assert list(printed.items()) == [("NAME", namespace), *expected.items()]


def test_kubectl_get_of_a_new_workload_shows_what_is_not_known_yet_as_nothing(
    kubectl: Kubectl, objects: Objects
) -> None:
    objects.create(catalog.POD_CLIQUE_SET, "new")
    assert {key: value for key, value in row(kubectl, "pcs").items() if value and key != "AGE"} == {
        "NAME": "new",
        "REPLICAS": "1",
    }


def test_several_kinds_are_listed_at_once(kubectl: Kubectl, objects: Objects, namespace: str) -> None:
    for kind, *_ in COLUMNS:
        objects.create(kind, namespace)
    printed = kubectl.run("get", "pcs,pclq,pcsg,pg,ct").stdout
    for kind, *_ in COLUMNS:
        assert re.search(rf"^{kind.singular}\.{re.escape(kind.group)}/{namespace} ", printed, re.MULTILINE)


# Documentation


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("pcs", "A whole inference or training system: its roles, how they are placed,"),
        ("pcs.spec.template.cliques", "The roles of the system. The set of names is fixed."),
        ("pcs.spec.template.cliques", "Labels for the PodClique and its pods."),
        ("pcs.spec.template.cliqueStartupType", "Explicit: as startsAfter says."),
        ("pcs.spec.template.cliques.spec.podSpec", "Spec of the pods."),
        ("pcs.spec.template.cliques.spec.podSpec.containers.image", "Container image name"),
        ("pclq.spec.minAvailable", "How many pods must be placed together for the gang to start"),
        ("pcsg.status.conditions.status", "Whether it holds."),
        ("pg.spec.podgroups", "The groups of pods; of each, its minimum is placed or nothing is."),
        ("ct.spec.levels", "Topology levels, broadest first"),
        ("queue.spec.limit", "what the queue may use at most"),
        ("podgangset.spec.scheduling", "Where the pods may run."),
    ],
)
def test_kubectl_explain_prints_our_documentation(kubectl: Kubectl, path: str, expected: str) -> None:
    assert expected in " ".join(kubectl.run("explain", path).stdout.split())


def test_kubectl_explain_names_enums_and_what_is_required(kubectl: Kubectl) -> None:
    printed = kubectl.run("explain", "pcs.spec.updateStrategy").stdout
    assert re.search(r"enum: RollingRecreate, OnDelete, Coherent", printed)
    printed = kubectl.run("explain", "pcs.spec.template.cliques.spec").stdout
    assert re.search(r"^  podSpec\t<Object> -required-$", printed, re.MULTILINE)


# Scaling

SCALABLE = [
    (catalog.POD_CLIQUE_SET, "pcs", "hpaPodSelector"),
    (catalog.POD_CLIQUE, "pclq", "hpaPodSelector"),
    (catalog.SCALING_GROUP, "pcsg", "selector"),
    (catalog.POD_GANG_SET, "podgangset", "selector"),
]


@pytest.mark.parametrize(("kind", "word", "selector"), SCALABLE, ids=[word for _, word, _ in SCALABLE])
def test_kubectl_scale_sets_the_replicas_and_the_scale_shows_how_many_there_are_and_which(
    kubectl: Kubectl, objects: Objects, kind: Kind, word: str, selector: str
) -> None:
    before = objects.create(kind, "one")
    assert kubectl.run("scale", word, "one", "--replicas=6").stdout.endswith("/one scaled\n")
    after = objects.get(kind, "one")
    assert after["spec"] == before["spec"] | {"replicas": 6}
    assert after["metadata"]["generation"] == 2

    status = {"replicas": 5, selector: "app.kubernetes.io/part-of=one,grove.io/role in (a,b)"}
    objects.set_status(kind, "one", status)
    scale = objects.get(kind, "one", "scale")
    assert (scale["apiVersion"], scale["kind"]) == ("autoscaling/v1", "Scale")
    assert scale["spec"] == {"replicas": 6}
    assert scale["status"] == {"replicas": 5, "selector": status[selector]}


@pytest.mark.parametrize(("kind", "word", "selector"), SCALABLE, ids=[word for _, word, _ in SCALABLE])
def test_kubectl_scale_goes_down_to_zero_and_not_below(
    kubectl: Kubectl, objects: Objects, kind: Kind, word: str, selector: str
) -> None:
    objects.create(kind, "one")
    kubectl.run("scale", word, "one", "--replicas=0")
    assert objects.get(kind, "one", "scale")["spec"] == {}  # zero is left out
    code, refused = objects.patch(kind, "one", {"spec": {"replicas": -1}}, "scale")
    assert code == 422
    assert "spec.replicas" in refused["message"]


def test_kubectl_scale_with_a_precondition_loses_against_someone_else(kubectl: Kubectl, objects: Objects) -> None:
    objects.create(catalog.POD_CLIQUE, "one")
    refused = kubectl.run("scale", "pclq", "one", "--current-replicas=9", "--replicas=6", check=False)
    assert refused.code == 1
    assert "Expected replicas to be 9, was 4" in refused.stderr


@pytest.mark.parametrize(
    "kind", [catalog.TOPOLOGY_BINDING, catalog.POD_GANG, catalog.QUEUE], ids=lambda kind: kind.name
)
def test_what_has_no_replicas_has_no_scale(objects: Objects, namespace: str, kind: Kind) -> None:
    objects.create(kind, namespace)
    assert objects.patch(kind, namespace, {"spec": {"replicas": 1}}, "scale")[0] == 404


# Waiting


def test_kubectl_wait_sees_a_status_field_and_a_condition(kubectl: Kubectl, objects: Objects) -> None:
    objects.create(catalog.POD_CLIQUE_SET, "set")
    for too_early in ("jsonpath={.status.availableReplicas}=2", "condition=Available"):
        waited = kubectl.run("wait", "pcs/set", f"--for={too_early}", "--timeout=0s", check=False)
        assert waited.code == 1
    conditions = [BREACHED | {"type": "Available", "status": "True"}]
    objects.set_status(catalog.POD_CLIQUE_SET, "set", {"availableReplicas": 2, "conditions": conditions})
    for wanted in ("jsonpath={.status.availableReplicas}=2", "condition=Available"):
        waited = kubectl.run("wait", "pcs/set", f"--for={wanted}", "--timeout=10s")
        assert waited.stdout == "podcliqueset.grove.io/set condition met\n"


# Manifests of several people


def clique(name: str, **spec: object) -> JSON:
    return {"name": name, "spec": {"replicas": 1, "podSpec": POD_SPEC, **spec}}


def part(*cliques: JSON, **template: object) -> str:
    """What one person says of the workload that several people describe."""
    body = {"apiVersion": "grove.io/v1alpha1", "kind": "PodCliqueSet", "metadata": {"name": "shared"}}
    return json.dumps({**body, "spec": {"template": {"cliques": cliques, **template}}})


def apply_as(kubectl: Kubectl, manager: str, text: str, *more: str) -> None:
    kubectl.run("apply", "--server-side", f"--field-manager={manager}", *more, "-f", "-", stdin=text)


def cliques_of(objects: Objects) -> dict[str, JSON]:
    cliques = objects.get(catalog.POD_CLIQUE_SET, "shared")["spec"]["template"]["cliques"]
    return {one["name"]: one["spec"] for one in cliques}


def test_two_people_own_different_cliques_of_a_workload(kubectl: Kubectl, objects: Objects) -> None:
    apply_as(kubectl, "serving", part(clique("decode")))
    apply_as(kubectl, "routing", part(clique("router", minAvailable=1)))
    apply_as(kubectl, "serving", part(clique("decode", replicas=3)))
    both = cliques_of(objects)
    assert list(both) == ["decode", "router"]
    assert both["decode"]["replicas"] == 3
    assert both["router"]["minAvailable"] == 1
    apply_as(kubectl, "routing", part())
    assert list(cliques_of(objects)) == ["decode"]


def test_two_people_do_not_overwrite_each_other_unasked(kubectl: Kubectl, objects: Objects) -> None:
    apply_as(kubectl, "serving", part(clique("decode")))
    text = part(clique("decode", replicas=2))
    command = ("apply", "--server-side", "--field-manager=other", "-f", "-")
    refused = kubectl.run(*command, stdin=text, check=False)
    assert refused.code == 1
    assert '.spec.template.cliques[name="decode"].spec.replicas' in refused.stderr
    apply_as(kubectl, "other", text, "--force-conflicts")
    assert cliques_of(objects)["decode"]["replicas"] == 2


def test_containers_and_their_lists_merge_by_name_too(kubectl: Kubectl, objects: Objects) -> None:
    def with_container(**container: object) -> str:
        return part(clique("decode", podSpec={"containers": [container]}))

    apply_as(kubectl, "serving", with_container(name="main", image="main:v1", env=[{"name": "A", "value": "1"}]))
    apply_as(kubectl, "mesh", with_container(name="proxy", image="proxy:v1"))
    apply_as(kubectl, "tuning", with_container(name="main", env=[{"name": "B", "value": "2"}]))
    containers = cliques_of(objects)["decode"]["podSpec"]["containers"]
    assert containers == [
        {
            "name": "main",
            "image": "main:v1",
            "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
        },
        {"name": "proxy", "image": "proxy:v1"},
    ]


def test_two_cliques_of_one_name_are_refused(kubectl: Kubectl) -> None:
    refused = kubectl.run("create", "-f", "-", stdin=part(clique("decode"), clique("decode")), check=False)
    assert refused.code == 1
    assert 'spec.template.cliques[1]: Duplicate value: {"name":"decode"}' in refused.stderr


def test_conditions_of_two_controllers_stand_side_by_side(kubectl: Kubectl, objects: Objects) -> None:
    objects.create(catalog.POD_GANG, "gang")
    body = {"apiVersion": "scheduler.grove.io/v1alpha1", "kind": "PodGang", "metadata": {"name": "gang"}}
    for manager, kind in (("operator", "Initialized"), ("scheduler", "Scheduled")):
        status = {"phase": "Pending", "conditions": [BREACHED | {"type": kind}]}
        apply_as(kubectl, manager, json.dumps(body | {"status": status}), "--subresource=status")
    conditions = objects.get(catalog.POD_GANG, "gang")["status"]["conditions"]
    assert [one["type"] for one in conditions] == ["Initialized", "Scheduled"]


# Unknown fields


@pytest.fixture
def unknown() -> str:
    """A workload with fields that nobody knows, inside and outside of what is embedded from Kubernetes."""
    tree = smallest(catalog.POD_CLIQUE_SET, "strange")
    tree["spec"]["colour"] = "green"
    tree["spec"]["template"]["cliques"][0]["spec"]["podSpec"] = POD_SPEC | {"flavour": "sweet"}
    return json.dumps(tree)


FIELDS = ("spec.colour", "spec.template.cliques[0].spec.podSpec.flavour")


def test_unknown_fields_are_refused_by_default_and_when_asked_for(kubectl: Kubectl, unknown: str) -> None:
    for arguments in ((), ("--validate=strict",), ("--validate=true",)):
        refused = kubectl.run("apply", *arguments, "-f", "-", stdin=unknown, check=False)
        assert refused.code == 1
        assert "strict decoding error" in refused.stderr
        assert all(f'unknown field "{field}"' in refused.stderr for field in FIELDS)


@pytest.mark.parametrize(("mode", "is_warned"), [("warn", True), ("ignore", False)])
def test_unknown_fields_are_pruned_with_a_warning_where_that_is_asked_for(
    kubectl: Kubectl, objects: Objects, unknown: str, mode: str, is_warned: bool
) -> None:
    applied = kubectl.run("apply", f"--validate={mode}", "-f", "-", stdin=unknown)
    assert all((f'Warning: unknown field "{field}"' in applied.stderr) is is_warned for field in FIELDS)
    spec = objects.get(catalog.POD_CLIQUE_SET, "strange")["spec"]
    assert "colour" not in spec
    assert spec["template"]["cliques"][0]["spec"]["podSpec"] == POD_SPEC
