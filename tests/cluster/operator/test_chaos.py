"""The operator is killed at any point, and its API server fails: it always comes to the same end, and on the way no
gang loses more than it may.

Twenty sets are made, scaled, updated, updated again in the middle of the update, and deleted: once in calm weather, and
then in storms, by seed. An observer writes down every state of every pod, and each instant is judged.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from grove.api import labels
from grove.testing.controlplane import ControlPlane
from grove.testing.waiting import eventually
from tests.cluster.nodes.fleet import Fleet
from tests.cluster.objects import MERGE
from tests.cluster.operator.judging import History, Rule, no_index_twice, within_budget
from tests.cluster.operator.observer import Observer
from tests.cluster.operator.operator import Operator
from tests.cluster.operator.portrait import differences, portrait
from tests.cluster.operator.recount import ORDER, Recount
from tests.cluster.operator.storm import Storm, Survivor
from tests.cluster.operator.wishes import Clique, Group, Wish
from tests.cluster.operator.workloads import GROVE, Workloads, label

JSON = dict[str, Any]

SETS = 20
SEEDS = (1, 2)
KILLS = 6
"""In each act."""
PATIENCE = 60.0
"""For an operator that is killed over and over and waits out its back-off, on a busy machine."""

WEBHOOKS = "/apis/admissionregistration.k8s.io/v1"


@pytest.fixture(scope="module")
def alone(cluster: ControlPlane, operator: Operator, fleet: Fleet) -> Iterator[None]:
    """No other operator runs, and nobody waits for its webhooks."""
    operator.kill()
    for kind in ("validatingwebhookconfigurations", "mutatingwebhookconfigurations"):
        cluster.request("DELETE", f"{WEBHOOKS}/{kind}")
    yield
    operator.started()


def wishes() -> list[Wish]:
    """Twenty sets of five shapes."""
    made = []
    for number in range(SETS):
        name = f"set-{number:02}"
        router, leader, worker = Clique("router", 2, 1), Clique("leader", 1, 1), Clique("worker", 2, 2)
        model = Group("model", ["leader", "worker"], 2, 1)
        match number % 5:
            case 0:
                router.most = model.most = 6
                made.append(Wish(name, [router, leader, worker], [model]))
            case 1:
                made.append(Wish(name, [Clique("plain", 3, 2)], replicas=2))
            case 2:
                made.append(Wish(name, [leader, worker], [Group("model", ["leader", "worker"], 3, 2, budget=2)]))
            case 3:
                made.append(Wish(name, [Clique("store", 1, 1), router, leader, worker], [model], in_order=True))
            case _:
                made.append(Wish(name, [Clique("plain", 4, 1, budget=2)], on_delete=number % 2 == 0))
    return made


@dataclass
class Story:
    """The life of the sets of one namespace, and what was seen of it."""

    cluster: ControlPlane
    namespace: str
    wishes: list[Wish]
    begin: Callable[[], None]
    """Called before each act."""
    tend: Callable[[], None]
    """Called while something is waited for."""
    observer: Observer
    spared: frozenset[str] = frozenset()

    def apply(self) -> None:
        Workloads(self.cluster, self.namespace).apply(*(wish.manifest() for wish in self.wishes))

    def look(self, kind: str) -> list[JSON]:
        return Workloads(self.cluster, self.namespace).all(kind)

    def settled(self) -> dict[str, list[str]]:
        """Waits until everything is as it is wished; what it looks like then."""

        def missing() -> list[str]:
            self.tend()
            return Recount(self.wishes, self.look, self.spared).first()[:20]

        eventually(missing, lambda found: not found, timeout=PATIENCE, message="it does not settle")
        # These may stay as they are when the template changes.
        patient = {wish.name for wish in self.wishes if wish.on_delete}
        pods = self.look("pods")
        self.spared = frozenset(one["metadata"]["uid"] for one in pods if label(one, labels.PART_OF) in patient)
        return portrait({kind: self.look(kind) for kind in ORDER}, self.namespace)

    def has_new_pods(self, image: str) -> bool:
        self.tend()
        return any(one["spec"]["containers"][0]["image"] == image for one in self.look("pods"))

    # Acts

    def create(self) -> None:
        self.apply()

    def scale(self) -> None:
        """Everything that can be scaled, by chance, at all three levels."""
        rng = random.Random(7)
        for wish in self.wishes:
            names = [one for one in wish.counts if rng.random() < 0.4]
            if rng.random() < 0.5:
                wish.scale_set(rng.randint(1, 2))
                self._scale("podcliquesets", wish.name, wish.replicas)
            for name in names:
                if name not in wish.counts:
                    continue  # gone with the replica or copy that it was in
                kind, least = self._scalable(wish, name)
                replicas = rng.randint(least, least + 2)
                wish.scale(name, replicas)
                self._scale(kind, name, replicas)

    def update(self) -> None:
        self._edit("main:v2")
        self.apply()

    def update_twice(self) -> None:
        """The second time in the middle of the first."""
        self._edit("main:v3")
        self.apply()
        eventually(lambda: self.has_new_pods("main:v3"), timeout=PATIENCE)
        self._edit("main:v4")
        self.apply()

    def delete(self) -> None:
        self.cluster.request("DELETE", f"{GROVE}/namespaces/{self.namespace}/podcliquesets")
        self.wishes.clear()

    def _edit(self, image: str) -> None:
        for wish in self.wishes:
            for one in wish.cliques:
                wish.edit_image(one.name, image)

    def _scalable(self, wish: Wish, name: str) -> tuple[str, int]:
        place = next((place for place in wish.places() if place.name == name), None)
        if place is not None:
            return "podcliques", wish.clique(place.clique).least
        group = next(one for one in wish.groups if name.endswith(f"-{one.name}"))
        return "podcliquescalinggroups", group.least

    def _scale(self, kind: str, name: str, replicas: int) -> None:
        path = f"{GROVE}/namespaces/{self.namespace}/{kind}/{name}/scale"
        change = {"spec": {"replicas": replicas}}

        def scaled() -> bool:
            self.tend()
            return self.cluster.request("PATCH", path, change, content_type=MERGE)[0] == 200

        eventually(scaled, timeout=PATIENCE, message=f"{kind}/{name} cannot be scaled")  # it may not be there yet


ACTS = ("create", "scale", "update", "update_twice", "delete")


def sizes(wishes: list[Wish]) -> Counter[str]:
    return Counter({place.name: wish.pods(place.name) for wish in wishes for place in wish.places()})


def turnover(before: Counter[str], after: Counter[str], renewed: set[str]) -> tuple[Counter[str], Counter[str]]:
    """How many pods of each PodClique are made and asked to go, if not one more than necessary is."""
    names = before.keys() | after.keys()
    made = {name: after[name] if name in renewed else max(0, after[name] - before[name]) for name in names}
    gone = {name: before[name] if name in renewed else max(0, before[name] - after[name]) for name in names}
    return +Counter(made), +Counter(gone)


def played(story: Story) -> dict[str, dict[str, list[str]]]:
    """Plays all acts, judges each when it has settled, and gives what it looked like then."""
    portraits = {}
    for act in ACTS:
        since = story.observer.caught_up()
        before, sets = Counter() if act == "create" else sizes(story.wishes), list(story.wishes)
        story.begin()
        getattr(story, act)()
        portraits[act] = story.settled()
        story.observer.caught_up()
        history = story.observer.history(since)
        rules: list[Rule] = [no_index_twice]
        if act.startswith("update"):
            rules.append(within_budget({wish.name: wish for wish in sets}))
        assert history.broken(*rules)[:20] == [], act
        if act != "update_twice":
            renewed = {place.name for wish in sets if not wish.on_delete for place in wish.places()}
            judge_turnover(history, turnover(before, sizes(story.wishes), renewed if act == "update" else set()), act)
    return portraits


def judge_turnover(history: History, expected: tuple[Counter[str], Counter[str]], act: str) -> None:
    made, gone = history.made(), history.asked_to_go()
    for what, pods, due in (("made", made, expected[0]), ("asked to go", gone, expected[1])):
        found = Counter(pod.clique for pod in pods)
        wrong = {name: (found[name], due[name]) for name in found | due if found[name] != due[name]}
        assert wrong == {}, f"pods {what} during {act}, and how many had to be"


@pytest.fixture(scope="module")
def calm(
    cluster: ControlPlane, kubeconfig: Path, alone: None, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, dict[str, list[str]]]:
    """What it looks like after each act when nothing goes wrong."""
    namespace = cluster.create_namespace("calm")
    operator = Operator(kubeconfig, tmp_path_factory.mktemp("calm"), webhooks="none").started()
    try:
        with Observer(cluster, namespace) as observer:
            return played(Story(cluster, namespace, wishes(), lambda: None, lambda: None, observer))
    finally:
        operator.kill()
        cluster.delete_namespace(namespace)


@pytest.mark.parametrize("seed", SEEDS)
def test_in_storms_it_comes_to_the_same_end(
    cluster: ControlPlane,
    kubeconfig: Path,
    calm: dict[str, dict[str, list[str]]],
    namespace: str,
    tmp_path: Path,
    seed: int,
) -> None:
    with Storm(cluster, seed) as storm, Observer(cluster, namespace) as observer:
        operator = Operator(storm.kubeconfig(tmp_path), tmp_path, webhooks="none")
        survivor = Survivor(operator, storm)
        survivor.start()
        try:
            story = Story(cluster, namespace, wishes(), lambda: storm.rage(KILLS), survivor.tend, observer)
            portraits = played(story)
        finally:
            operator.kill()
    assert survivor.odd_ends == []
    assert storm.kills > len(ACTS)
    assert storm.faults > 100
    unlike = {act: differences(calm[act], portraits[act]) for act in ACTS}
    assert {act: found for act, found in unlike.items() if found} == {}
