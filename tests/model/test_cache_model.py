"""The cache against a model of the API server, with everything that can go wrong between the two.

Writes by us and by others, also through finalizers; answers to our own writes that come early or late; watch events
delayed, duplicated, swapped and lost; connections that break, 410s, lists of the past, restarts; with and without a
selector, streaming lists, and finalizers. After every step the promises of `store.py` are checked; at the end, when
everything has been delivered, the cache must equal the server.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from grove.kube.cache import Cache
from grove.kube.decoding import Bookmark
from grove.kube.indexes import by_label, by_owner
from grove.kube.store import Change, is_final
from tests.unit.kube.fakes import (
    FakeClock,
    FakeServer,
    FakeSource,
    Thing,
    cut,
    gone,
    owned_by,
    recompute,
    settle,
    version_of,
)

NAMES = st.sampled_from("ab")
LABELS = st.sampled_from([None, {"app": "x"}, {"app": "y"}])
OWNERS = st.sampled_from([(), owned_by("p"), owned_by("q"), owned_by("p") + owned_by("q")])


def uid_of(thing: Thing) -> str:
    return thing.metadata.uid or ""


class CacheAndServer(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.clock = FakeClock()
        self.running: asyncio.Task[None] | None = None

    @initialize(streams=st.booleans(), selects=st.booleans(), first=st.lists(NAMES, unique=True))
    def begin(self, streams: bool, selects: bool, first: list[str]) -> None:
        self.selects: Callable[[Thing], bool] = lambda one: not selects or (one.metadata.labels or {}).get("app") == "x"
        self.has_selector = selects
        self.server = FakeServer(selects=self.selects)
        self.source = FakeSource(self.server, streams=streams)
        self.answers: list[tuple[str, Thing]] = []
        for name in first:
            self.server.create(name, labels={"app": "x"})
        self.start()

    def start(self) -> None:
        self.cache: Cache[Thing] = Cache(
            self.source,
            clock=self.clock,
            rng=random.Random(1),
            indexes={"owner": by_owner, "app": by_label("app")},
            matches=(lambda _, one: self.selects(one)) if self.has_selector else None,
        )
        self.mirror: dict[str, Thing] = {}
        self.reached: dict[str, int] = {}  # by uid: the revision of what was last seen of it, its absence included
        self.promised: dict[str, int] = {}  # by uid: the revision of our last write that was answered
        self.lossy = False
        self.cache.follow(self.on_change)
        self.running = self.loop.create_task(self.cache.run())
        self.settle()

    def settle(self) -> None:
        self.loop.run_until_complete(settle())

    def on_change(self, change: Change[Thing]) -> None:
        for old in [] if change.old is None else [change.old]:
            assert self.mirror.pop(uid_of(old)) is old
        if change.new is None:
            assert change.old is not None
            self.reached[uid_of(change.old)] = self.first_absence(uid_of(change.old), version_of(change.old))
        else:
            assert change.old is None or uid_of(change.old) == uid_of(change.new)
            assert version_of(change.new) > self.reached.get(uid_of(change.new), 0), "went back, or came back"
            self.reached[uid_of(change.new)] = version_of(change.new)
            self.mirror[uid_of(change.new)] = change.new

    def first_absence(self, uid: str, after: int) -> int:
        """The revision at which an object was deleted or left the selection; there must be one."""
        for write in self.server.history:
            one = write.new or write.old
            if one is not None and uid_of(one) == uid and write.revision > after and not self.is_selected(write.new):
                return write.revision
        raise AssertionError(f"{uid} is gone from the cache, but not since {after} from the server")

    def is_selected(self, one: Thing | None) -> bool:
        return one is not None and self.selects(one)

    # What happens on the server

    def answer(self, verb: str, ours: bool, at_once: bool, returned: Thing) -> None:
        self.source.tell()
        if ours:
            self.answers.append((verb, returned))
            if at_once:
                self.receive(len(self.answers) - 1)

    @rule(name=NAMES, labels=LABELS, owners=OWNERS, ours=st.booleans(), at_once=st.booleans(), final=st.booleans())
    def create(self, name: str, labels: Any, owners: Any, ours: bool, at_once: bool, final: bool) -> None:
        if name not in self.server.things:
            finalizers = ("hold",) if final else ()
            made = self.server.create(name, labels=labels, owner_references=owners, finalizers=finalizers)
            self.answer("wrote", ours, at_once, made)

    @rule(name=NAMES, labels=LABELS, owners=OWNERS, ours=st.booleans(), at_once=st.booleans())
    def update(self, name: str, labels: Any, owners: Any, ours: bool, at_once: bool) -> None:
        if name in self.server.things:
            self.answer("wrote", ours, at_once, self.server.update(name, labels=labels, owner_references=owners))

    @rule(name=NAMES, ours=st.booleans(), at_once=st.booleans())
    def release(self, name: str, ours: bool, at_once: bool) -> None:
        """Removes the finalizer: the object's end if its deletion was asked for."""
        if name in self.server.things:
            self.answer("wrote", ours, at_once, self.server.update(name, finalizers=()))

    @rule(name=NAMES, ours=st.booleans(), at_once=st.booleans(), silent=st.booleans())
    def delete(self, name: str, ours: bool, at_once: bool, silent: bool) -> None:
        if name not in self.server.things:
            return
        known = self.cache.get(name, "ns")
        returned = self.server.delete(name)
        is_gone = name not in self.server.things
        if is_gone and silent:
            # The server answers with a Status, and what we know is what we held before; perhaps an incarnation before.
            if known is None:
                ours = False
            else:
                returned = known
        self.answer("deleted" if is_gone else "wrote", ours, at_once, returned)

    # What comes through

    @precondition(lambda self: self.answers)
    @rule(data=st.data())
    def late_answer(self, data: st.DataObject) -> None:
        self.receive(data.draw(st.integers(0, len(self.answers) - 1)))

    def receive(self, index: int) -> None:
        verb, returned = self.answers.pop(index)
        uid = uid_of(returned)
        if verb == "deleted" or is_final(returned.metadata):
            self.promised[uid] = max(self.first_absence(uid, version_of(returned) - 1), self.promised.get(uid, 0))
        else:
            self.promised[uid] = max(version_of(returned), self.promised.get(uid, 0))
        (self.cache.deleted if verb == "deleted" else self.cache.wrote)(returned)

    @property
    def pipe(self) -> Any:
        return self.source.pipe

    @precondition(lambda self: self.pipe is not None)
    @rule(count=st.integers(1, 4))
    def deliver(self, count: int) -> None:
        self.pipe.deliver(count)
        self.settle()

    @precondition(lambda self: self.pipe is not None and self.server.history)
    @rule(data=st.data())
    def duplicate(self, data: st.DataObject) -> None:
        """Any event of the past comes once more, if the open watch has sent it already."""
        pending = {version_of(one.object) for one in self.pipe.pending if not isinstance(one, Bookmark)}
        write = data.draw(st.sampled_from(self.server.history))
        event = self.server.event(write)
        if event is not None and write.revision < min(pending, default=self.server.revision + 1):
            self.pipe.inject(event)
            self.settle()

    @precondition(lambda self: self.pipe is not None and len(self.pipe.pending) > 1)
    @rule(data=st.data())
    def swap(self, data: st.DataObject) -> None:
        """Two events come in the wrong order, both of them; nothing overtakes a bookmark."""
        pending = self.pipe.pending
        at = data.draw(st.integers(0, len(pending) - 2))
        if not any(isinstance(pending[one], Bookmark) for one in (at, at + 1)):
            pending[at], pending[at + 1] = pending[at + 1], pending[at]
            self.pipe.deliver(at + 2)
            self.settle()

    # What breaks. Few rules, so that most steps are writes and deliveries.

    @precondition(lambda self: self.pipe is not None)
    @rule(how=st.sampled_from(["cleanly", "cut", "410"]), lag=st.integers(0, 6), seconds=st.sampled_from([0, 60]))
    def end(self, how: str, lag: int, seconds: int) -> None:
        """The watch ends. A list that follows may be of the past, as from an API server that lags behind."""
        self.source.lag = lag
        self.pipe.end({"cleanly": None, "cut": cut(), "410": gone(0)}[how])
        self.settle()
        self.wait(seconds)

    @precondition(lambda self: self.pipe is None)
    @rule(seconds=st.sampled_from([0.3, 60.0]))
    def wait(self, seconds: float) -> None:
        self.clock.advance(seconds)
        self.settle()

    @precondition(lambda self: self.pipe is not None)
    @rule(delivered=st.booleans())
    def bookmark(self, delivered: bool) -> None:
        self.pipe.pending.append(Bookmark(str(self.server.revision)))
        if delivered:
            self.pipe.deliver()
            self.settle()

    @rule(what=st.sampled_from(["elsewhere", "lose", "compact", "refuse a list", "restart"]))
    def something_else(self, what: str) -> None:
        if what == "elsewhere":
            self.server.elsewhere()
        elif what == "compact":
            self.server.compacted = self.server.revision
        elif what == "refuse a list":
            self.source.list_failures.append(cut())
        elif what == "restart":
            self.stop()
            self.answers.clear()
            self.start()
        elif self.pipe is not None:
            self.lose()

    def lose(self) -> None:
        """An event never comes, and nobody says so. Nothing can make up for that before the next list."""
        if self.pipe.pending and not isinstance(self.pipe.pending.popleft(), Bookmark):
            self.lossy = True

    # What must hold

    @invariant()
    def handlers_were_told_everything(self) -> None:
        if self.running is None:
            return
        assert self.cache.statistics().handler_errors == 0
        assert {uid_of(one): one for one in self.cache} == self.mirror

    @invariant()
    def our_own_writes_are_read(self) -> None:
        if self.running is None:
            return
        for uid, version in self.promised.items():
            held = self.cache.by_uid(uid)
            assert (
                (0 if held is None else version_of(held)) >= version
                or self.reached.get(uid, 0) >= version
                or (held is None and self.was_absent(uid, version))
            ), f"{uid} is not as we wrote it at {version}: {held}"

    def was_absent(self, uid: str, since: int) -> bool:
        try:
            return self.first_absence(uid, since - 1) >= since
        except AssertionError:
            return False

    @invariant()
    def reads_agree(self) -> None:
        if self.running is None:
            return
        assert self.running.done() is False
        held = {uid_of(one): one for one in self.cache}
        assert set(map(uid_of, self.cache.list("ns"))) == held.keys()
        for uid, one in held.items():
            assert self.cache.by_uid(uid) is one
            assert self.cache.get(one.metadata.name, "ns") is one
        owners = recompute(held, lambda one: [owner.uid for owner in one.metadata.owner_references])
        assert {str(key): set(map(uid_of, self.cache.find("owner", key))) for key in self.cache.keys("owner")} == owners
        apps = recompute(held, lambda one: [*(one.metadata.labels or {}).values()])
        assert set(self.cache.keys("app")) == {("ns", app) for app in apps}
        assert all(set(map(uid_of, self.cache.find("app", ("ns", app)))) == uids for app, uids in apps.items())

    # The end

    def stop(self) -> None:
        if self.running is not None:
            self.running.cancel()
            self.loop.run_until_complete(asyncio.gather(self.running, return_exceptions=True))
            self.settle()

    def teardown(self) -> None:
        try:
            if self.running is not None:
                self.come_to_rest()
        finally:
            self.stop()
            self.loop.close()

    def come_to_rest(self) -> None:
        while self.answers:
            self.receive(0)
        self.source.list_failures.clear()
        self.source.lag = 0
        if self.lossy and self.pipe is not None:
            self.pipe.end(gone(0))
        elif self.pipe is not None:
            self.pipe.deliver()
        for _ in range(8):
            self.settle()
            self.clock.advance(60.0)
        self.settle()
        assert self.pipe is not None, "nobody watches"
        self.bookmark(delivered=True)
        wanted = self.server.at(self.server.revision)
        assert {uid_of(one): one for one in self.cache} == wanted
        self.handlers_were_told_everything()
        self.our_own_writes_are_read()
        self.reads_agree()
        assert self.cache.is_synced
        assert int(self.cache.revision) == self.server.revision
        if not self.has_selector:
            assert self.cache.statistics().store.graves == 0, "a deletion is remembered for ever"


CacheAndServer.TestCase.settings = settings(
    max_examples=600, stateful_step_count=40, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
TestCache = CacheAndServer.TestCase
