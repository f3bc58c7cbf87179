"""`grove crds apply` on a real API server: installs, upgrades, changes nothing twice, and says what is wrong."""

from __future__ import annotations

import copy
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from grove.api import crds
from grove.api.kinds import catalog
from grove.install.crds import FIELD_MANAGER, ORDER
from grove.testing.controlplane import ControlPlane
from tests.cluster.objects import APPLY, CRDS


@pytest.fixture(scope="module")
def empty() -> Iterator[ControlPlane]:
    """A cluster that knows nothing of Grove."""
    with ControlPlane.start(controller_manager=False) as own:
        yield own


def grove(cluster: ControlPlane, *arguments: str, kubeconfig: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "grove.cli.main", "crds", "apply", *arguments]
    command += ["--kubeconfig", kubeconfig or str(cluster.kubeconfig)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=dict(os.environ))


def said(outcome: str) -> str:
    return "".join(f"{kind.crd_name} {outcome}\n" for kind in ORDER)


def versions(cluster: ControlPlane) -> dict[str, str]:
    items = cluster.request("GET", CRDS)[1]["items"]
    return {item["metadata"]["name"]: item["metadata"]["resourceVersion"] for item in items}


def test_the_kinds_are_served_when_it_returns_and_a_second_time_changes_nothing(empty: ControlPlane) -> None:
    done = grove(empty)
    assert (done.returncode, done.stdout) == (0, said("created")), done.stderr
    assert [kind.name for kind in ORDER[:5]] == [
        "PodClique",
        "PodCliqueSet",
        "PodCliqueScalingGroup",
        "ClusterTopologyBinding",
        "PodGang",
    ]
    for kind in ORDER:
        assert empty.request("GET", f"/apis/{kind.api_version}/{kind.plural}")[0] == 200
    before = versions(empty)
    again = grove(empty, "--wait", "--timeout", "5")
    assert (again.returncode, again.stdout) == (0, said("unchanged")), again.stderr
    assert versions(empty) == before


def test_an_older_definition_is_brought_up_to_date_whoever_applied_it(empty: ControlPlane) -> None:
    grove(empty)
    older = copy.deepcopy(crds.crd(catalog.POD_CLIQUE_SET))
    older["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["old"] = {"type": "string"}
    path = f"{CRDS}/{catalog.POD_CLIQUE_SET.crd_name}"
    assert empty.request("PATCH", f"{path}?fieldManager=kubectl&force=true", older, content_type=APPLY)[0] == 200
    done = grove(empty, "--no-wait")
    lines = dict(line.split() for line in done.stdout.splitlines())
    assert lines.pop(catalog.POD_CLIQUE_SET.crd_name) == "configured"
    assert set(lines.values()) == {"unchanged"}
    stored = empty.request("GET", path)[1]
    assert stored["spec"]["versions"][0]["schema"] == crds.crd(catalog.POD_CLIQUE_SET)["spec"]["versions"][0]["schema"]
    assert FIELD_MANAGER in {one["manager"] for one in stored["metadata"]["managedFields"]}


def test_a_user_without_rights_is_told_so(empty: ControlPlane) -> None:
    nobody = empty.kubeconfig_for("default", "nobody")
    done = grove(empty, kubeconfig=str(nobody))
    assert done.returncode == 1
    assert "cannot get resource" in done.stderr
    assert "help: check the rights of the user" in done.stderr


def test_a_name_that_is_taken_is_told_instead_of_waiting_for_it() -> None:
    foreign = copy.deepcopy(crds.crd(catalog.POD_CLIQUE))
    foreign["metadata"]["name"] = "cliquepods.grove.io"
    foreign["spec"]["names"] |= {"plural": "cliquepods", "singular": "podclique"}
    with ControlPlane.start(controller_manager=False) as own:
        own.create(CRDS, foreign)
        done = grove(own)
        assert done.returncode == 1
        assert "error: podcliques.grove.io is not served: " in done.stderr
        assert "is already in use" in done.stderr


def test_a_cluster_that_does_not_answer_is_another_failure(empty: ControlPlane) -> None:
    done = grove(empty, "--context", "nowhere")
    assert (done.returncode, done.stdout) == (2, "")
    assert "nowhere" in done.stderr
