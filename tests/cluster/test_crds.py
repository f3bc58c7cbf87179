"""The CustomResourceDefinitions on a real API server: accepted, installed twice, listed, and collected."""

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from grove.api.crds import CLIENT_SIDE_LIMIT, all_crds
from grove.api.kinds import catalog
from grove.api.kinds.catalog import SERVED, Kind
from grove.testing.controlplane import ControlPlane
from grove.testing.kubectl import Kubectl
from grove.testing.waiting import eventually
from tests.cluster.objects import CRDS, Objects, smallest

pytestmark = pytest.mark.usefixtures("grove_crds")

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
# What must be left, for the fields that the next Kubernetes versions add to pods.
ROOM = 20 * 1024

each_kind = pytest.mark.parametrize("kind", SERVED, ids=lambda kind: kind.plural)


@pytest.fixture(scope="module")
def printed() -> str:
    """What `grove crds` prints."""
    command = [sys.executable, "-m", "grove.cli.main", "crds"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.fixture(scope="module")
def installed(printed: str) -> Iterator[tuple[ControlPlane, str]]:
    """A cluster that `kubectl apply` has just installed the kinds in, and what it said."""
    with ControlPlane.start(controller_manager=False) as own:
        yield own, own.kubectl().run("apply", "-f", "-", stdin=printed).stdout


def in_each_line(text: str, word: str) -> list[str]:
    """The names of the CRDs in kubectl's answers, all of which must end with the word."""
    lines = text.splitlines()
    assert all(line.endswith(f" {word}") for line in lines), text
    return [line.split()[0].removeprefix("customresourcedefinition.apiextensions.k8s.io/") for line in lines]


def annotation_sizes(cluster: ControlPlane) -> dict[str, int]:
    items = cluster.request("GET", CRDS)[1]["items"]
    return {item["metadata"]["name"]: len(item["metadata"]["annotations"][LAST_APPLIED].encode()) for item in items}


@each_kind
def test_the_schema_is_structural_and_the_names_are_accepted(cluster: ControlPlane, kind: Kind) -> None:
    status = cluster.request("GET", f"{CRDS}/{kind.crd_name}")[1]["status"]
    conditions = {one["type"]: one["status"] for one in status["conditions"]}
    assert conditions == {"NamesAccepted": "True", "Established": "True"}  # and neither NonStructuralSchema nor others
    assert status["acceptedNames"]["kind"] == kind.name
    assert status["acceptedNames"].get("shortNames", []) == list(kind.short_names)
    assert status["acceptedNames"]["categories"] == ["grove"]
    assert status["storedVersions"] == [kind.version]


@each_kind
def test_the_server_keeps_the_whole_schema(cluster: ControlPlane, kind: Kind) -> None:
    (sent,) = [crd for crd in all_crds() if crd["metadata"]["name"] == kind.crd_name]
    stored = cluster.request("GET", f"{CRDS}/{kind.crd_name}")[1]
    assert stored["spec"]["versions"][0]["schema"] == sent["spec"]["versions"][0]["schema"]


def test_kubectl_apply_installs_what_grove_crds_prints_and_a_second_time_changes_nothing(
    installed: tuple[ControlPlane, str], printed: str
) -> None:
    cluster, said = installed
    everything = [kind.crd_name for kind in SERVED]
    assert in_each_line(said, "created") == everything
    again = cluster.kubectl().run("apply", "-f", "-", stdin=printed).stdout
    assert in_each_line(again, "unchanged") == everything


def test_the_copies_that_kubectl_apply_keeps_fit_into_the_annotations_with_room_to_grow(
    installed: tuple[ControlPlane, str],
) -> None:
    sizes = annotation_sizes(installed[0])
    largest = max(sizes, key=lambda name: sizes[name])
    assert sizes.keys() == {kind.crd_name for kind in SERVED}
    assert sizes[largest] < CLIENT_SIDE_LIMIT - ROOM, f"{largest} takes {sizes[largest]} of {CLIENT_SIDE_LIMIT} bytes"


def test_server_side_apply_can_take_over_what_client_side_apply_installed(
    installed: tuple[ControlPlane, str], printed: str
) -> None:
    cluster, _ = installed
    arguments = ("apply", "--server-side", "-f", "-")
    everything = [kind.crd_name for kind in SERVED]
    assert in_each_line(cluster.kubectl().run(*arguments, stdin=printed).stdout, "serverside-applied") == everything
    versions = resource_versions(cluster)
    cluster.kubectl().run(*arguments, stdin=printed)
    assert resource_versions(cluster) == versions


def resource_versions(cluster: ControlPlane) -> dict[str, Any]:
    items = cluster.request("GET", CRDS)[1]["items"]
    return {item["metadata"]["name"]: item["metadata"]["resourceVersion"] for item in items}


def test_kubectl_lists_each_kind_with_short_name_and_scope(kubectl: Kubectl) -> None:
    lines = kubectl.run("api-resources", "--categories=grove", "--no-headers").stdout.splitlines()
    listed = {tuple(line.split()) for line in lines}
    assert listed == {
        (
            kind.plural,
            *([",".join(kind.short_names)] if kind.short_names else []),
            kind.api_version,
            str(kind.scope == "Namespaced").lower(),
            kind.name,
        )
        for kind in SERVED
    }


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("pcs", catalog.POD_CLIQUE_SET),
        ("pclq", catalog.POD_CLIQUE),
        ("pcsg", catalog.SCALING_GROUP),
        ("ct", catalog.TOPOLOGY_BINDING),
        ("pg", catalog.POD_GANG),
        ("gq", catalog.QUEUE),
        ("pgs", catalog.POD_GANG_SET),
        ("podclique", catalog.POD_CLIQUE),  # although grove.dynamo.ai, which sorts first, has a kind of this name
        ("podcliques", catalog.POD_CLIQUE),
        ("PodClique", catalog.POD_CLIQUE),
        ("podgangset", catalog.POD_GANG_SET),
        ("affinityclique", catalog.AFFINITY_CLIQUE),
        ("PodClique.v1.grove.dynamo.ai", catalog.AFFINITY_CLIQUE),
    ],
    ids=lambda value: value if isinstance(value, str) else value.crd_name,
)
def test_a_word_on_the_command_line_means_one_kind(
    kubectl: Kubectl, objects: Objects, namespace: str, word: str, kind: Kind
) -> None:
    objects.create(kind, namespace)
    assert kubectl.run("get", word, namespace, "-o", "name").stdout == printed_name(kind, namespace)


