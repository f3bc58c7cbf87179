"""The tutorial's five examples with each of its commands, and the names that it prints."""

import re

from grove.api import labels
from tests.cluster.operator.workloads import CLIQUES, GANGS, GROUPS, Workloads, image_of, label, name_of


def test_1_single_node_aggregated(workloads: Workloads) -> None:
    pcs, worker = "single-node-aggregated", "single-node-aggregated-0-model-worker"
    workloads.example("single-node-aggregated")
    pods = workloads.ready(pcs, {worker: 2})
    assert all(re.fullmatch(rf"{worker}-[0-9a-z]{{5}}", name_of(pod)) for pod in pods)
    first = {name_of(pod) for pod in pods}
    workloads.scale("pclq", worker, 4)
    grown = workloads.ready(pcs, {worker: 4})
    assert first < {name_of(pod) for pod in grown}
    workloads.scale("pcs", pcs, 3)
    others = {f"{pcs}-{replica}-model-worker": 2 for replica in (1, 2)}
    pods = workloads.ready(pcs, {worker: 4} | others)
    assert {name_of(pod) for pod in grown} < {name_of(pod) for pod in pods}
    assert workloads.names(GANGS, pcs) == [f"{pcs}-{replica}" for replica in range(3)]
    workloads.settled(pcs)
    workloads.delete(pcs)


def test_2_single_node_disaggregated(workloads: Workloads) -> None:
    pcs = "single-node-disaggregated"
    workloads.example("single-node-disaggregated")
    workloads.ready(pcs, {f"{pcs}-0-decode": 2, f"{pcs}-0-prefill": 3})
    workloads.scale("pcs", pcs, 2)
    workloads.ready(
        pcs,
        {f"{pcs}-{replica}-{clique}": count for replica in (0, 1) for clique, count in (("decode", 2), ("prefill", 3))},
    )
    # The documented ways to choose pods.
    for selector in (f"{labels.PART_OF}={pcs}", f"{labels.POD_CLIQUE_SET}={pcs},{labels.ROLE}=prefill"):
        assert "Running" in workloads.kubectl.run("get", "pods", "-l", selector, "-o", "wide").stdout
    workloads.delete(pcs)


def test_3_multi_node_aggregated(workloads: Workloads) -> None:
    pcs, group = "multinode-aggregated", "multinode-aggregated-0-model-instance"

    def expected(copies: int, workers_of_first: int = 3) -> dict[str, int]:
        found = {f"{group}-{copy}-leader": 1 for copy in range(copies)}
        found |= {f"{group}-{copy}-worker": 3 for copy in range(copies)}
        return found | {f"{group}-0-worker": workers_of_first}

    workloads.example("multi-node-aggregated")
    first = workloads.ready(pcs, expected(2))
    workloads.scale("pcsg", group, 3)
    grown = workloads.ready(pcs, expected(3))
    assert {name_of(pod) for pod in first} < {name_of(pod) for pod in grown}
    assert workloads.names(CLIQUES, pcs) == sorted(expected(3))
    printed = workloads.kubectl.run("get", "pclq").stdout
    assert all(name in printed for name in expected(3))
    workloads.scale("pclq", f"{group}-0-worker", 4)
    workloads.ready(pcs, expected(3, workers_of_first=4))
    # One copy must be there at least, so the first is in the base gang, and each other in one of its own.
    assert workloads.names(GANGS, pcs) == [f"{pcs}-0", f"{group}-0", f"{group}-1"]
    workloads.settled(pcs)
    workloads.delete(pcs)


def test_4_multi_node_disaggregated(workloads: Workloads) -> None:
    pcs = "multinode-disaggregated"

    def expected(prefills: int, decodes: int) -> dict[str, int]:
        found = {}
        for group, copies, workers in (("prefill", prefills, 4), ("decode", decodes, 2)):
            for copy in range(copies):
                found[f"{pcs}-0-{group}-{copy}-{group[0]}leader"] = 1
                found[f"{pcs}-0-{group}-{copy}-{group[0]}worker"] = workers
        return found

    workloads.example("multi-node-disaggregated")
    workloads.ready(pcs, expected(2, 1))
    workloads.scale("pcsg", f"{pcs}-0-decode", 2)
    workloads.ready(pcs, expected(2, 2))
    workloads.scale("pcsg", f"{pcs}-0-prefill", 1)
    workloads.ready(pcs, expected(1, 2))
    assert workloads.names(GROUPS, pcs) == [f"{pcs}-0-decode", f"{pcs}-0-prefill"]
    workloads.delete(pcs)


def test_5_complete_inference_pipeline(workloads: Workloads) -> None:
    pcs = "comp-inf-ppln"
    workloads.example("complete-inference-pipeline")
    pods = workloads.ready(
        pcs,
        {
            f"{pcs}-0-decode-cluster-0-dleader": 1,
            f"{pcs}-0-decode-cluster-0-dworker": 2,
            f"{pcs}-0-frontend": 2,
            f"{pcs}-0-prefill-0-pleader": 1,
            f"{pcs}-0-prefill-0-pworker": 4,
            f"{pcs}-0-vision-encoder": 1,
        },
    )
    assert {image_of(pod) for pod in pods} == {"nginx:latest"}
    assert {label(pod, labels.POD_GANG) for pod in pods} == {f"{pcs}-0"}
    workloads.settled(pcs)
    workloads.delete(pcs)
