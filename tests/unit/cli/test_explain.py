import json

from tests.unit.cli.conftest import Run


def test_a_field_is_explained_with_the_fields_inside(run: Run) -> None:
    lines = run("explain", "pcs.spec.updateStrategy").stdout.splitlines()
    assert lines[:4] == [
        "KIND:     PodCliqueSet",
        "VERSION:  grove.io/v1alpha1",
        "",
        "FIELD:    pcs.spec.updateStrategy <object>",
    ]
    assert "  type <string>  default 'RollingRecreate'; one of RollingRecreate, OnDelete, Coherent" in lines


def test_pod_specs_are_explained_in_full(run: Run) -> None:
    text = run("explain", "pcs.spec.template.cliques.spec.podSpec.containers.image").stdout
    assert "Container image name" in text


def test_fixed_fields_say_so(run: Run) -> None:
    assert "Fixed once the object exists." in run("explain", "pcs.spec.template.cliques.spec.minAvailable").stdout


def test_recursion_shows_the_whole_tree(run: Run) -> None:
    text = run("explain", "ct.spec", "--recursive").stdout
    assert "  levels <[]object>  required; at least so many entries: 1\n    domain <string>  required" in text


def test_json_is_nested(run: Run) -> None:
    data = json.loads(run("explain", "pg", "-o", "json", "-r").stdout)
    spec = next(field for field in data["fields"] if field["path"] == "pg.spec")
    assert "pg.spec.podgroups" in [field["path"] for field in spec["fields"]]


def test_an_unknown_field_gets_a_suggestion(run: Run) -> None:
    result = run("explain", "pcs.spec.templat")
    assert result.exit_code == 2
    assert result.stderr == "error: pcs.spec has no field templat\nhelp: did you mean pcs.spec.template?\n"


def test_an_unknown_kind_lists_the_known_ones(run: Run) -> None:
    result = run("explain", "deployment")
    assert result.exit_code == 2
    assert "pcs, pclq, pcsg, ct, pg" in result.stderr


def test_a_manifest_is_explained_as_gangs(run: Run) -> None:
    text = run("explain", "-f", "examples/multi-node-aggregated.yaml").stdout
    assert text == (
        "PodCliqueSet multinode-aggregated: 8 pods in 1 gang and 1 scaled gang\n"
        "  PodGang multinode-aggregated-0: 4 pods, all or none\n"
        "    PodClique multinode-aggregated-0-model-instance-0-leader: 1 pod\n"
        "    PodClique multinode-aggregated-0-model-instance-0-worker: 3 pods\n"
        "  PodGang multinode-aggregated-0-model-instance-0: 4 pods, all or none, placed once its base gang is\n"
        "    PodClique multinode-aggregated-0-model-instance-1-leader: 1 pod\n"
        "    PodClique multinode-aggregated-0-model-instance-1-worker: 3 pods\n"
    )


def test_a_manifest_without_sets_is_an_error(run: Run) -> None:
    result = run("explain", "-f", "examples/queues.yaml")
    assert (result.exit_code, result.stderr.splitlines()[0]) == (2, "error: examples/queues.yaml holds no PodCliqueSet")


def test_nothing_to_explain_is_an_error(run: Run) -> None:
    assert run("explain").exit_code == 2
