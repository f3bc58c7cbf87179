"""Leader election by a Lease: of all candidates one works, and one that has lost its lease can no longer write.

    election = Election(store, namespace="grove-system", name="grove-operator", identity=…, clock=clock, rng=rng)
    await election.run(work)          # work(term) is called once this process leads

The rules that make two writers impossible, by the monotonic clocks of the processes alone:

- The holder's term ends `renew_deadline` after it *sent* its last successful renewal, and every write asks the term
  right before it is sent and may not last longer than the term (`fence.py`).
- A candidate takes the lease when it has not seen the record change for the `duration` that the record promises,
  counted from the *answer* that showed it. That is later than the holder's sending, so between the last write of the
  old term and the first of the new one lie at least `duration - renew_deadline` seconds, for what is still on its way.
- Every write of the Lease is conditional on its resourceVersion: of two candidates one wins.
- A lease is given back only after the work has ended, and only if none of its writes may still be on its way.

What remains, and why it does no harm, is in docs/decisions/0011-fenced-lease.md.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from grove.kube.clock import Clock
from grove.kube.fence import Term
from grove.kube.leaserecord import LeaseObject, LeaseRecord, new_lease, released, renewed, taken

log = logging.getLogger(__name__)

Work = Callable[[Term], Awaitable[None]]
Outcome = TypeVar("Outcome")


class LeadershipLostError(Exception):
    """The term ended under the work, which was cancelled. The process should end, and be started again."""


class LeaseStore(Protocol):
    """Where the Lease is kept. Raises whatever it likes when it does not know what became of a request."""

    async def get(self, namespace: str, name: str) -> LeaseObject | None:
        """The Lease; None if there is none. Never an old one from a cache."""
        ...

    async def create(self, lease: LeaseObject) -> LeaseObject | None:
        """The Lease as stored; None if there is one already."""
        ...

    async def update(self, lease: LeaseObject) -> LeaseObject | None:
        """The Lease as stored; None if it was changed or deleted since the resourceVersion that `lease` carries."""
        ...


@dataclass(frozen=True)
class Timing:
    """Seconds; the defaults are those of Kubernetes' own controllers."""

    duration: float = 15.0  # how long others wait for a holder that is silent
    renew_deadline: float = 10.0  # how long a holder that cannot renew goes on writing
    retry_period: float = 2.0  # from one try to the next
    jitter: float = 0.2  # the share of the retry period that is left to chance

    def __post_init__(self) -> None:
        longest = self.retry_period * (1 + self.jitter)
        if not 0 < longest < self.renew_deadline < self.duration:
            raise ValueError(
                f"leader election: retry period {self.retry_period:g} s (with jitter {longest:g} s), "
                f"renew deadline {self.renew_deadline:g} s, lease duration {self.duration:g} s: "
                "each must be longer than the one before"
            )

    @property
    def attempt(self) -> float:
        """How long one request may take, so that one that hangs leaves time for another."""
        return max(self.renew_deadline - self.retry_period, self.retry_period) / 2


@dataclass(frozen=True)
class ElectionStatistics:
    """The state of an election as this process sees it."""

    leading: bool
    term: int | None  # the number of the term, while leading
    seconds_left: float  # until the term ends unless it is renewed
    holder: str  # who held the lease when it was last read
    tries: int  # to take or to renew the lease
    failures: int  # of them, those that ended in an error or in no answer
    terms: int  # that this process has begun
    lost: int  # of them, those that it did not end by itself


@dataclass(frozen=True)
class Observation:
    """A record, and since when it has not changed, by our own clock."""

    record: LeaseRecord
    since: float


@dataclass
class Tenure:
    """The Lease as it was last stored for us: the next write of it is conditional on this one."""

    lease: LeaseObject


