"""Whether a node may have a pod by what node and pod say of themselves: as kube-scheduler says."""

import random
from typing import Any

from tests.cluster.scheduler.judge import JSON, Case, Judge, container, node, pod

CASES = 400

LABELS: dict[str, tuple[str, ...]] = {
    "zone": ("z1", "z2"),
    "rank": ("1", "2", "10", "x", "1_0", "9223372036854775808", "007", ""),
    "gpu": ("", "h100", "a100"),
}
NUMBERS = ("0", "1", "5", "007", "9223372036854775807")
CORDON = "node.kubernetes.io/unschedulable"
KEYS, VALUES = ("team", "spot", CORDON), ("", "a", "b")
EFFECTS = ("NoSchedule", "NoExecute", "PreferNoSchedule")


def test_pods_go_to_nodes_that_they_ask_for(judge: Judge) -> None:
    judge.agrees("selection", [a_choosy_world(random.Random(number)) for number in range(CASES)])


def test_taints_keep_pods_off(judge: Judge) -> None:
    judge.agrees("taints", [a_tainted_world(random.Random(number)) for number in range(CASES)])


def test_pods_do_not_take_each_others_ports(judge: Judge) -> None:
    judge.agrees("ports", [a_listening_world(random.Random(number)) for number in range(CASES)])


def test_pods_go_to_nodes_that_can_do_what_they_need(judge: Judge) -> None:
    judge.agrees("features", [a_demanding_world(random.Random(number)) for number in range(CASES)])


# Labels, names


def a_choosy_world(rng: random.Random) -> Case:
    nodes = [node(f"n{number}", labels(rng)) for number in range(rng.randint(1, 3))]
    spec: dict[str, Any] = {}
    if rng.random() < 0.3:
        key = rng.choice([*LABELS])
        spec["nodeSelector"] = {key: rng.choice(LABELS[key])}
    affinity: JSON = {}
    if rng.random() < 0.8:
        terms = [a_term(rng) for _ in range(rng.randint(1, 3))]
        affinity["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": terms}
    if rng.random() < 0.3:
        preferred = [{"weight": rng.randint(1, 100), "preference": a_term(rng)}]
        affinity["preferredDuringSchedulingIgnoredDuringExecution"] = preferred
    return Case(nodes, [], pod("pod", affinity={"nodeAffinity": affinity}, **spec))


def labels(rng: random.Random) -> dict[str, str]:
    """Of a node; often without one of them."""
    return {key: rng.choice(values) for key, values in LABELS.items() if rng.random() < 0.7}


def a_term(rng: random.Random) -> JSON:
    term: JSON = {}
    if rng.random() < 0.9:
        term["matchExpressions"] = [an_expression(rng) for _ in range(rng.randint(0, 2))]
    if rng.random() < 0.25:
        operator = rng.choice(["In", "NotIn"])
        name = rng.choice(["$-n0", "$-n1", "nobody"])
        term["matchFields"] = [{"key": "metadata.name", "operator": operator, "values": [name]}]
    return term


def an_expression(rng: random.Random) -> JSON:
    key, operator = rng.choice([*LABELS, "none"]), rng.choice(["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"])
    if operator in ("Exists", "DoesNotExist"):
        return {"key": key, "operator": operator}
    if operator in ("Gt", "Lt"):
        return {"key": rng.choice(["rank", key]), "operator": operator, "values": [rng.choice(NUMBERS)]}
    values = rng.sample(LABELS.get(key, ("v",)), rng.randint(1, len(LABELS.get(key, ("v",)))))
    return {"key": key, "operator": operator, "values": values[:2]}


# Taints


def a_tainted_world(rng: random.Random) -> Case:
    nodes = []
    for number in range(rng.randint(1, 3)):
        spec: JSON = {"taints": some_taints(rng)}
        if rng.random() < 0.2:
            spec["unschedulable"] = True
        nodes.append(node(f"n{number}", spec=spec))
    return Case(nodes, [], pod("pod", tolerations=[a_toleration(rng) for _ in range(rng.randint(0, 3))]))


