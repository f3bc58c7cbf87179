"""The manifests of examples/ on a real API server: taken whole by kubectl, and a typo in one is refused."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from grove.api import admission, schema, structural
from grove.api.fields import JSON
from grove.api.kinds import catalog
from grove.api.kinds.catalog import Kind
from grove.api.policy import Policy
from grove.cli import documents
from grove.testing.kubectl import Kubectl
from tests.cluster.objects import Objects

pytestmark = pytest.mark.usefixtures("grove_crds")

EXAMPLES = Path(__file__).parents[2] / "examples"
FILES = {
    str(path.relative_to(EXAMPLES)): path
    for path in sorted(EXAMPLES.rglob("*.yaml"))
    if path.parent.name != "configuration"  # read by the programs, not served
}

CLIENT_SIDE = ("apply", "--validate=strict", "-f", "-")
SERVER_SIDE = ("apply", "--server-side", "--validate=strict", "-f", "-")

each_way = pytest.mark.parametrize("apply", [CLIENT_SIDE, SERVER_SIDE], ids=("client-side", "server-side"))


def text_for(path: Path, namespace: str) -> str:
    """The manifest as it stands there, but in the test's namespace where it names one."""
    return path.read_text().replace("\n  namespace: default\n", f"\n  namespace: {namespace}\n")


def objects_in(text: str) -> Iterator[tuple[Kind, JSON]]:
    for document in documents.parse(text, "example"):
        assert not document.problems
        kind = catalog.find(document.tree["apiVersion"], document.tree["kind"])
        assert kind is not None
        yield kind, document.tree


def lost(stated: Any, stored: Any, path: str = "") -> list[str]:
    """Where something that was stated is not what was stored."""
    if isinstance(stated, dict) and isinstance(stored, dict):
        return [
            place
            for name, value in stated.items()
            for place in (lost(value, stored[name], f"{path}.{name}") if name in stored else [f"{path}.{name}"])
        ]
    if isinstance(stated, list) and isinstance(stored, list) and len(stated) == len(stored):
        pairs = enumerate(zip(stated, stored, strict=True))
        return [place for number, (one, other) in pairs for place in lost(one, other, f"{path}[{number}]")]
    return [] if stated == stored else [f"{path}: {stated!r} became {stored!r}"]


@each_way
@pytest.mark.parametrize("example", FILES)
def test_an_example_is_stored_as_it_was_stated_and_applied_again_changes_nothing(
    kubectl: Kubectl, objects: Objects, namespace: str, example: str, apply: tuple[str, ...]
) -> None:
    text = text_for(FILES[example], namespace)
    stated = list(objects_in(text))
    for kind, tree in stated:
        objects.clean_up(kind, tree["metadata"]["name"])

    applied = kubectl.run(*apply, stdin=text)
    assert "Warning" not in applied.stderr
    first = [objects.get(kind, tree["metadata"]["name"]) for kind, tree in stated]
    for (kind, tree), stored in zip(stated, first, strict=True):
        assert lost({key: value for key, value in tree.items() if key != "status"}, stored) == []
        assert "status" not in stored  # a controller's to write, also where an example shows one
        # Offline, the same is filled in as by the server, and nothing else.
        known = schema.of_kind(kind)
        assert stored["spec"] == structural.with_defaults(structural.normal(tree, known), known)["spec"]

    kubectl.run(*apply, stdin=text)
    second = [objects.get(kind, tree["metadata"]["name"]) for kind, tree in stated]
    assert [one["metadata"]["generation"] for one in second] == [1] * len(first)
    assert [one["metadata"]["resourceVersion"] for one in second] == [
        one["metadata"]["resourceVersion"] for one in first
    ]


@each_way
def test_all_examples_can_be_applied_to_one_namespace_at_once(
    kubectl: Kubectl, objects: Objects, namespace: str, apply: tuple[str, ...]
) -> None:
    texts = [text_for(path, namespace) for path in FILES.values()]
    names = {(kind, tree["metadata"]["name"]) for text in texts for kind, tree in objects_in(text)}
    for kind, name in names:
        objects.clean_up(kind, name)
    kubectl.run(*apply, stdin="\n---\n".join(texts))
    for kind, name in names:
        objects.get(kind, name)


