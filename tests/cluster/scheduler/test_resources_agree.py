"""Whether a pod fits by its resources: as kube-scheduler says."""

import random

from tests.cluster.scheduler.judge import Case, Judge, container, node, pod

CASES = 300


def test_pods_fit_where_kubernetes_lets_them(judge: Judge) -> None:
    judge.agrees("resources", [case(random.Random(number)) for number in range(CASES)])


def case(rng: random.Random) -> Case:
    nodes = [node(f"n{i}", cpu=rng.choice(["1", "1500m", "2", "4"])) for i in range(rng.randint(1, 3))]
    existing = [
        pod(
            f"e{i}",
            on=f"n{rng.randrange(len(nodes))}",
            containers=[container(resources={"requests": {"cpu": rng.choice(["100m", "1", "2"])}})],
        )
        for i in range(rng.randint(0, 3))
    ]
    asked = pod("pod", containers=[container(resources={"requests": {"cpu": rng.choice(["0", "500m", "1", "2"])}})])
    return Case(nodes, existing, asked)