class Election:
    """One candidate. `identity` must differ from that of every other: see `unique_identity`."""

    def __init__(
        self,
        store: LeaseStore,
        *,
        namespace: str,
        name: str,
        identity: str,
        clock: Clock,
        rng: random.Random,
        timing: Timing | None = None,
    ) -> None:
        self.name = name
        self.namespace = namespace
        self.identity = identity
        self._store = store
        self._clock = clock
        self._rng = rng
        self._timing = timing or Timing()
        self._observed: Observation | None = None
        self._claim: LeaseRecord | None = None  # what we last wrote, whether or not it was answered
        self._term: Term | None = None
        self._tries = self._failures = self._terms = self._lost = 0

    async def run(self, work: Work) -> None:
        """Waits for the lease, works, gives it back. Returns or raises what the work does.

        Raises `LeadershipLostError` when the term ended under the work, which is then cancelled first. When `run` is
        cancelled it cancels the work and goes on renewing until that has ended, so that it can end in order; a second
        cancellation waits for nothing. Who cancelled it gets no other error, also if the term ends meanwhile.
        """
        term, lease = await self._take()
        self._term = term
        tenure = Tenure(lease)
        working = asyncio.ensure_future(work(term))
        renewing = asyncio.ensure_future(self._renew(term, tenure))
        try:
            cancelled = await first_of(working, renewing)
            if not working.done():
                lost = await self._lose(term, working)
                if cancelled:
                    raise asyncio.CancelledError from lost
                raise lost
            renewing.cancel()
            await asyncio.wait({renewing})
            await self._release(term, tenure)
            working.result()
            if cancelled:
                raise asyncio.CancelledError
        finally:
            term.end("it was given up")
            self._term = None
            working.cancel()
            renewing.cancel()

    def statistics(self) -> ElectionStatistics:
        term = self._term
        return ElectionStatistics(
            leading=term is not None and term.is_open,
            term=term.number if term is not None and term.is_open else None,
            seconds_left=term.seconds_left if term is not None else 0.0,
            holder=self._observed.record.holder if self._observed else "",
            tries=self._tries,
            failures=self._failures,
            terms=self._terms,
            lost=self._lost,
        )

    # Taking it

    async def _take(self) -> tuple[Term, LeaseObject]:
        while True:
            sent_and_lease = await self._attempt(self._try_to_take, 2 * self._timing.attempt)
            if sent_and_lease is not None:
                sent, lease = sent_and_lease
                record = LeaseRecord.of(lease)
                term = Term(record.transitions, self.identity, sent + self._timing.renew_deadline, self._clock)
                if term.is_open:  # an answer may come so late that the term is over before it began
                    self._terms += 1
                    log.info("leadership taken", extra=self._fields(term))
                    return term, lease
            await self._pause()

    async def _try_to_take(self) -> tuple[float, LeaseObject] | None:
        lease = await self._store.get(self.namespace, self.name)
        now = self._clock.monotonic()
        if lease is not None:
            self._observe(LeaseRecord.of(lease), now)
        if not self._is_free(now):
            return None
        number = 0 if self._observed is None else self._observed.record.transitions + 1
        changed = taken(
            lease or new_lease(self.namespace, self.name),
            self.identity,
            number=number,
            duration=self._timing.duration,
            now=self._clock.wall(),
        )
        self._claim = LeaseRecord.of(changed)
        sent = self._clock.monotonic()
        stored = await (self._store.create(changed) if lease is None else self._store.update(changed))
        if stored is None:
            self._claim = None  # it certainly did not arrive
            return None
        self._observe(LeaseRecord.of(stored), self._clock.monotonic())
        return sent, stored

    def _observe(self, record: LeaseRecord, now: float) -> None:
        if self._observed is None or self._observed.record != record:
            if self._observed is None or self._observed.record.holder != record.holder:
                log.info(
                    "lease observed", extra={**self._fields(), "holder": record.holder, "term": record.transitions}
                )
            self._observed = Observation(record, now)

    def _is_free(self, now: float) -> bool:
        """Whether what was last seen allows us to take it. A Lease that was deleted binds as long as it would have."""
        if self._observed is None or not self._observed.record.holder:
            return True
        record = self._observed.record
        if self._claim is not None and record.is_same_term(self._claim):
            return True  # a claim of ours that arrived although its answer did not; nobody works on it
        duration = self._timing.duration if record.duration is None else record.duration
        return now - self._observed.since >= duration

    # Keeping it

    async def _renew(self, term: Term, tenure: Tenure) -> None:
        """Returns when the term is over."""
        while term.is_open:
            await self._clock.sleep(min(self._pause_length(), term.seconds_left))
            if not term.is_open:
                break
            sent = self._clock.monotonic()
            kept = await self._attempt(
                lambda: self._write(
                    tenure, lambda lease: renewed(lease, self._timing.duration, self._clock.wall()), term
                ),
                min(self._timing.attempt, term.seconds_left),
            )
            if kept:
                term.extend(sent + self._timing.renew_deadline)

    async def _write(self, tenure: Tenure, change: Callable[[LeaseObject], LeaseObject], term: Term) -> bool:
        """Writes the Lease if it is still ours; ends the term if it is not. False: it was changed while we did."""
        stored = await self._store.update(change(tenure.lease))
        if stored is None:
            # Somebody labelled it, or a renewal of ours arrived although its answer did not, or it was taken.
            current = await self._store.get(self.namespace, self.name)
            if current is None:
                term.end("the Lease was deleted")
                return False
            record = LeaseRecord.of(current)
            self._observe(record, self._clock.monotonic())
            if not record.is_same_term(LeaseRecord.of(tenure.lease)):
                term.end(f"the lease is held by {record.holder or 'nobody'}")
                return False
            tenure.lease = current
            stored = await self._store.update(change(current))
            if stored is None:
                return False
        tenure.lease = stored
        self._observe(LeaseRecord.of(stored), self._clock.monotonic())
        return True

    async def _release(self, term: Term, tenure: Tenure) -> None:
        left = term.seconds_left
        term.end("it was given back")
        if left <= 0:
            return
        if term.has_unknown_writes:
            log.info("lease left to run out", extra={**self._fields(term), "reason": "a write may still be on its way"})
            return
        given_back = await self._attempt(
            lambda: self._write(tenure, lambda lease: released(lease, self._clock.wall()), term),
            min(self._timing.attempt, left),
        )
        if given_back:
            log.info("leadership given back", extra=self._fields(term))

    async def _lose(self, term: Term, working: asyncio.Future[None]) -> LeadershipLostError:
        term.end("nobody renews it")
        self._lost += 1
        log.error("leadership lost", extra={**self._fields(term), "reason": term.over})
        working.cancel()
        await asyncio.wait({working})
        cause = None if working.cancelled() else working.exception()
        lost = LeadershipLostError(f"{self.identity} lost {self.namespace}/{self.name}: {term.over}")
        lost.__cause__ = cause
        return lost

    # Both

    async def _attempt(self, call: Callable[[], Awaitable[Outcome]], timeout: float) -> Outcome | None:
        """What the call gives within the time; None if it fails."""
        self._tries += 1
        try:
            async with asyncio.timeout(timeout):
                return await call()
        except Exception as error:  # whatever it was, we hold no lease by it: that is the safe side
            self._failures += 1
            log.error("lease request failed", extra={**self._fields(), "error": repr(error)})
            log.debug("lease request failed", exc_info=error)
            return None

    async def _pause(self) -> None:
        await self._clock.sleep(self._pause_length())

    def _pause_length(self) -> float:
        return self._timing.retry_period * (1 + self._timing.jitter * self._rng.uniform(-1, 1))

    def _fields(self, term: Term | None = None) -> dict[str, object]:
        fields: dict[str, object] = {"lease": f"{self.namespace}/{self.name}", "identity": self.identity}
        return fields if term is None else {**fields, "term": term.number}


async def first_of(working: asyncio.Future[None], renewing: asyncio.Future[None]) -> bool:
    """Waits until one of both has ended. A cancellation is passed on to the work; whether there was one."""
    cancelled = False
    while not working.done() and not renewing.done():
        try:
            await asyncio.wait({working, renewing}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            if cancelled:
                raise
            cancelled = True
            working.cancel()
    return cancelled


def unique_identity(name: str, rng: random.Random) -> str:
    """A name for people, such as that of the pod, made unique: a container that is restarted is somebody else."""
    return f"{name}_{rng.getrandbits(40):010x}"