def test_the_schema_fills_in_what_a_workload_leaves_out(kubectl: Kubectl, objects: Objects, namespace: str) -> None:
    tree = {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "PodCliqueSet",
        "metadata": {"name": "terse"},
        "spec": {
            "updateStrategy": {},
            "template": {
                "headlessServiceConfig": {},
                "cliques": [{"name": "worker", "spec": {"replicas": 1, "podSpec": {"containers": [container()]}}}],
                "podCliqueScalingGroups": [{"name": "group", "cliqueNames": ["worker"]}],
            },
        },
    }
    kubectl.run(*CLIENT_SIDE, stdin=json.dumps(tree))
    spec = objects.get(catalog.POD_CLIQUE_SET, "terse")["spec"]
    assert spec["replicas"] == 0
    assert spec["updateStrategy"] == {"type": "RollingRecreate"}
    template = spec["template"]
    assert template["cliqueStartupType"] == "CliqueStartupTypeAnyOrder"
    assert template["headlessServiceConfig"] == {"publishNotReadyAddresses": True}
    assert template["podCliqueScalingGroups"] == [
        {"name": "group", "cliqueNames": ["worker"], "replicas": 1, "minAvailable": 1}
    ]


# Typos


def container(**fields: object) -> JSON:
    return {"name": "main", "image": "main:v1", **fields}


def workload(container: JSON, pod: JSON | None = None, template: JSON | None = None, **spec: object) -> JSON:
    clique = {"replicas": 1, "podSpec": {"containers": [container], **(pod or {})}, **spec}
    return {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "PodCliqueSet",
        "metadata": {"name": "typo"},
        "spec": {"template": {"cliques": [{"name": "worker", "spec": clique}], **(template or {})}},
    }


TYPOS = {
    "a misspelt field of a container": (
        workload(container(imagePullPolcy="Always")),
        'unknown field "spec.template.cliques[0].spec.podSpec.containers[0].imagePullPolcy"',
        '.spec.podSpec.containers[name="main"].imagePullPolcy: field not declared in schema',
    ),
    "misspelt containers": (
        workload(container(), pod={"contianers": []}),
        'unknown field "spec.template.cliques[0].spec.podSpec.contianers"',
        '.spec.template.cliques[name="worker"].spec.podSpec.contianers: field not declared in schema',
    ),
    "a misspelt field of a clique": (
        workload(container(), minAvailabel=1),
        'unknown field "spec.template.cliques[0].spec.minAvailabel"',
        '.spec.template.cliques[name="worker"].spec.minAvailabel: field not declared in schema',
    ),
    "a number in quotes": (
        workload(container(), replicas="1"),
        'spec.template.cliques[0].spec.replicas: Invalid value: "string"',
        '.spec.template.cliques[name="worker"].spec.replicas: expected numeric (int or float), got string',
    ),
    "a port in quotes": (
        workload(container(ports=[{"containerPort": "80"}])),
        'spec.template.cliques[0].spec.podSpec.containers[0].ports[0].containerPort: Invalid value: "string"',
        "containerPort: expected numeric (int or float), got string",
    ),
    "a startup type that is none": (
        workload(container(), template={"cliqueStartupType": "Sometimes"}),
        'spec.template.cliqueStartupType: Unsupported value: "Sometimes": supported values: ',
        'spec.template.cliqueStartupType: Unsupported value: "Sometimes": supported values: ',
    ),
    "no containers": (
        workload(container(), podSpec={}),
        "spec.template.cliques[0].spec.podSpec.containers: Required value",
        "spec.template.cliques[0].spec.podSpec.containers: Required value",
    ),
    "a duration that is none": (
        workload(container(), template={"terminationDelay": "4 hours"}),
        'spec.template.terminationDelay: Invalid value: "4 hours"',
        'spec.template.terminationDelay: Invalid value: "4 hours"',
    ),
}


@pytest.mark.parametrize("typo", TYPOS)
def test_a_typo_is_refused_with_its_path(kubectl: Kubectl, objects: Objects, typo: str) -> None:
    tree, client_side, server_side = TYPOS[typo]
    for apply, expected in ((CLIENT_SIDE, client_side), (SERVER_SIDE, server_side)):
        refused = kubectl.run(*apply, stdin=json.dumps(tree), check=False)
        assert refused.code == 1
        assert expected in refused.stderr
    assert kubectl.run("get", "pcs", "-o", "name").stdout == ""
    # And by `grove validate`, in the same place.
    found = admission.review(tree, Policy()).errors
    assert any(str(error.path) in client_side for error in found), found
