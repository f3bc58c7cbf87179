"""Whether a pod fits by what it asks for and others use: as kube-scheduler says."""

import random
from typing import Any

from tests.cluster.scheduler.judge import JSON, Case, Judge, container, node, pod

CASES = 400
GPU, DISK, PAGES = "example.com/gpu", "ephemeral-storage", "hugepages-2Mi"

AMOUNTS = {
    "cpu": ("0", "1m", "300m", "500m", "1", "1500m", "2", "3"),
    "memory": ("0", "1", "512Mi", "1Gi", "1536Mi", "2G", "3Gi"),
    DISK: ("1Gi", "2Gi"),
    GPU: ("0", "1", "2"),
    PAGES: ("2Mi", "4Mi"),
}
OVERHEAD = {"cpu": "250m", "memory": "120Mi"}
A_RUNTIME_CLASS = [
    {
        "apiVersion": "node.k8s.io/v1",
        "kind": "RuntimeClass",
        "metadata": {"name": "$"},
        "handler": "h",
        "overhead": {"podFixed": OVERHEAD},
    }
]


def test_pods_fit_where_kubernetes_lets_them(judge: Judge) -> None:
    judge.agrees("resources", [a_world(random.Random(number)) for number in range(CASES)])


def test_pods_fit_at_their_hungriest_moment(judge: Judge) -> None:
    judge.agrees("moments", [a_world_with_moments(random.Random(number)) for number in range(CASES)])


def test_resized_pods_use_what_kubernetes_counts(judge: Judge) -> None:
    judge.agrees("resized", [a_world_of_resized_pods(random.Random(number)) for number in range(CASES)])


def test_nodes_take_as_many_pods_one_after_the_other(judge: Judge) -> None:
    judge.agrees("filled", [a_world_to_fill(random.Random(number)) for number in range(300)])


def a_world(rng: random.Random) -> Case:
    nodes = [a_node(rng, f"n{number}") for number in range(rng.randint(1, 3))]
    existing = [
        a_pod(rng, f"e{number}", on=f"n{rng.randrange(len(nodes))}", phase=rng.choice(["Running", "Succeeded"]))
        for number in range(rng.randint(0, 4))
    ]
    for one in existing:
        if rng.random() < 0.1:
            one["metadata"]["deletionTimestamp"] = ""
    return Case(nodes, existing, a_pod(rng, "pod"), A_RUNTIME_CLASS)


def a_world_with_moments(rng: random.Random) -> Case:
    """Init containers, sidecars, overhead and whole pods, on nodes where the last half of a CPU decides."""
    nodes = [node("n", cpu=rng.choice(["2", "2500m", "3", "3500m", "4", "4500m", "5", "5500m", "6"]))]
    existing = [a_pod_with_moments(rng, "e", on="n")] if rng.random() < 0.4 else []
    return Case(nodes, existing, a_pod_with_moments(rng, "pod"), A_RUNTIME_CLASS)


def a_pod_with_moments(rng: random.Random, name: str, *, on: str = "") -> JSON:
    def asking(letter: str, **more: str) -> JSON:
        cpu = rng.choice(["0", "500m", "1", "1500m", "2"])
        return container(letter, resources={"requests": {"cpu": cpu}}, **more)

    sidecar = {"restartPolicy": "Always"}
    init = [asking(f"i{number}", **rng.choice([sidecar, {}])) for number in range(rng.randint(0, 4))]
    spec: dict[str, Any] = {"initContainers": init, "containers": [asking("c")]}
    if rng.random() < 0.2:
        spec["resources"] = {"requests": {"cpu": rng.choice(["6", "6500m"])}}
        spec["initContainers"] = init[:1]
    if rng.random() < 0.4:
        spec["overhead"], spec["runtimeClassName"] = OVERHEAD, "$"
    return pod(name, on=on, **spec)


def a_world_of_resized_pods(rng: random.Random) -> Case:
    nodes = [node("n", cpu="4", memory="4Gi", pods="4")]
    existing = [resized(rng, f"e{number}") for number in range(rng.randint(1, 2))]
    return Case(nodes, existing, pod("pod", containers=[container(resources=requirements(rng, ("cpu", "memory")))]))


def a_world_to_fill(rng: random.Random) -> Case:
    nodes = [a_node(rng, f"n{number}") for number in range(rng.randint(1, 2))]
    pods = [a_pod(rng, f"p{number}") for number in range(4)]
    return Case(nodes, [], pods[0], A_RUNTIME_CLASS, then=pods[1:])


