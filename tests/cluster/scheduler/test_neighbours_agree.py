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
