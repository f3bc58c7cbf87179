"""The life of one container, as a machine of states: what it is in, when that changes by itself, and what follows.

    waiting ──its turn──> creating ──> running ──> exited ──if it restarts──> running …
                             └──> pull_failed <──> pull_backoff ──once the image is there──> running

Times are seconds since the epoch, of a clock that does not jump. `life.py` says whose turn it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal, TypeAlias

import msgspec

from grove.nodes.behaviour import Behaviour

State: TypeAlias = Literal["waiting", "creating", "pull_failed", "pull_backoff", "running", "exited"]
Role: TypeAlias = Literal["init", "sidecar", "regular"]

# As kubelets back off: at once, then 10 s, twice as long each time, up to 5 minutes; forgotten after 10 good minutes.
FIRST_BACKOFF: Final = 10.0
LONGEST_BACKOFF: Final = 300.0
FORGOTTEN_AFTER: Final = 600.0
PULL_ERROR_SHOWN: Final = 1.0
"""Seconds that a pull error is shown as such, before it is a back-off."""

KILLED: Final = 137


class RestartRule(msgspec.Struct, frozen=True):
    """Exit codes after which a container runs again, or those after which it does not because of this rule."""

    codes: frozenset[int]
    is_among: bool

    def applies(self, code: int) -> bool:
        return (code in self.codes) == self.is_among


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What is wanted of a container: from the pod's spec and the annotations."""

    name: str
    role: Role
    behaviour: Behaviour
    policy: str
    """Always, OnFailure or Never."""
    rules: tuple[RestartRule, ...] = ()
    """Exit codes after which it runs again whatever the policy says."""
    startup_delay: float = 0.0
    readiness_delay: float = 0.0
    ends_from_outside: bool = False
    """Whether what it does is really done, by someone who tells how it ended: the waiter."""
    seed: str = ""

    @property
    def start_delay(self) -> float:
        return self.behaviour.start_delay.choose(f"{self.seed}/start")

    @property
    def ready_delay(self) -> float:
        return max(self.startup_delay, self.readiness_delay, self.behaviour.ready_delay.choose(f"{self.seed}/ready"))

    @property
    def stop_delay(self) -> float:
        return self.behaviour.stop_delay.choose(f"{self.seed}/stop")

    def end(self, run: int) -> tuple[float, int] | None:
        """How long a run lasts that ends by itself, and its exit code; None: it does not."""
        if self.ends_from_outside or (end := self.behaviour.end(run)) is None:
            return None
        return end.after.choose(f"{self.seed}/{run}/exit"), end.code

    def restarts_after(self, code: int) -> bool:
        if self.role == "sidecar":
            return True
        if self.role == "init" and code == 0:
            return False
        if any(rule.applies(code) for rule in self.rules):
            return True
        return self.policy == "Always" or (self.policy == "OnFailure" and code != 0)


class Exit(msgspec.Struct, frozen=True):
    """How a run ended. What is not known of its times is 0."""

    code: int
    reason: str
    began: float
    ended: float
    message: str = ""


UNSEEN: Final = Exit(
    KILLED, "ContainerStatusUnknown", 0.0, 0.0, "The container could not be located when the pod was terminated"
)
"""The end of a container that never ran, as kubelets tell it."""


class Container(msgspec.Struct, frozen=True, kw_only=True):
    """A container at a moment."""

    state: State = "waiting"
    since: float = 0.0
    run: int = 0
    """Which run it is in or comes to next, counted from 0: the restart count."""
    exit: Exit | None = None
    """The end of the last run that has ended: of this one, where it has exited."""
    previous: Exit | None = None
    """The end of the run before that."""
    streak: int = 0
    """Runs that ended without a long one among them: what the back-off grows with."""
    pulls: int = 0

    @property
    def has_exited(self) -> bool:
        return self.state == "exited"

    @property
    def is_running(self) -> bool:
        return self.state == "running"

    def has_started(self, plan: Plan, now: float) -> bool:
        return self.is_running and now >= self.since + plan.startup_delay

    def is_ready(self, plan: Plan, now: float) -> bool:
        """Init containers that are done are ready too, as kubelets have it."""
        if plan.role == "init":
            return self.has_exited and self.exit is not None and self.exit.code == 0
        return self.is_running and not plan.behaviour.never_ready and now >= self.since + plan.ready_delay


def restart_at(container: Container, plan: Plan) -> float | None:
    """When a container that has exited runs again; None: never."""
    if container.exit is None or not plan.restarts_after(container.exit.code):
        return None
    return container.exit.ended + backoff(container.streak)


def backoff(streak: int) -> float:
    """Seconds to wait after so many exits in a row."""
    return 0.0 if streak <= 1 else min(LONGEST_BACKOFF, FIRST_BACKOFF * 2.0 ** min(streak - 2, 16))


def transition(container: Container, plan: Plan) -> float | None:
    """The moment at which the container's state changes by itself; None: it does not."""
    match container.state:
        case "creating":
            return container.since + plan.start_delay
        case "pull_failed":
            return container.since + PULL_ERROR_SHOWN
        case "pull_backoff":
            # An image that is there again is not waited for any longer.
            return container.since + (backoff(container.pulls + 1) if plan.behaviour.image_pull_error else 0.0)
        case "running":
            end = plan.end(container.run)
            return None if end is None else container.since + end[0]
        case "exited":
            return restart_at(container, plan)
    return None


def thresholds(container: Container, plan: Plan) -> Iterator[float]:
    """The moments of a run at which the container counts as started, and as ready."""
    if container.is_running:
        yield container.since + plan.startup_delay
        if not plan.behaviour.never_ready:
            yield container.since + plan.ready_delay


def advanced(container: Container, plan: Plan, moment: float) -> Container:
    """What the container is when the moment of its transition has come."""
    match container.state:
        case "creating" | "pull_backoff":
            if plan.behaviour.image_pull_error:
                return msgspec.structs.replace(container, state="pull_failed", since=moment, pulls=container.pulls + 1)
            return msgspec.structs.replace(container, state="running", since=moment, pulls=0)
        case "pull_failed":
            return msgspec.structs.replace(container, state="pull_backoff", since=moment)
        case "running":
            end = plan.end(container.run)
            return ended(container, moment, 0 if end is None else end[1])
        case "exited":
            return msgspec.structs.replace(container, state="running", since=moment, run=container.run + 1)
    return container


def unseen(container: Container, moment: float) -> Container:
    """A container that is not there although its pod has come to its end."""
    return msgspec.structs.replace(container, state="exited", since=moment, exit=UNSEEN, previous=container.exit)


def its_turn(container: Container, moment: float) -> Container:
    return msgspec.structs.replace(container, state="creating", since=moment)


def ended(container: Container, moment: float, code: int, *, reason: str = "", message: str = "") -> Container:
    """The end of the run that the container is in."""
    was_long = moment - container.since >= FORGOTTEN_AFTER
    return msgspec.structs.replace(
        container,
        state="exited",
        since=moment,
        exit=Exit(code, reason or ("Error" if code else "Completed"), container.since, moment, message),
        previous=container.exit,
        streak=1 if was_long else container.streak + 1,
    )
