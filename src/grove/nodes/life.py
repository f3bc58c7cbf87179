"""The life of a pod on its node, as a pure function of what is wanted, what was, and the time.

    life, wake = step(life, plan, now)

One step applies everything that has become due, in the order of time and as of its own moment: a step that comes late
(the process was stopped, the node was cut off) tells the same story as many that came in time. What cannot be foreseen
is said by `finished`, `stopped` and `rebooted`, after a step and before another one. Where what is wanted has changed,
so that something should have come before the last look, it comes now.

Init containers run one after the other, sidecars among them as soon as they have started, then all others at once. When
a pod is to end, by itself or because it was told to, what still runs of its regular containers is told first, and its
sidecars when those are gone, the last one first. When nothing runs any more, the pod is over.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal, TypeAlias

import msgspec

from grove.nodes import containers
from grove.nodes.containers import KILLED, Container, Exit, Plan

LOST: Final = 255
"""The exit code of a container whose end nobody saw."""


class PodPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What is wanted of a pod."""

    policy: str = "Always"
    grace: float = 30.0
    """Seconds that its containers have to stop when it ends by itself."""
    init: tuple[Plan, ...] = ()
    regular: tuple[Plan, ...] = ()
    deadline: float | None = None
    """Seconds that it may be active."""


class Over(msgspec.Struct, frozen=True):
    """How the pod has come to its end."""

    phase: Literal["Succeeded", "Failed"]
    reason: str = ""
    message: str = ""


class Stop(msgspec.Struct, frozen=True):
    """All containers are to end: since when, and when they are killed."""

    since: float
    deadline: float
    verdict: Over | None = None
    """What the pod comes to by itself; None if it is only because it was told to end."""
    is_told: bool = False


class Life(msgspec.Struct, frozen=True, kw_only=True):
    """A pod at a moment. Its containers are in the order of the plan's."""

    admitted: float
    is_rejected: bool = False
    """Whether the node did not take it in."""
    ip: str = ""
    init: tuple[Container, ...] = ()
    regular: tuple[Container, ...] = ()
    stop: Stop | None = None
    over: Over | None = None
    at: float = 0.0
    """The last look; of a life that was taken up from a status, when what has its turn got it."""

    @property
    def containers(self) -> tuple[Container, ...]:
        return self.init + self.regular

    @property
    def is_gone(self) -> bool:
        """Whether a pod that was told to end has ended."""
        return self.stop is not None and self.stop.is_told and self.over is not None


Place: TypeAlias = tuple[Literal["init", "regular"], int]


def begun(plan: PodPlan, *, admitted: float, ip: str) -> Life:
    """A pod that was just taken in."""
    return Life(
        admitted=admitted,
        ip=ip,
        init=tuple(Container(since=admitted) for _ in plan.init),
        regular=tuple(Container(since=admitted) for _ in plan.regular),
        at=admitted,
    )


def rejected(plan: PodPlan, *, at: float, reason: str, message: str) -> Life:
    """A pod that the node does not take in."""
    over = Over("Failed", reason, message)
    return msgspec.structs.replace(begun(plan, admitted=at, ip=""), is_rejected=True, over=over)


def step(life: Life, plan: PodPlan, now: float) -> tuple[Life, float | None]:
    """The pod as it is now, and the moment at which something changes next by itself."""
    looked = life.at
    life = _settled(life, plan, looked)
    while (due := _due(life, plan, looked, now)) is not None and due.moment <= now:
        life = _advanced(life, plan, due)
        life = _settled(life, plan, due.moment)
        life = msgspec.structs.replace(life, at=due.moment)
    life = msgspec.structs.replace(life, at=now)
    following = _due(life, plan, now, now)
    return life, None if following is None else following.moment


def finished(life: Life, place: Place, run: int, now: float, code: int, message: str) -> Life:
    """The run of a container has ended, says who really does its work; about another run it says nothing."""
    container = getattr(life, place[0])[place[1]]
    if not container.is_running or container.run != run:
        return life
    return _put(life, place, containers.ended(container, now, code, message=message))


def stopped(life: Life, *, since: float, deadline: float) -> Life:
    """The pod is told to end; told again, only an earlier deadline counts."""
    stop = life.stop or Stop(since, max(since, deadline))
    stop = msgspec.structs.replace(stop, deadline=min(stop.deadline, max(since, deadline)), is_told=True)
    return msgspec.structs.replace(life, stop=stop)


