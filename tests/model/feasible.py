"""Gangs that have a place, because the place was there first: tight ones, in which first choices are often wrong."""

from __future__ import annotations

import random

from grove.scheduler.cluster import Cluster
from grove.scheduler.gangs import Gang, Group, Pack, Scope
from grove.scheduler.predicates.affinity import InterPodAffinity
from grove.scheduler.predicates.crowds import Crowds
from grove.scheduler.surroundings import Surroundings
from tests.unit.scheduler.fleets import BLOCK, GPU, HOST, KEYS, RACK, ZONE, gang, group, node, pending, pod, spec


def _scope(cluster: Cluster, name: str, count: int, gpus: int, *, required: str = RACK) -> Scope:
    return Scope(name, Pack(required), KEYS, (), (group(cluster, f"{name}-pods", count, spec(gpus=gpus)),))


def siblings(dice: random.Random, racks: int, largest: int, fill: float) -> tuple[Cluster, Gang]:
    """Scopes of different sizes, each in one rack of 18 nodes less what others have taken."""
    cluster = Cluster()
    scopes: list[Scope] = []
    sizes: list[int] = []
    for rack in range(racks):
        room = dice.randint(6, 18)
        for at in range(room):
            labels = {ZONE: "z", BLOCK: "b", RACK: f"r{rack:02}"}
            cluster.node(node(f"n{rack:02}-{at:02}", labels))
        left = round(room * fill)
        while left:
            size = min(left, dice.randint(1, largest))
            sizes.append(size)
            left -= size
    dice.shuffle(sizes)
    for number, size in enumerate(sizes):
        scopes.append(_scope(cluster, f"s{number:02}", size, 8))
    return cluster, gang(scopes=scopes, required=BLOCK, name="siblings")


def unlike(dice: random.Random) -> tuple[Cluster, Gang]:
    """Pods of up to eight classes that fill a rack of up to 18 nodes in two or three resources."""
    cluster = Cluster()
    nodes = dice.randint(4, 18)
    resources = ["cpu", GPU, "vendor.com/nic"][: dice.randint(2, 3)]
    kinds = [{name: dice.randint(1, 12) for name in resources} for _ in range(dice.randint(3, 8))]
    counts = [0] * len(kinds)
    for at in range(nodes):
        left = dict.fromkeys(resources, 32)
        while True:
            fits = [n for n, kind in enumerate(kinds) if all(kind[name] <= left[name] for name in resources)]
            if not fits:
                break
            chosen = dice.choice(fits)
            counts[chosen] += 1
            for name in resources:
                left[name] -= kinds[chosen][name]
        have = {name: 32 - left[name] if dice.random() < 0.1 else 32 for name in resources}
        more = {"vendor.com/nic": have["vendor.com/nic"]} if "vendor.com/nic" in have else {}
        labels = {ZONE: "z", BLOCK: "b", RACK: "r"}
        cluster.node(node(f"n{at:02}", labels, cpu=str(have["cpu"]), gpus=have[GPU], **more))
    groups: list[Group] = []
    for number, (kind, count) in enumerate(zip(kinds, counts, strict=True)):
        requests = {name: str(amount) if name == "cpu" else amount for name, amount in kind.items()}
        containers = [{"name": "c", "resources": {"requests": requests}}]
        if count:
            groups.append(group(cluster, f"g{number}", count, spec(containers=containers)))
    return cluster, gang(*groups, required=RACK, name="unlike")


def three_levels(dice: random.Random) -> tuple[Cluster, Gang]:
    """Parts of a gang in blocks, parts of these in racks, and groups in these on single nodes."""
    cluster = Cluster()
    parts: list[Scope] = []
    number = 0
    for block in range(dice.randint(2, 4)):
        inner: list[Scope] = []
        for rack in range(dice.randint(2, 4)):
            groups: list[Scope] = []
            for at in range(dice.randint(2, 4)):
                labels = {ZONE: "z", BLOCK: f"b{block}", RACK: f"r{rack}"}
                name = f"n{block}{rack}{at}"
                gpus = dice.randint(2, 8)
                cluster.node(node(name, labels, gpus=gpus))
                if dice.random() < 0.1:
                    continue
                left = gpus
                while left > 0 and (left == gpus or dice.random() < 0.6):
                    count = dice.randint(1, left)
                    left -= count
                    number += 1
                    groups.append(_scope(cluster, f"h{number:02}", count, 1, required=HOST))
            while groups:
                taken = dice.randint(1, len(groups))
                number += 1
                inner.append(Scope(f"r{number:02}", Pack(RACK), KEYS, tuple(groups[:taken]), ()))
                groups = groups[taken:]
        dice.shuffle(inner)
        while inner:
            taken = dice.randint(1, len(inner))
            number += 1
            parts.append(Scope(f"b{number:02}", Pack(BLOCK), KEYS, tuple(inner[:taken]), ()))
            inner = inner[taken:]
    dice.shuffle(parts)
    return cluster, gang(scopes=parts, required=ZONE, name="levels")


def aloof(dice: random.Random) -> tuple[Cluster, Gang]:
    """Groups that keep away from themselves and from each other, on nodes and in racks, with hardly any room left."""
    cluster = Cluster()
    surroundings = Surroundings()
    crowds = Crowds(cluster, surroundings)
    cluster.obey([crowds, InterPodAffinity(cluster, crowds)])
    cluster.classes.speak_of(["app"])
    racks, wide = dice.randint(3, 6), dice.randint(1, 3)
    places = [(rack, at) for rack in range(racks) for at in range(wide)]
    used = dict.fromkeys(places, 0)
    apps = [f"a{number}" for number in range(dice.randint(2, 5))]
    avoids: dict[str, tuple[str, set[str]]] = {}
    who: dict[tuple[int, int], list[str]] = {place: [] for place in places}
    made: list[tuple[str, int, int]] = []
    for app in apps:
        key = dice.choice((RACK, HOST))
        avoids[app] = key, {app, *(dice.sample(apps, 1) if dice.random() < 0.5 else [])}
        cpu = dice.randint(1, 6)
        order = [*places]
        dice.shuffle(order)
        wanted = dice.randint(1, racks if key == RACK else len(places))
        count = 0
        for place in order:
            if count < wanted and not any(
                _clash(avoids, app, place, other, there) for there in places for other in who[there]
            ):
                who[place].append(app)
                used[place] += cpu
                count += 1
        if count:
            made.append((app, cpu, count))
    for (rack, at), cpu in used.items():
        labels = {ZONE: "z", BLOCK: "b", RACK: f"r{rack}"}
        cluster.node(node(f"n{rack}{at}", labels, cpu=str(cpu + dice.randint(0, 1))))
    groups = []
    for app, cpu, count in made:
        key, shunned = avoids[app]
        selector = {"matchExpressions": [{"key": "app", "operator": "In", "values": sorted(shunned)}]}
        term = {"topologyKey": key, "labelSelector": selector}
        affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
        pods = [
            pending(cluster, pod(f"{app}-{index}", spec(cpu=str(cpu), affinity=affinity), labels={"app": app}))
            for index in range(count)
        ]
        groups.append(Group(app, count, (), tuple(pods)))
    return cluster, gang(*groups, required=ZONE, name="aloof")


def _clash(
    avoids: dict[str, tuple[str, set[str]]], one: str, here: tuple[int, int], other: str, there: tuple[int, int]
) -> bool:
    """Whether either of two keeps away from the other."""
    for first, second in ((one, other), (other, one)):
        key, shunned = avoids[first]
        if second in shunned and (here[0] == there[0] if key == RACK else here == there):
            return True
    return False
