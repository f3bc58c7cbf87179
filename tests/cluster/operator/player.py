"""A user who does things at random, by a seed, and remembers what he is entitled to.

What he does is drawn from his own wishes alone, never from what the cluster happens to look like, so that a seed plays
the same game every time. Pods are chosen by their PodClique and the rank of their index.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.cluster.nodes.fleet import Fleet
from tests.cluster.operator.wishes import Clique, Group, Place, Wish
from tests.cluster.operator.workloads import CLIQUES, GANGS, GROUPS, PODS, SETS, Workloads, label, name_of

JSON = dict[str, Any]

REPLACEMENTS = "grove.io/replacements"
LABELS = ("grove.io/podgang", "grove.io/role", "grove.io/podcliqueset-replica-index", "app.kubernetes.io/part-of")
"""What somebody may take away from a PodClique by mistake."""


@dataclass(frozen=True)
class Turn:
    """What was done, and whose pods it may have changed beyond their number."""

    text: str
    disturbed: frozenset[str] = frozenset()
    """PodCliques."""


def beginning(rng: random.Random) -> list[Wish]:
    """A set that follows its template by itself, and one that waits until its pods are deleted."""
    least = rng.randint(1, 2)
    serving = Wish(
        "serving",
        [Clique("router", 2, 1, most=6), Clique("leader", 1, 1), Clique("worker", 2, rng.randint(1, 2))],
        [Group("model", ["leader", "worker"], 2, least, most=6)],
        in_order=rng.random() < 0.5,
    )
    patient = Wish("patient", [Clique("store", 1, 1), Clique("shard", 3, 2)], [], rng.randint(1, 2), on_delete=True)
    return [serving, patient]


class Player:
    """See the top of the module. Each act does something, and takes it into account."""

    def __init__(self, rng: random.Random, workloads: Workloads, fleet: Fleet) -> None:
        self.wishes = beginning(rng)
        self._rng = rng
        self._workloads = workloads
        self._fleet = fleet
        self._images = 1
        self._acts: dict[Callable[[], Turn], int] = {
            self.scale_set: 2,
            self.scale_group: 3,
            self.scale_clique: 3,
            self.edit_image: 3,
            self.edit_image_twice: 1,
            self.edit_replicas: 3,
            self.lose_pods: 3,
            self.fail_pod: 1,
            self.delete_child: 2,
            self.strip_label: 1,
            self.fail_node: 1,
            self.delete_set: 1,
        }

    def begin(self) -> Turn:
        self._workloads.apply(*(wish.manifest() for wish in self.wishes))
        return Turn("applied everything")

    def play(self) -> Turn:
        """Does something. A set that was deleted is made again with the next turn."""
        if len(self.wishes) < 2:
            missing = next(wish for wish in beginning(self._rng) if wish.name not in [one.name for one in self.wishes])
            self.wishes.append(missing)
            self._workloads.apply(missing.manifest())
            return Turn(f"applied {missing.name}")
        return self._rng.choices(list(self._acts), list(self._acts.values()))[0]()

    # Scaling

    def scale_set(self) -> Turn:
        wish, replicas = self._rng.choice(self.wishes), self._rng.randint(0, 2)
        wish.scale_set(replicas)
        return self._scale(SETS, wish.name, replicas)

    def scale_group(self) -> Turn:
        wish = self.wishes[0] if self.wishes[0].groups else self.wishes[1]
        names = [(wish.group_name(i, one.name), one.least) for i in range(wish.replicas) for one in wish.groups]
        if not names:
            return self.scale_set()
        name, least = self._rng.choice(names)
        replicas = self._rng.choice((0, least, least + 1, least + 2))
        wish.scale(name, replicas)
        return self._scale(GROUPS, name, replicas)

    def scale_clique(self) -> Turn:
        if (found := self._place()) is None:
            return self.scale_set()
        wish, place = found
        least = wish.clique(place.clique).least
        replicas = self._rng.choice((0, least, least + 1, least + 2))
        wish.scale(place.name, replicas)
        return self._scale(CLIQUES, place.name, replicas)

    def _scale(self, kind: str, name: str, replicas: int) -> Turn:
        self._workloads.scale(kind, name, replicas)
        return Turn(f"scaled {kind}/{name} to {replicas}")

    # The template

    def edit_image(self) -> Turn:
        wish = self._rng.choice(self.wishes)
        return self._edit_image(wish, self._rng.choice(wish.cliques).name)

    def edit_image_twice(self) -> Turn:
        """Not the same clique both times, perhaps; the second change comes in the middle of the first one's update."""
        wish = self._rng.choice(self.wishes)
        first = self._edit_image(wish, self._rng.choice(wish.cliques).name)
        second = self._edit_image(wish, self._rng.choice(wish.cliques).name)
        return Turn(f"{first.text}, {second.text}", first.disturbed | second.disturbed)

    def _edit_image(self, wish: Wish, clique: str) -> Turn:
        self._images += 1
        image = f"main:v{self._images}"
        group = wish.group_of(clique)
        touched = () if wish.on_delete else group.cliques if group else (clique,)
        disturbed = frozenset(place.name for place in wish.places() if place.clique in touched)
        wish.edit_image(clique, image)
        self._workloads.apply(wish.manifest())
        return Turn(f"gave {wish.name}/{clique} the image {image}", disturbed)

    def edit_replicas(self) -> Turn:
        wish = self._rng.choice(self.wishes)
        parts: list[Clique | Group] = [*wish.cliques, *wish.groups]
        part = self._rng.choice(parts)
        replicas = part.least + self._rng.randint(0, 2)
        wish.edit_replicas(part.name, replicas)
        self._workloads.apply(wish.manifest())
        return Turn(f"gave {wish.name}/{part.name} {replicas} replicas")

    # Trouble

    def lose_pods(self) -> Turn:
        """Deleted or evicted."""
        if (found := self._place()) is None:
            return self.scale_set()
        _, place = found
        ranks = sorted({self._rng.randrange(10) for _ in range(2)})
        evicts = self._rng.random() < 0.5
        pods = self._pods(place.name)
        lost = [pods[rank] for rank in ranks if rank < len(pods)]
        for pod in lost:
            path = self._workloads.path(PODS, name_of(pod))
            if evicts:
                body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name_of(pod)}}
                status, answer = self._workloads.cluster.request("POST", f"{path}/eviction", body)
            else:
                status, answer = self._workloads.cluster.request("DELETE", path)
            assert status < 300, answer
        return Turn(f"{'evicted' if evicts else 'deleted'} {len(lost)} pods of {place.name}", frozenset({place.name}))

    def fail_pod(self) -> Turn:
        """As a kubelet does that has run out of something. Only pods that did not fail before: others must wait."""
        if (found := self._place()) is None:
            return self.scale_set()
        _, place = found
        pods = [one for one in self._pods(place.name) if REPLACEMENTS not in one["metadata"].get("annotations", ())]
        if not pods:
            return Turn(f"{place.name} has no pod that could fail")
        self._workloads.patch(PODS, name_of(pods[0]), {"status": {"phase": "Failed", "reason": "Evicted"}}, "status")
        return Turn(f"a pod of {place.name} failed", frozenset({place.name}))

    def fail_node(self) -> Turn:
        """Its power fails long enough to be noticed."""
        if (found := self._place()) is None:
            return self.scale_set()
        _, place = found
        pods = self._pods(place.name)
        if not pods:
            return Turn(f"{place.name} has no pod whose node could fail")
        node = pods[0]["spec"]["nodeName"]
        self._fleet.annotate(node, fail="dead")
        self._workloads.when(
            PODS,
            name_of(pods[0]),
            lambda pod: any(one["type"] == "Ready" and one["status"] == "False" for one in pod["status"]["conditions"]),
            "nobody notices that its node is dead",
        )
        self._fleet.annotate(node, fail=None)
        return Turn(f"the node of a pod of {place.name} was dead for a while")

    def delete_child(self) -> Turn:
        """What Grove made and somebody deletes is made anew, as the template says."""
        if (found := self._place()) is None:
            return self.scale_set()
        wish, place = found
        kind = self._rng.choice((CLIQUES, GANGS, "services", GROUPS, "horizontalpodautoscalers"))
        if kind == GROUPS and not place.group:
            kind = CLIQUES
        disturbed: set[str] = set()
        match kind:
            case "podcliques":
                name = place.name
                disturbed = {name}
                del wish.counts[name]
            case "podcliquescalinggroups":
                name = place.group
                disturbed = {one.name for one in wish.places() if one.group == name}
                for one in (name, *disturbed):
                    del wish.counts[one]
            case "podgangs":
                name = place.gang
            case "horizontalpodautoscalers" if wish.autoscalers():
                name = self._rng.choice(list(wish.autoscalers()))
            case _:
                kind, name = "services", f"{wish.name}-{place.replica}"
        wish.scale_set(wish.replicas)
        self._workloads.kubectl.run("delete", kind, name, "--wait=false")
        return Turn(f"deleted {kind}/{name}", frozenset(disturbed))

    def strip_label(self) -> Turn:
        if (found := self._place()) is None:
            return self.scale_set()
        _, place = found
        key = self._rng.choice(LABELS)
        self._workloads.patch(CLIQUES, place.name, {"metadata": {"labels": {key: None}}})
        return Turn(f"took the label {key} from {place.name}")

    def delete_set(self) -> Turn:
        wish = self._rng.choice(self.wishes)
        self.wishes.remove(wish)
        self._workloads.kubectl.run("delete", SETS, wish.name, "--wait=false")
        return Turn(f"deleted {wish.name}")

    # What there is to choose from

    def _place(self) -> tuple[Wish, Place] | None:
        """A PodClique; none if nothing is to run."""
        found = [(wish, place) for wish in self.wishes for place in wish.places()]
        return self._rng.choice(found) if found else None

    def _pods(self, clique: str) -> list[JSON]:
        """By their indices."""
        pods = [pod for pod in self._workloads.all(PODS) if label(pod, "grove.io/podclique") == clique]
        return sorted(pods, key=lambda pod: int(label(pod, "grove.io/podclique-pod-index")))