def rebooted(life: Life, plan: PodPlan, now: float) -> Life:
    """The node was without power and is back: all that ran is lost, and the pod begins anew where it may."""
    init, regular = tuple(_lost(one, now) for one in life.init), tuple(_lost(one, now) for one in life.regular)
    lost = msgspec.structs.replace(life, init=init, regular=regular)
    if life.over is not None or life.stop is not None:
        return lost
    if plan.policy == "Never" and any(one.exit for one in lost.containers):
        return _concluded(lost, plan, Over("Failed"), now)
    return msgspec.structs.replace(
        lost,
        init=tuple(map(_anew, init, plan.init)),
        regular=tuple(map(_anew, regular, plan.regular)),
    )


def _lost(container: Container, now: float) -> Container:
    return containers.ended(container, now, LOST, reason="Unknown") if container.is_running else container


def _anew(container: Container, wanted: Plan) -> Container:
    """After a reboot nothing is left of an init container's work, and what had ended for good stays as it is."""
    if not container.has_exited or container.exit is None:
        return Container(since=container.since, run=container.run, exit=container.exit)
    # The API server lets no container that has completed run again, unless the policy is Always.
    is_init_to_repeat = wanted.role == "init" and wanted.policy == "Always"
    if is_init_to_repeat or wanted.restarts_after(container.exit.code):
        return Container(since=container.exit.ended, run=container.run + 1, exit=container.exit)
    return container


def _places(life: Life, plan: PodPlan) -> Iterator[tuple[Place, Container, Plan]]:
    for index, (container, wanted) in enumerate(zip(life.init, plan.init, strict=True)):
        yield ("init", index), container, wanted
    for index, (container, wanted) in enumerate(zip(life.regular, plan.regular, strict=True)):
        yield ("regular", index), container, wanted


def _put(life: Life, place: Place, container: Container) -> Life:
    kind, index = place
    row = getattr(life, kind)
    return msgspec.structs.replace(life, **{kind: (*row[:index], container, *row[index + 1 :])})


# What comes next


class Due(msgspec.Struct, frozen=True):
    """The next change: of a container's state, or (without a place) only that time has passed."""

    moment: float
    place: Place | None = None


def _due(life: Life, plan: PodPlan, looked: float, now: float) -> Due | None:
    """What comes next. What should have come before we looked the last time was not wanted then: it comes now."""
    if life.over is not None:
        return None
    found: Due | None = None
    for place, container, wanted in _places(life, plan):
        moment = _transition(life, plan, place, container, wanted)
        if moment is not None:
            moment = moment if moment >= looked else now
            if found is None or moment < found.moment:
                found = Due(moment, place)
        for threshold in containers.thresholds(container, wanted):
            if threshold > life.at and (found is None or threshold < found.moment):
                found = Due(threshold)
    if plan.deadline is not None and life.stop is None:
        moment = life.admitted + plan.deadline
        if moment > life.at and (found is None or moment < found.moment):
            found = Due(moment)
    return found


def _transition(life: Life, plan: PodPlan, place: Place, container: Container, wanted: Plan) -> float | None:
    by_itself = containers.transition(container, wanted)
    if life.stop is None:
        return by_itself
    if not container.is_running:
        return None
    stops = _stops_at(life, life.stop, plan, place, wanted)
    return stops if by_itself is None else min(stops, by_itself)


def _stops_at(life: Life, stop: Stop, plan: PodPlan, place: Place, wanted: Plan) -> float:
    """When a container that runs in a pod that is to end has ended, at the latest when it is killed."""
    told = stop.since
    if wanted.role == "sidecar":
        for at, other, its in _places(life, plan):
            # It comes after the regular containers and the sidecars that began after it; init containers are told too.
            if its.role == "regular" or (its.role == "sidecar" and at > place):
                if other.is_running:
                    return stop.deadline
                if other.has_exited and other.exit is not None:
                    told = max(told, other.exit.ended)
    return min(told + wanted.stop_delay, stop.deadline)


def plan_of(plan: PodPlan, place: Place) -> Plan:
    found: Plan = getattr(plan, place[0])[place[1]]
    return found


# What becomes of it


def _advanced(life: Life, plan: PodPlan, due: Due) -> Life:
    if due.place is None:
        return life
    kind, index = due.place
    container: Container = getattr(life, kind)[index]
    wanted = plan_of(plan, due.place)
    by_itself = containers.transition(container, wanted)
    if life.stop is None or (by_itself is not None and by_itself <= due.moment):
        return _put(life, due.place, containers.advanced(container, wanted, due.moment))
    is_killed = due.moment >= life.stop.deadline and wanted.stop_delay > 0
    return _put(life, due.place, containers.ended(container, due.moment, KILLED if is_killed else 0))