def test_the_category_shows_everything_of_grove(kubectl: Kubectl, objects: Objects, namespace: str) -> None:
    for kind in SERVED:
        objects.create(kind, namespace)
    found = kubectl.run("get", "grove", "-o", "name").stdout.splitlines(keepends=True)
    assert set(found) >= {printed_name(kind, namespace) for kind in SERVED}


def printed_name(kind: Kind, name: str) -> str:
    """As `-o name` has it: after the kind, not after the resource, which differs for grove.dynamo.ai's PodClique."""
    return f"{kind.name.lower()}.{kind.group}/{name}\n"


def test_an_object_of_ours_goes_with_its_owner(cluster: ControlPlane, objects: Objects) -> None:
    owner = objects.create(catalog.POD_CLIQUE_SET, "owner")
    reference = {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": "owner",
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    dependent = smallest(catalog.POD_CLIQUE, "dependent")
    dependent["metadata"]["ownerReferences"] = [reference]
    objects.create(catalog.POD_CLIQUE, dependent)
    cluster.request("DELETE", objects.path(catalog.POD_CLIQUE_SET, "owner"))
    path = objects.path(catalog.POD_CLIQUE, "dependent")
    eventually(
        lambda: cluster.request("GET", path)[0],
        lambda status: status == 404,
        timeout=20.0,
        message="the garbage collector has not taken the dependent",
    )
