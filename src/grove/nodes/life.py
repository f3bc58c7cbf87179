"""The life of a pod on its node, as a pure function of what is wanted, what was, and the time.

    life, wake = step(life, plan, now)

One step applies everything that has become due, in the order of time and as of its own moment: a step that comes late
(the process was stopped, the node was cut off) tells the same story as many that came in time. What cannot be foreseen
is said by `finished`, `stopped` and `rebooted`, after a step and before another one. Where what is wanted has changed,
so that something should have come before the last look, it comes now.

Init containers run one after the other, sidecars among them as soon as they have started, then all others at once. When
a pod is to end, its regular containers are told first, and its sidecars when those are gone, the last one first.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal, TypeAlias

import msgspec

from grove.nodes import containers
from grove.nodes.containers import KILLED, Container, Plan

LOST: Final = 255
"""The exit code of a container whose end nobody saw."""


class PodPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What is wanted of a pod."""

    init: tuple[Plan, ...] = ()
    regular: tuple[Plan, ...] = ()
    deadline: float | None = None
    """Seconds that it may be active."""


class Stop(msgspec.Struct, frozen=True):
    """The pod was told to end: when, and when it is killed."""

    since: float
    deadline: float


class Over(msgspec.Struct, frozen=True):
    """The pod has come to its end by itself, or was not taken in."""

    phase: Literal["Succeeded", "Failed"]
    reason: str = ""
    message: str = ""


class Life(msgspec.Struct, frozen=True, kw_only=True):
    """A pod at a moment. Its containers are in the order of the plan's."""

    admitted: float
    ip: str = ""
    init: tuple[Container, ...] = ()
    regular: tuple[Container, ...] = ()
    stop: Stop | None = None
    over: Over | None = None
    at: float = 0.0
    """The last look; 0 for a life that was taken up from a status."""

    @property
    def containers(self) -> tuple[Container, ...]:
        return self.init + self.regular

    @property
    def is_gone(self) -> bool:
        """Whether a pod that was told to end has ended: nothing of it runs."""
        return self.stop is not None and not any(one.is_running for one in self.containers)


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
    return msgspec.structs.replace(begun(plan, admitted=at, ip=""), over=Over("Failed", reason, message))


def step(life: Life, plan: PodPlan, now: float) -> tuple[Life, float | None]:
    """The pod as it is now, and the moment at which something changes next by itself."""
    looked = life.at
    life = _settled(life, plan, looked or now)
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
    if life.stop is not None:
        stop = msgspec.structs.replace(life.stop, deadline=min(life.stop.deadline, deadline))
        return msgspec.structs.replace(life, stop=stop)
    return msgspec.structs.replace(life, stop=Stop(since, max(since, deadline)))


def rebooted(life: Life, plan: PodPlan, now: float) -> Life:
    """The node was without power and is back: all that ran is lost, and the pod begins anew where it may."""
    lost = _all_end(life, now, LOST, "Unknown")
    if life.over is not None or life.stop is not None:
        return lost
    return msgspec.structs.replace(
        lost,
        init=tuple(map(_anew, lost.init, plan.init)),
        regular=tuple(map(_anew, lost.regular, plan.regular)),
    )


def is_initialized(life: Life, plan: PodPlan, now: float) -> bool:
    """Whether the regular containers may run."""
    return all(is_passed(one, wanted, now) for one, wanted in zip(life.init, plan.init, strict=True))


def _anew(container: Container, wanted: Plan) -> Container:
    """After a reboot nothing is left of an init container's work, and what had ended for good stays as it is."""
    if not container.has_exited or container.exit is None:
        return Container(since=container.since, run=container.run, exit=container.exit)
    if (wanted.role == "init" and container.exit.code == 0) or wanted.restarts_after(container.exit.code):
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
    """The next change: of a container's state, of the pod as a whole (no place), or none but that time has passed."""

    moment: float
    place: Place | None = None
    is_deadline: bool = False


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
        moment = max(life.admitted + plan.deadline, looked)
        if found is None or moment < found.moment:
            found = Due(moment, is_deadline=True)
    return found


def _transition(life: Life, plan: PodPlan, place: Place, container: Container, wanted: Plan) -> float | None:
    by_itself = containers.transition(container, wanted)
    if life.stop is None:
        return by_itself
    if not container.is_running:
        return None
    stops = _stops_at(life, plan, place, wanted)
    return stops if by_itself is None else min(stops, by_itself)


def _stops_at(life: Life, plan: PodPlan, place: Place, wanted: Plan) -> float:
    """When a container that runs in a pod that is to end has ended, at the latest when it is killed."""
    assert life.stop is not None
    told = life.stop.since
    if wanted.role == "sidecar":
        others = [(at, one) for at, one, _ in _places(life, plan) if at != place]
        if any(one.is_running and (plan_of(plan, at).role != "sidecar" or at > place) for at, one in others):
            return life.stop.deadline  # it is not its turn
        told = max([told, *(one.exit.ended for _, one in others if one.has_exited and one.exit is not None)])
    return min(told + wanted.stop_delay, life.stop.deadline)


def plan_of(plan: PodPlan, place: Place) -> Plan:
    found: Plan = getattr(plan, place[0])[place[1]]
    return found


# What becomes of it


def _advanced(life: Life, plan: PodPlan, due: Due) -> Life:
    if due.is_deadline:
        message = "Pod was active on the node longer than the specified deadline"
        ended = _all_end(life, due.moment, KILLED, "Error")
        return msgspec.structs.replace(ended, over=Over("Failed", "DeadlineExceeded", message))
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
    """What follows at once: whose turn it is, and whether the pod has come to its end."""
    if life.stop is not None or life.over is not None:
        return life
    for index, (container, wanted) in enumerate(zip(life.init, plan.init, strict=True)):
        if container.state == "waiting":
            return _put(life, ("init", index), containers.its_turn(container, moment))
        if not is_passed(container, wanted, moment):
            return _over_if_failed(life, container, wanted, moment)
    if any(one.state == "waiting" for one in life.regular):
        regular = tuple(containers.its_turn(one, moment) if one.state == "waiting" else one for one in life.regular)
        return msgspec.structs.replace(life, regular=regular)
    return _over_if_done(life, plan, moment)


def is_passed(container: Container, wanted: Plan, moment: float) -> bool:
    """Whether the next init container may run."""
    if wanted.role == "sidecar":
        return container.has_started(wanted, moment) or container.run > 0
    return container.has_exited and container.exit is not None and container.exit.code == 0


def _over_if_failed(life: Life, container: Container, wanted: Plan, moment: float) -> Life:
    """An init container that failed and does not run again is the end of the pod."""
    if wanted.role != "init" or not container.has_exited or containers.restart_at(container, wanted) is not None:
        return life
    return msgspec.structs.replace(_all_end(life, moment, 0, "Completed"), over=Over("Failed"))


def _over_if_done(life: Life, plan: PodPlan, moment: float) -> Life:
    codes = []
    for container, wanted in zip(life.regular, plan.regular, strict=True):
        if not container.has_exited or container.exit is None or containers.restart_at(container, wanted) is not None:
            return life
        codes.append(container.exit.code)
    over = Over("Failed" if any(codes) else "Succeeded")
    return msgspec.structs.replace(_all_end(life, moment, 0, "Completed"), over=over)


def _all_end(life: Life, moment: float, code: int, reason: str) -> Life:
    def end(container: Container) -> Container:
        return containers.ended(container, moment, code, reason=reason) if container.is_running else container

    return msgspec.structs.replace(life, init=tuple(map(end, life.init)), regular=tuple(map(end, life.regular)))