def some_taints(rng: random.Random) -> list[JSON]:
    chosen = {(rng.choice(KEYS), rng.choice(EFFECTS)): rng.choice(VALUES) for _ in range(rng.randint(0, 2))}
    return [{"key": key, "effect": effect, "value": value} for (key, effect), value in chosen.items()]


def a_toleration(rng: random.Random) -> JSON:
    effect: JSON = {"effect": rng.choice(EFFECTS)} if rng.random() < 0.6 else {}
    if effect.get("effect") == "NoExecute" and rng.random() < 0.3:
        effect["tolerationSeconds"] = 5
    if rng.random() < 0.1:
        return {"operator": "Exists", **effect}
    key = rng.choice(KEYS)
    match rng.randrange(3):
        case 0:
            return {"key": key, "operator": "Exists", **effect}
        case 1:
            return {"key": key, "operator": "Equal", "value": rng.choice(VALUES), **effect}
    return {"key": key, "value": rng.choice(VALUES), **effect}


# Ports


def a_listening_world(rng: random.Random) -> Case:
    nodes = [node(f"n{number}") for number in range(rng.randint(1, 2))]
    existing = [
        a_listener(rng, f"e{number}", on=f"n{rng.randrange(len(nodes))}") for number in range(rng.randint(0, 4))
    ]
    pods = [a_listener(rng, f"p{number}") for number in range(2)]
    return Case(nodes, existing, pods[0], then=pods[1:])


def a_listener(rng: random.Random, name: str, *, on: str = "") -> JSON:
    spec: dict[str, Any] = {"containers": [container("c", ports=some_ports(rng))]}
    if rng.random() < 0.3:
        restart = {"restartPolicy": "Always"} if rng.random() < 0.7 else {}
        spec["initContainers"] = [container("i", ports=some_ports(rng), **restart)]
    if rng.random() < 0.2:
        spec["hostNetwork"] = True
    taken: set[tuple[str, str, int]] = set()
    for one in (*spec["containers"], *spec.get("initContainers", ())):
        one["ports"] = [port for port in one["ports"] if _is_new(port, taken, in_host="hostNetwork" in spec)]
    return pod(name, on=on, **spec)


def _is_new(port: JSON, taken: set[tuple[str, str, int]], *, in_host: bool) -> bool:
    """Within a pod the API server lets no port be taken twice; in the host's network, ports are the host's."""
    if in_host:
        port.pop("hostPort", None)
    number: int = port.get("hostPort", 0) or (port["containerPort"] if in_host else 0)
    key = (port.get("protocol", "TCP"), port.get("hostIP", ""), number)
    if number and key in taken:
        return False
    taken.add(key)
    return True


def some_ports(rng: random.Random) -> list[JSON]:
    found = []
    for _ in range(rng.randint(0, 2)):
        port: JSON = {"containerPort": rng.choice([80, 81])}
        if rng.random() < 0.8:
            port["hostPort"] = rng.choice([80, 81, 8080])
        if rng.random() < 0.5:
            port["protocol"] = rng.choice(["TCP", "UDP", "SCTP"])
        if rng.random() < 0.4:
            port["hostIP"] = rng.choice(["127.0.0.1", "10.0.0.1", "0.0.0.0", "::"])
        found.append(port)
    return found


# What nodes can do


def a_demanding_world(rng: random.Random) -> Case:
    features = ["RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport"]
    nodes = []
    for number in range(rng.randint(1, 2)):
        one = node(f"n{number}")
        one["status"]["declaredFeatures"] = sorted(rng.sample(features, rng.randint(0, 2)))
        nodes.append(one)
    spec: dict[str, Any] = {}
    if rng.random() < 0.8:
        action = rng.choice(["Restart", "RestartAllContainers", "RestartAllContainers"])
        rules = [{"action": action, "exitCodes": {"operator": "In", "values": [42]}}]
        spec["containers"] = [container(restartPolicy="Never", restartPolicyRules=rules)]
    return Case(nodes, [], pod("pod", **spec))
