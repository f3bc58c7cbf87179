from typing import Any

import msgspec
import pytest

from grove.nodes import admission
from grove.nodes.objects import NodeRecord, PodRecord
from tests.unit.nodes.stories import Json, pod

ALLOCATABLE = {"cpu": "8", "memory": "32Gi", "ephemeral-storage": "100Gi", "pods": "3", "example.com/gpu": "2"}


def node(taints: list[Json] | None = None, **allocatable: str | None) -> NodeRecord:
    amounts = {name: text for name, text in (ALLOCATABLE | allocatable).items() if text is not None}
    return msgspec.convert(
        {
            "metadata": {"name": "node-a", "labels": {"zone": "z1"}},
            "spec": {"taints": taints or []},
            "status": {"allocatable": amounts},
        },
        NodeRecord,
    )


def asking(requests: dict[str, str | int], **spec: Any) -> PodRecord:
    return pod({"name": "main", "resources": {"requests": requests}}, **spec)


def judged(told: PodRecord, where: NodeRecord | None = None, *others: PodRecord) -> tuple[str, str] | None:
    found = admission.judge(told, where or node(), others)
    if found is None:
        return None
    assert found.message.startswith("Pod was rejected: ")
    return found.reason, found.message.removeprefix("Pod was rejected: ")


def short_of(name: str, requested: int, used: int, capacity: int) -> tuple[str, str]:
    numbers = f"requested: {requested}, used: {used}, capacity: {capacity}"
    return f"OutOf{name}", f"Node didn't have enough resource: {name}, {numbers}"


@pytest.mark.parametrize(
    ("requests", "others", "verdict"),
    [
        ({"cpu": "8"}, [], None),
        ({"cpu": "500m"}, [{"cpu": "7.5"}], None),
        ({"cpu": "501m"}, [{"cpu": "7.5"}], short_of("cpu", 501, 7500, 8000)),
        ({"memory": "16Gi"}, [{"memory": "17Gi"}], short_of("memory", 16 * 2**30, 17 * 2**30, 32 * 2**30)),
        ({"ephemeral-storage": "101Gi"}, [], short_of("ephemeral-storage", 101 * 2**30, 0, 100 * 2**30)),
        ({"example.com/gpu": 1}, [{"example.com/gpu": 1}], None),
        ({"example.com/gpu": 2}, [{"example.com/gpu": 1}], short_of("example.com/gpu", 2, 1, 2)),
        # Another resource of the cluster's, not of the node's.
        ({"example.com/license": 1}, [], None),
        ({"hugepages-2Mi": "4Mi"}, [], short_of("hugepages-2Mi", 4 * 2**20, 0, 0)),
        ({"cpu": "0"}, [{"cpu": "9"}], None),
        ({}, [{}, {}], None),
        ({}, [{}, {}, {}], short_of("pods", 1, 3, 3)),
        # In the order in which a kubelet looks.
        ({"memory": "1Ti", "cpu": "9"}, [], short_of("cpu", 9000, 0, 8000)),
        ({"example.com/gpu": 3, "memory": "1Ti"}, [], short_of("memory", 2**40, 0, 32 * 2**30)),
        ({"memory": "1Ti", "cpu": "9"}, [{}, {}, {}], short_of("pods", 1, 3, 3)),
    ],
)
def test_a_pod_is_taken_in_if_there_is_room(
    requests: dict[str, str | int], others: list[dict[str, str | int]], verdict: tuple[str, str] | None
) -> None:
    assert judged(asking(requests), None, *map(asking, others)) == verdict


def test_a_node_that_says_nothing_of_what_every_node_has_has_none_of_it() -> None:
    assert judged(asking({}), node(pods=None)) == short_of("pods", 1, 0, 0)
    assert judged(asking({"cpu": "1"}), node(cpu=None)) == short_of("cpu", 1000, 0, 0)
    bare = msgspec.convert({"metadata": {"name": "node-a"}}, NodeRecord)
    assert judged(asking({}), bare) == short_of("pods", 1, 0, 0)