def a_node(rng: random.Random, name: str) -> JSON:
    more: dict[str, Any] = {}
    if rng.random() < 0.6:
        more[GPU] = rng.choice(["0", "1", "4"])
    if rng.random() < 0.6:
        more[PAGES] = rng.choice(["0", "4Mi", "8Mi"])
    if rng.random() < 0.8:
        more[DISK] = rng.choice(["2Gi", "10Gi"])
    return node(
        name,
        cpu=rng.choice(["0", "999m", "2", "3500m", "6"]),
        memory=rng.choice(["1Gi", "3Gi", "7Gi"]),
        pods=rng.choice(["0", "1", "3", "10", "10"]),
        **more,
    )


def a_pod(rng: random.Random, name: str, *, on: str = "", phase: str = "") -> JSON:
    spec: dict[str, Any] = {
        "containers": [
            container(f"c{number}", resources=requirements(rng, tuple(AMOUNTS))) for number in range(rng.randint(1, 2))
        ]
    }
    if rng.random() < 0.5:
        spec["initContainers"] = [an_init_container(rng, number) for number in range(rng.randint(1, 3))]
    if rng.random() < 0.25:
        whole = whole_requests(rng)
        spec["containers"] = [container("c", resources={"limits": {"memory": "1Mi", "cpu": "1m"}})]
        spec.pop("initContainers", None)
        spec["resources"] = whole
    if rng.random() < 0.15:
        spec["overhead"] = OVERHEAD
        spec["runtimeClassName"] = "$"
    found = pod(name, on=on, **spec)
    if phase:
        found["status"] = {"phase": phase}
    return found


def an_init_container(rng: random.Random, number: int) -> JSON:
    sidecar = {"restartPolicy": "Always"} if rng.random() < 0.5 else {}
    return container(f"i{number}", resources=requirements(rng, tuple(AMOUNTS)), **sidecar)


def requirements(rng: random.Random, names: tuple[str, ...]) -> JSON:
    """As the API server lets them be: no more asked for than the limit, and of some kinds exactly that."""
    requests: dict[str, str] = {}
    limits: dict[str, str] = {}
    for name in names:
        if rng.random() < 0.55:
            continue
        amount = rng.choice(AMOUNTS[name])
        if name in (GPU, PAGES):
            requests[name] = limits[name] = amount
        elif rng.random() < 0.3:
            limits[name] = amount  # the request is filled in
        else:
            requests[name] = amount
    if PAGES in requests and not {"cpu", "memory"} & (requests.keys() | limits.keys()):
        requests["cpu"] = "1m"
    return {"requests": requests, "limits": limits}


def whole_requests(rng: random.Random) -> JSON:
    requests = {"cpu": rng.choice(["100m", "1", "2"]), "memory": rng.choice(["64Mi", "1Gi", "2Gi"])}
    if rng.random() < 0.3:
        return {"limits": requests}
    if rng.random() < 0.5:
        requests.pop(rng.choice(["cpu", "memory"]))
    return {"requests": requests}


def resized(rng: random.Random, name: str) -> JSON:
    """A pod whose node has granted, and given it, something else than it asks for."""
    names = ("cpu", "memory")
    init = [container("s", resources=requirements(rng, names), restartPolicy="Always")] if rng.random() < 0.4 else []
    init += [container("i", resources=requirements(rng, names))] if rng.random() < 0.3 else []
    containers = [
        container("a", resources=requirements(rng, names)),
        container("b", resources=requirements(rng, names)),
    ]
    found = pod(name, on="n", containers=containers, initContainers=init)
    status: JSON = {
        "phase": "Running",
        "containerStatuses": [granted(rng, one) for one in containers if rng.random() < 0.8],
        "initContainerStatuses": [granted(rng, one) for one in init if rng.random() < 0.8],
    }
    if rng.random() < 0.4:
        reason = rng.choice(["Infeasible", "Deferred"])
        status["conditions"] = [{"type": "PodResizePending", "status": "True", "reason": reason}]
    if rng.random() < 0.4:
        found["spec"]["resources"] = {"requests": {one: rng.choice(AMOUNTS[one][2:]) for one in names}}
        for one in (*containers, *init):
            one["resources"] = {}
        if rng.random() < 0.8:
            status["resources"] = {"requests": {one: rng.choice(AMOUNTS[one]) for one in names}}
            status["allocatedResources"] = {one: rng.choice(AMOUNTS[one]) for one in names}
    found["status"] = status
    return found


def granted(rng: random.Random, one: JSON) -> JSON:
    status: JSON = {"name": one["name"], "image": "i", "imageID": "", "ready": True, "restartCount": 0}
    names = ("cpu", "memory")
    if rng.random() < 0.8:
        status["resources"] = {"requests": {name: rng.choice(AMOUNTS[name]) for name in names if rng.random() < 0.8}}
    if rng.random() < 0.6:
        status["allocatedResources"] = {name: rng.choice(AMOUNTS[name]) for name in names if rng.random() < 0.8}
    return status
