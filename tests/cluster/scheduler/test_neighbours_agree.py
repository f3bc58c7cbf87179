"""kube-scheduler and Grove's rules say the same of pods that want others near them, or far, or evenly spread."""

from __future__ import annotations

from random import Random

from tests.cluster.scheduler.judge import Case, Judge
from tests.model import neighbours
from tests.model.neighbours import JSON, SPACES

KEY = "example.com/key"


def test_pods_are_spread_as_kubernetes_spreads_them(judge: Judge) -> None:
    verdicts = judge.agrees("spread", [case(Random(number), spreads=True) for number in range(400)])
    assert 80 < sum(bool(one.node) for one in verdicts) < len(verdicts) - 80


def test_pods_are_near_those_that_they_want_near_them_and_far_from_others(judge: Judge) -> None:
    verdicts = judge.agrees("near", [case(Random(number), spreads=False) for number in range(400)])
    assert 80 < sum(bool(one.node) for one in verdicts) < len(verdicts) - 80


def test_pods_make_way_for_those_that_are_nominated(judge: Judge) -> None:
    """In domains of one node each: kube-scheduler heeds only those that are nominated for the node that it looks at."""
    verdicts = judge.agrees("nominated", [nominating(Random(number)) for number in range(320)])
    assert 80 < sum(bool(one.node) for one in verdicts) < len(verdicts) - 40


def case(random: Random, *, spreads: bool) -> Case:
    """A world, and one or a few pods of one kind that come to it one after the other."""
    nodes = neighbours.nodes(random)
    existing = [_existing(random, number, nodes, spreads=spreads) for number in range(random.randint(0, 14))]
    asked = neighbours.pod(random, "asked-0", likely=0.6)
    if spreads:
        asked = neighbours.spreads(random, asked)
    if random.random() < 0.6:
        _only(asked, random.choice(nodes))
    then = [_named(asked, f"asked-{number}") for number in range(1, random.choice([1, 1, 4]))]
    objects = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}
        for name, labels in SPACES.items()
        if name != "$"
    ]
    return Case(nodes=nodes, existing=existing, pod=asked, objects=objects, then=then)


def nominating(random: Random) -> Case:
    """A world where some pods wait at a gate, with a node that is kept for them."""
    found = case(random, spreads=random.random() < 0.5)
    existing = [*found.existing]
    for number in range(random.randint(1, 5)):
        one = neighbours.pod(random, f"coming-{number}", likely=0.2)
        one["spec"]["schedulingGates"] = [{"name": "grove.test/gate"}]
        one["spec"]["containers"][0]["resources"] = {"requests": {"cpu": random.choice(["1", "5"])}}
        one["status"] = {"nominatedNodeName": random.choice(found.nodes)["metadata"]["name"]}
        existing.append(one)
    for one in (*existing, found.pod):
        _by_host(one["spec"])
    requests = found.pod["spec"]["containers"][0].setdefault("resources", {}).setdefault("requests", {})
    requests["cpu"] = random.choice(["1", "4"])
    return Case(nodes=found.nodes, existing=existing, pod=found.pod, objects=found.objects)


def _by_host(spec: JSON) -> None:
    for side in ("podAffinity", "podAntiAffinity"):
        for one in spec.get("affinity", {}).get(side, {}).get(neighbours.REQUIRED, ()):
            one["topologyKey"] = neighbours.HOST
    constraints = spec.get("topologySpreadConstraints", ())
    for one in constraints:
        one["topologyKey"] = neighbours.HOST
        if one.get("labelSelector") == {}:  # such count those that are nominated, and nobody else
            one["labelSelector"] = {"matchLabels": {"app": "a"}}
    if constraints:
        spec["topologySpreadConstraints"] = constraints[:1]


def _existing(random: Random, number: int, nodes: list[JSON], *, spreads: bool) -> JSON:
    space = "$" if spreads and random.random() < 0.7 else random.choice(sorted(SPACES))
    likely = 0.05 if spreads else 0.25
    return neighbours.pod(random, f"other-{number}", on=nodes, space=space, likely=likely)


def _only(asked: JSON, node: JSON) -> None:
    """Leaves one node by what it has, which nothing about neighbours reads: so the answer is about that node."""
    for amounts in (node["status"]["allocatable"], node["status"]["capacity"]):
        amounts[KEY] = "10"
    asked["spec"]["containers"][0]["resources"] = {"limits": {KEY: "1"}}


def _named(asked: JSON, name: str) -> JSON:
    return {**asked, "metadata": {**asked["metadata"], "name": name}}
