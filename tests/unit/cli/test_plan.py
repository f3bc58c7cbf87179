"""What `grove plan` says of manifests on small clusters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from grove.api.kinds.operatorconfig import OperatorConfiguration
from grove.cli import documents, plan
from grove.cli.expansion import Expanded
from grove.cli.failure import Refusal
from grove.cli.plan import Planned
from grove.scheduler.engine import Engine
from tests.unit.cli.clusters import NOW, SETTINGS, engine, gang
from tests.unit.cli.conftest import ROOT, Run
from tests.unit.scheduler.fleets import GPU, spec

Result = tuple[list[Planned], Expanded]


def planned(found: Engine, *trees: dict[str, Any]) -> Result:
    return plan.judge(found, SETTINGS, OperatorConfiguration(), trees, "default", NOW)


def example(name: str) -> list[dict[str, Any]]:
    return [one.tree for one in documents.read(str(ROOT / "examples" / name))]


def pcs(name: str = "train", workers: int = 2, gpus: int = 8, priority: str = "", **template: Any) -> dict[str, Any]:
    container = {"name": "main", "image": "main:v1", "resources": {"limits": {GPU: gpus}}}
    clique = {
        "name": "worker",
        "spec": {"roleName": "worker", "replicas": workers, "podSpec": {"containers": [container]}},
    }
    body = {"cliques": [clique], "topologyConstraint": {"topologyName": "racks", "pack": {"required": "rack"}}}
    return {
        "apiVersion": "grove.io/v1alpha1",
        "kind": "PodCliqueSet",
        "metadata": {"name": name},
        "spec": {"replicas": 1, "template": body | ({"priorityClassName": priority} if priority else {}) | template},
    }


def outcomes(result: Result) -> dict[str, str]:
    return {one["gang"]: one["outcome"] for one in plan.as_data(*result)["gangs"]}


def test_a_set_that_fits_is_told_with_its_nodes_and_domains() -> None:
    result = planned(engine(), pcs())
    assert "\n".join(plan.text(*result)).splitlines() == [
        "PodGang default/train-0 fits now: in rack r0, score 1.00",
        "  GROUP            PLACED   MINIMUM   NODES",
        "  train-0-worker   2/2      2         n0, n1",
        "",
        "1 of 1 gang fit now",
    ]
    assert result[0][0].fits


def test_nothing_is_left_behind_for_the_next_one() -> None:
    found = engine()
    assert outcomes(planned(found, pcs("a"), pcs("b"))) == {"default/a-0": "fits", "default/b-0": "fits"}
    assert outcomes(planned(engine(), pcs("a"), pcs("b"), pcs("c")))["default/c-0"] == "waits"


def test_what_is_missing_is_told() -> None:
    result = planned(engine(), pcs(workers=3))
    (one,) = result[0]
    assert not one.fits
    assert one.answer.explanation is not None
    assert one.answer.explanation.reason == "Unschedulable"
    text = "\n".join(plan.text(*result))
    assert text.startswith("PodGang default/train-0 would wait\n  Unschedulable: rack r0 comes nearest: it fits 2 of 3")
    assert "prefer rack instead of requiring it" in text
    assert text.endswith("0 of 1 gang fit now; 1 would wait")


def test_whom_it_would_preempt_is_told() -> None:
    found = engine()
    for number in range(4):
        gang(found, f"low-{number}", {f"l-{number}": f"n{number}"}, wanted=spec(gpus=8))
    result = planned(found, pcs(workers=2, priority="high"))
    (one,) = result[0]
    assert not one.fits
    assert outcomes(result) == {"default/train-0": "preempts"}
    assert len(one.victims) == 2
    assert set(one.stopped) < {f"default/low-{number}" for number in range(4)}
    text = "\n".join(plan.text(*result))
    assert "PodGang default/train-0 fits after preemption: in rack r" in text
    assert "  2 pods would be evicted" in text
    assert text.endswith("0 of 1 gang fit now; 1 after preemption of 2 pods")


def test_who_waits_already_comes_first() -> None:
    found = engine()
    gang(found, "earlier", {"e-0": "", "e-1": ""})
    gang(found, "other", {"o-0": "n0", "o-1": "n1"})
    assert outcomes(planned(found, pcs())) == {"default/train-0": "waits"}


def test_gangs_that_exist_are_shown_as_they_are() -> None:
    found = engine()
    gang(found, "train-0", {"t-0": "n0", "t-1": "n1"})
    result = planned(found, pcs())
    assert outcomes(result) == {"default/train-0": "exists"}
    assert result[0][0].fits


@pytest.mark.parametrize("name", ["simple1.yaml", "multi-node-aggregated.yaml", "complete-inference-pipeline.yaml"])
def test_the_examples_fit_on_a_small_cluster(name: str) -> None:
    assert set(outcomes(planned(engine(), *example(name))).values()) == {"fits"}


def test_scaled_gangs_follow_their_base() -> None:
    result = planned(engine(), *example("multi-node-aggregated.yaml"))
    assert list(outcomes(result)) == [
        "default/multinode-aggregated-0",
        "default/multinode-aggregated-0-model-instance-0",
    ]


def test_a_set_for_another_scheduler_is_left_to_it() -> None:
    tree = pcs()
    tree["spec"]["template"]["cliques"][0]["spec"]["podSpec"]["schedulerName"] = "default-scheduler"
    result = planned(engine(), tree)
    assert result[0] == []
    assert result[1].elsewhere == ["PodCliqueSet train: default-scheduler"]


def test_pods_and_gangs_of_a_file_are_planned_too() -> None:
    container = {"name": "main", "image": "main:v1", "resources": {"limits": {GPU: 8}}}
    lone = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "lone"},
        "spec": {"schedulerName": "grove-scheduler", "containers": [container]},
    }
    result = planned(engine(), lone, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}})
    assert outcomes(result) == {"default/pod:lone": "fits"}
    assert "\n".join(plan.text(*result)).endswith("1 of 1 gang fit now; 1 object passed over")


def test_what_would_be_refused_is_an_error() -> None:
    tree = pcs()
    del tree["spec"]["template"]["cliques"]
    with pytest.raises(Refusal, match="PodCliqueSet train would be refused"):
        planned(engine(), tree)
    with pytest.raises(Refusal, match="there is no PriorityClass nowhere"):
        planned(engine(), pcs(priority="nowhere"))


def test_a_file_that_cannot_be_read_ends_with_2(run: Run, tmp_path: Path) -> None:
    assert run("plan", "-f", str(tmp_path / "none.yaml")).exit_code == 2
    broken = tmp_path / "broken.yaml"
    broken.write_text("a: [")
    assert run("plan", "-f", str(broken)).exit_code == 2


def test_without_a_cluster_it_ends_with_2(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "set.yaml"
    file.write_text(yaml.safe_dump(pcs()))
    result = run("plan", "-f", str(file), "--kubeconfig", str(tmp_path / "none"))
    assert result.exit_code == 2
    assert "help: check that the cluster runs" in result.stderr