def _settled(life: Life, plan: PodPlan, moment: float) -> Life:
    """What follows at once: whose turn it is, and whether the pod comes to its end or has come to it."""
    if life.over is not None:
        return life
    if life.stop is not None:
        return life if _runs(life) else _concluded(life, plan, life.stop.verdict or _outcome(life), moment)
    if (verdict := _verdict(life, plan, moment)) is not None:
        return _ending(life, plan, *verdict)
    return _with_next_turn(life, plan, moment)


def _with_next_turn(life: Life, plan: PodPlan, moment: float) -> Life:
    if not is_initialized(life, plan, moment):
        index = _last_begun(life)
        if index >= 0 and not _is_passed(life.init[index], plan.init[index], moment):
            return life
        return _put(life, ("init", index + 1), containers.its_turn(life.init[index + 1], moment))
    if not any(one.state == "waiting" for one in life.regular):
        return life
    regular = tuple(containers.its_turn(one, moment) if one.state == "waiting" else one for one in life.regular)
    return msgspec.structs.replace(life, regular=regular)


def is_initialized(life: Life, plan: PodPlan, now: float) -> bool:
    """Whether the regular containers may run: some do, or the last init container has passed."""
    if not life.init or any(one.state not in ("waiting", "exited") for one in life.regular):
        return True
    return _last_begun(life) == len(life.init) - 1 and _is_passed(life.init[-1], plan.init[-1], now)


def _last_begun(life: Life) -> int:
    """The last init container whose turn has come: those before it have passed, even if a sidecar restarts now."""
    return max((index for index, one in enumerate(life.init) if one.state != "waiting"), default=-1)


def _is_passed(container: Container, wanted: Plan, moment: float) -> bool:
    """Whether the next init container may run."""
    if wanted.role == "sidecar":
        return container.has_started(wanted, moment)
    return container.has_exited and container.exit is not None and container.exit.code == 0


# How it ends


DEADLINE_EXCEEDED: Final = Over(
    "Failed", "DeadlineExceeded", "Pod was active on the node longer than the specified deadline"
)


def _verdict(life: Life, plan: PodPlan, moment: float) -> tuple[Over, float] | None:
    """What the pod comes to by itself, if it does, and since when."""
    found = _failed_init(life, plan) or _all_done(life, plan)
    if plan.deadline is None:
        return found
    exceeded = life.admitted + plan.deadline
    is_exceeded = exceeded <= moment if found is None else exceeded < found[1]
    return (DEADLINE_EXCEEDED, exceeded) if is_exceeded else found


def _failed_init(life: Life, plan: PodPlan) -> tuple[Over, float] | None:
    for container, wanted in zip(life.init, plan.init, strict=True):
        if wanted.role == "init" and (end := _last_end(container, wanted)) is not None and end.code:
            return Over("Failed"), end.ended
    return None


def _all_done(life: Life, plan: PodPlan) -> tuple[Over, float] | None:
    ends = [_last_end(container, wanted) for container, wanted in zip(life.regular, plan.regular, strict=True)]
    known = [one.ended for one in ends if one is not None]
    return (_outcome(life), max(known)) if len(known) == len(ends) else None


def _last_end(container: Container, wanted: Plan) -> Exit | None:
    """How a container has ended that does not run again."""
    if not container.has_exited or container.exit is None or wanted.restarts_after(container.exit.code):
        return None
    return container.exit


def _outcome(life: Life) -> Over:
    """What becomes of a pod whose containers do not run and will not."""
    is_good = all(one.has_exited and one.exit is not None and one.exit.code == 0 for one in life.regular)
    return Over("Succeeded" if is_good else "Failed")


def _ending(life: Life, plan: PodPlan, verdict: Over, moment: float) -> Life:
    """What still runs is told to end, and then the pod is over."""
    if _runs(life):
        return msgspec.structs.replace(life, stop=Stop(moment, moment + plan.grace, verdict))
    return _concluded(life, plan, verdict, moment)


def _concluded(life: Life, plan: PodPlan, over: Over, moment: float) -> Life:
    """The pod is over. Containers whose turn had come and that are not there are told as lost, as kubelets do."""
    seen = [index for index, one in enumerate(life.init) if one.exit is not None]
    last_init = max(seen, default=0)
    init = tuple(
        containers.unseen(one, moment) if index <= last_init and not one.has_exited else one
        for index, one in enumerate(life.init)
    )
    regular = life.regular
    if any(one.exit is not None for one in regular) or is_initialized(life, plan, moment):
        regular = tuple(one if one.has_exited else containers.unseen(one, moment) for one in regular)
    return msgspec.structs.replace(life, over=over, init=init, regular=regular)


def _runs(life: Life) -> bool:
    return any(one.is_running for one in life.containers)
