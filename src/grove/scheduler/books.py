"""Which queue each gang is in, and what the gangs of a queue use and wait for. Called by the engine.

What is kept of a gang here follows it from its first pod to its last; sums over queues are `queues.py`'s. Where there
are no Queue objects nothing is kept; when the first one comes, all is counted once.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple, TypeAlias

from grove.api import labels
from grove.scheduler.cluster import Cluster, Placed
from grove.scheduler.gangs import Gang
from grove.scheduler.queues import Queues
from grove.scheduler.registry import Registry
from grove.scheduler.resources import Vector
from grove.scheduler.surroundings import Surroundings

Standing: TypeAlias = Literal["", "pending", "running"]


class _Account(NamedTuple):
    """What a gang counts for."""

    queue: str
    asked: Vector = ()
    """What its waiting pods ask for."""
    standing: Standing = ""


class Books:
    """See the top of the module."""

    def __init__(self, queues: Queues, cluster: Cluster, registry: Registry, surroundings: Surroundings) -> None:
        self._queues: Final = queues
        self._cluster: Final = cluster
        self._registry: Final = registry
        self._surroundings: Final = surroundings
        self._accounts: dict[str, _Account] = {}
        self._used: dict[str, tuple[str, Vector]] = {}
        """By uid of a pod on a node its queue and what it uses."""
        self._sum: dict[int, int] = {}
        """Of all of them."""
        self._open = False

    def queues_changed(self) -> None:
        """Queue objects came, changed or went."""
        if self._queues.is_flat == self._open:
            self._open = not self._open
            for key in [*self._accounts]:
                self._change(key, None)
            for pod in self._cluster.pods.values():
                self._count(pod, 1 if self._open else -1)

    def queue_of(self, key: str) -> str:
        """The queue that a gang names: by its own label, or that of its namespace; empty: none."""
        view = self._registry.gangs.get(key)
        if view is not None:
            found = view.metadata.labels
        else:
            pod = next(self._registry.members(key), None)
            found = None if pod is None else pod.metadata.labels
        namespace, _, _ = key.partition("/")
        around = self._surroundings.namespaces.get(namespace)
        return (found or {}).get(labels.QUEUE) or (around or {}).get(labels.QUEUE, "")

    def moved(self, pod: Placed, sign: int) -> None:
        """A pod came to a node (1) or left it (-1)."""
        if self._open:
            self._count(pod, sign)

    def _count(self, pod: Placed, sign: int) -> None:
        key = self._registry.gang_of(pod.uid) or pod.gang
        if sign > 0 and key:
            queue = self.queue_of(key)
            account = self._accounts.get(key)
            if account is not None and account.queue == queue and _covers(account.asked, pod.requests):
                self._queues.start(queue, pod.requests)
                self._accounts[key] = account._replace(asked=_less(account.asked, pod.requests))
            else:
                self._queues.use(queue, pod.requests, 1)
            self._used[pod.uid] = queue, pod.requests
            self._add(pod.requests, 1)
        elif sign < 0:
            used = self._used.pop(pod.uid, None)
            if used is not None:
                self._queues.use(*used, -1)
                self._add(used[1], -1)

    def moved_queue(self, key: str) -> None:
        """A gang may be in another queue than before."""
        if not self._open:
            return
        queue = self.queue_of(key)
        for pod in self._registry.members(key):
            uid = pod.metadata.uid or ""
            used = self._used.get(uid)
            if used is not None and used[0] != queue:
                self._queues.use(*used, -1)
                self._queues.use(queue, used[1], 1)
                self._used[uid] = queue, used[1]

    def waits(self, gang: Gang) -> None:
        """A gang waits for what its pods ask."""
        if not self._open:
            return
        total: dict[int, int] = {}
        for group in gang.groups():
            for pod in group.waiting:
                for row, amount in pod.cls.requests:
                    total[row] = total.get(row, 0) + amount
        asked = tuple(sorted(total.items()))
        standing: Standing = "running" if gang.is_placed else "pending"
        self._change(gang.key, _Account(gang.queue, asked, standing))

    def placed(self, key: str) -> None:
        """A gang has its place, and asks for nothing."""
        if not self._open:
            return
        account = self._accounts.get(key)
        self._change(key, _Account(account.queue if account else self.queue_of(key), (), "running"))

    def gone(self, key: str) -> None:
        """There is nothing of a gang any more."""
        self._change(key, None)

    def least(self, gang: Gang) -> Vector:
        """What a gang needs to start: its minimum, or one more pod where it runs."""
        total: dict[int, int] = {}
        for group in gang.groups():
            for pod in group.waiting[: group.missing]:
                for row, amount in pod.cls.requests:
                    total[row] = total.get(row, 0) + amount
        if not total:
            first = next((group.waiting[0] for group in gang.groups() if group.waiting), None)
            return () if first is None else first.cls.requests
        return tuple(sorted(total.items()))

    def measure(self) -> None:
        """Tells the queues what they share: what is free, and what their gangs use; where there are queues."""
        if not self._open:
            return
        totals = self._cluster.free.sum(axis=1).tolist()
        for row, amount in self._sum.items():
            totals[row] += amount
        self._queues.set_capacity(tuple((row, max(0, int(amount))) for row, amount in enumerate(totals)))

    def _add(self, amounts: Vector, sign: int) -> None:
        for row, amount in amounts:
            self._sum[row] = self._sum.get(row, 0) + sign * amount

    def _change(self, key: str, account: _Account | None) -> None:
        old = self._accounts.get(key)
        if old == account:
            return
        if old is not None:
            if old.asked:
                self._queues.wait(old.queue, old.asked, -1)
            if old.standing:
                self._queues.count(old.queue, **{old.standing: -1})
        if account is None:
            self._accounts.pop(key, None)
            return
        self._accounts[key] = account
        if account.asked:
            self._queues.wait(account.queue, account.asked, 1)
        if account.standing:
            self._queues.count(account.queue, **{account.standing: 1})


def _covers(held: Vector, part: Vector) -> bool:
    amounts = dict(held)
    return all(amounts.get(row, 0) >= amount for row, amount in part)


def _less(held: Vector, part: Vector) -> Vector:
    amounts = dict(held)
    for row, amount in part:
        amounts[row] -= amount
    return tuple((row, amount) for row, amount in sorted(amounts.items()) if amount)