AFFINITY = ("NodeAffinity", "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector")


def test_a_pod_is_taken_in_only_where_it_wants_to_be() -> None:
    assert judged(pod(nodeSelector={"zone": "z1"})) is None
    assert judged(pod(nodeSelector={"zone": "z2"})) == AFFINITY
    terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-b"]}]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    assert judged(pod(affinity={"nodeAffinity": required})) == AFFINITY


def test_a_shortage_counts_before_all_else() -> None:
    found = judged(asking({"cpu": "9"}, nodeSelector={"zone": "z2"}))
    assert found is not None
    assert found[0] == "OutOfcpu"


PORTS = ("NodePorts", "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports")


@pytest.mark.parametrize(
    ("wanted", "taken", "verdict"),
    [
        ({"hostPort": 80}, {"hostPort": 80}, PORTS),
        ({"hostPort": 80}, {"hostPort": 81}, None),
        ({"hostPort": 80}, {"hostPort": 80, "protocol": "UDP"}, None),
        ({"hostPort": 80, "hostIP": "192.0.2.1"}, {"hostPort": 80, "hostIP": "192.0.2.2"}, None),
        ({"hostPort": 80, "hostIP": "192.0.2.1"}, {"hostPort": 80, "hostIP": "192.0.2.1"}, PORTS),
        ({"hostPort": 80, "hostIP": "192.0.2.1"}, {"hostPort": 80}, PORTS),
        ({"hostPort": 80}, {"hostPort": 80, "hostIP": "192.0.2.1"}, PORTS),
        ({"hostPort": 80, "hostIP": "0.0.0.0"}, {"hostPort": 80, "hostIP": "192.0.2.1"}, PORTS),
        ({"containerPort": 80}, {"containerPort": 80}, None),
    ],
)
def test_a_port_of_the_node_is_one_pod_s(wanted: Json, taken: Json, verdict: tuple[str, str] | None) -> None:
    def with_port(port: Json) -> PodRecord:
        return pod({"name": "main", "ports": [{"containerPort": 1} | port]})

    assert judged(with_port(wanted), None, with_port(taken)) == verdict


def test_sidecars_have_ports_too_and_init_containers_give_theirs_back() -> None:
    port = {"ports": [{"containerPort": 1, "hostPort": 80}]}
    wanted = pod({"name": "main"} | port)
    assert judged(wanted, None, pod(init=({"name": "proxy", "restartPolicy": "Always"} | port,))) == PORTS
    assert judged(wanted, None, pod(init=({"name": "setup"} | port,))) is None


TAINTS = ("TaintToleration", "Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate")


@pytest.mark.parametrize(
    ("tolerations", "verdict"),
    [
        ([], TAINTS),
        ([{"operator": "Exists"}], None),
        ([{"operator": "Exists", "key": "broken"}], None),
        ([{"operator": "Exists", "key": "other"}], TAINTS),
        ([{"operator": "Exists", "effect": "NoSchedule"}], TAINTS),
        ([{"operator": "Exists", "effect": "NoExecute"}], None),
        ([{"key": "broken", "value": "yes"}], None),
        ([{"key": "broken", "operator": "", "value": "yes"}], None),
        ([{"key": "broken", "operator": "Equal", "value": "no"}], TAINTS),
        ([{"key": "other"}, {"key": "broken", "value": "yes", "effect": "NoExecute"}], None),
    ],
)
def test_a_pod_is_taken_in_if_it_tolerates_what_would_drive_it_away(
    tolerations: list[Json], verdict: tuple[str, str] | None
) -> None:
    tainted = node([{"key": "broken", "value": "yes", "effect": "NoExecute"}])
    assert judged(pod(tolerations=tolerations), tainted) == verdict


def test_other_taints_are_the_scheduler_s() -> None:
    assert judged(pod(), node([{"key": "broken", "effect": "NoSchedule"}])) is None
