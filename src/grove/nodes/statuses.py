"""A pod's life as the status that a kubelet writes, and a life taken up from such a status. Pure.

What is written is the difference to what the API has: conditions that others own are not touched, and the time of a
condition changes only with its status.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterator
from typing import Any, Final, Literal

import msgspec

from grove.api import durations
from grove.kube.objects import Condition
from grove.nodes import containers, life
from grove.nodes.containers import UNSEEN, Container, Plan
from grove.nodes.life import Life, PodPlan
from grove.nodes.moments import seconds, stamp
from grove.nodes.objects import (
    ContainerSpec,
    ContainerState,
    ContainerStatus,
    NodeRecord,
    PodRecord,
    Running,
    Terminated,
    Waiting,
)

CREATING: Final = "ContainerCreating"
INITIALIZING: Final = "PodInitializing"
CRASH_LOOP: Final = "CrashLoopBackOff"
PULL_FAILED: Final = "ErrImagePull"
PULL_BACKOFF: Final = "ImagePullBackOff"


ENDS: Final = ("Succeeded", "Failed")


class View(msgspec.Struct, frozen=True):
    """All that a status is made of."""

    pod: PodRecord
    node: NodeRecord
    plan: PodPlan
    life: Life
    now: float


def difference(view: View) -> dict[str, Any] | None:
    """The strategic merge patch of the pod's status; None if the API has it already."""
    held, lived, pod = view.pod.status, view.life, view.pod
    changes = _summary(view)
    if not lived.is_rejected:
        changes |= _addresses(view)
        changes |= _containers(view)
        if changed := [one for one in conditions(view) if one not in held.conditions]:
            changes["conditions"] = [_condition(one, view) for one in changed]
    # Servers that count the generations of pods know the field. That a pod is to go is a generation too, not worth one
    # more write.
    generation = pod.metadata.generation or 0
    is_observed = held.observed_generation >= generation
    if not changes and (is_observed or pod.metadata.deletion_timestamp is not None):
        return None
    if not is_observed:
        changes["observedGeneration"] = generation
    # With the uid, a pod that came under the same name meanwhile is a conflict.
    return {"metadata": {"uid": pod.metadata.uid}, "status": changes}


def _summary(view: View) -> dict[str, Any]:
    held, over = view.pod.status, view.life.over
    changes: dict[str, Any] = {}
    if (reached := phase(view)) != held.phase:
        changes["phase"] = reached
        if over is not None and over.reason:
            changes |= {"reason": over.reason, "message": over.message}
    if held.start_time is None:
        changes["startTime"] = stamp(view.life.admitted)
    return changes


def _addresses(view: View) -> dict[str, Any]:
    held = view.pod.status
    changes: dict[str, Any] = {}
    for one, many, known, wanted in (
        ("hostIP", "hostIPs", held.host_ip, view.node.host_ip),
        ("podIP", "podIPs", held.pod_ip, view.life.ip),
    ):
        if wanted and wanted != known:
            changes[one] = wanted
            # The lists are merged by address: without a word the old one would stay.
            changes[many] = [{"ip": wanted}] if not known else [{"$patch": "replace"}, {"ip": wanted}]
    return changes


def phase(view: View) -> str:
    """As kubelets have it: a reboot may take a pod back to Pending, but nothing takes it back from its end."""
    held, lived = view.pod.status, view.life
    if held.phase in ENDS:
        return held.phase
    if lived.over is not None:
        return lived.over.phase
    if any(one.exit is None and not one.is_running for one in lived.regular):
        return "Pending"  # of which some have never run
    have_run = any(one.has_exited or one.is_running for one in lived.regular)
    for one, wanted in zip(lived.init, view.plan.init, strict=True):
        is_begun = one.is_running or one.exit is not None
        if wanted.role == "init" and (one.is_running or not is_begun):
            return "Pending"
        if wanted.role == "sidecar" and not have_run and (not is_begun or _is_starting(one, wanted, view.now)):
            return "Pending"
    return "Running"


def _is_starting(container: Container, wanted: Plan, now: float) -> bool:
    return container.is_running and not container.has_started(wanted, now)


# Conditions


def conditions(view: View) -> list[Condition]:
    """Those that are a kubelet's, with the times of those that have not changed."""
    held = {one.type: one for one in view.pod.status.conditions}
    made = []
    for type_, holds, reason, message in _observed(view):
        known = held.get(type_)
        status = "True" if holds else "False"
        is_same = known is not None and known.status == status
        time = known.last_transition_time if known is not None and is_same else stamp(view.now)
        made.append(Condition(type=type_, status=status, reason=reason, message=message, last_transition_time=time))
    return made


def _observed(view: View) -> list[tuple[str, bool, str, str]]:
    reached = phase(view)
    containers_ready = _containers_ready(view, reached)
    ready = containers_ready
    if containers_ready[0] and (gates := _closed_gates(view)):
        ready = (False, "ReadinessGatesNotReady", gates)
    return [
        ("PodReadyToStartContainers", view.life.over is None, "", ""),
        ("Initialized", *_initialized(view, reached)),
        ("Ready", *ready),
        ("ContainersReady", *containers_ready),
        ("PodScheduled", True, "", ""),
    ]


def _containers_ready(view: View, reached: str) -> tuple[bool, str, str]:
    lived, plan = view.life, view.plan
    if reached in ENDS:
        return False, "PodCompleted" if reached == "Succeeded" else "PodFailed", ""
    unready = [
        wanted.name
        for one, wanted in zip(lived.containers, plan.init + plan.regular, strict=True)
        if wanted.role != "init" and not one.is_ready(wanted, view.now)
    ]
    return (False, "ContainersNotReady", _named("unready", unready)) if unready else (True, "", "")


def _initialized(view: View, reached: str) -> tuple[bool, str, str]:
    """Once it holds it goes on holding, whatever sidecars do."""
    lived, plan = view.life, view.plan
    if reached == "Succeeded":
        return True, "PodCompleted", ""
    if any(one.type == "Initialized" and one.status == "True" for one in view.pod.status.conditions):
        return True, "", ""
    if any(one.is_running or one.exit is not None for one in lived.regular):
        return True, "", ""
    undone = [
        wanted.name
        for one, wanted in zip(lived.init, plan.init, strict=True)
        if not (one.is_ready(wanted, view.now) if wanted.role == "init" else one.has_started(wanted, view.now))
    ]
    return (False, "ContainersNotInitialized", _named("incomplete", undone)) if undone else (True, "", "")


def _named(what: Literal["incomplete", "unready"], names: list[str]) -> str:
    return f"containers with {what} status: [{' '.join(names)}]"


def _closed_gates(view: View) -> str:
    """What others have to say before the pod is ready, and have not."""
    held = {one.type: one.status for one in view.pod.status.conditions}
    missing = []
    for gate in view.pod.spec.readiness_gates:
        name = f'pod readiness gate "{gate.condition_type}"'
        if gate.condition_type not in held:
            missing.append(f"corresponding condition of {name} does not exist.")
        elif held[gate.condition_type] != "True":
            missing.append(f'the status of {name} is not "True", but {held[gate.condition_type]}')
    return ", ".join(missing)


def _condition(one: Condition, view: View) -> dict[str, Any]:
    made: dict[str, Any] = {"type": one.type, "status": one.status, "lastTransitionTime": one.last_transition_time}
    # Null takes away what an earlier status of the condition said.
    made |= {"reason": one.reason or None, "message": one.message or None, "lastProbeTime": None}
    if view.pod.metadata.generation:
        made["observedGeneration"] = view.pod.metadata.generation
    return made


# Containers


def _containers(view: View) -> dict[str, Any]:
    spec, held, plan, lived = view.pod.spec, view.pod.status, view.plan, view.life
    changes = {}
    init = _statuses(view, spec.init_containers, plan.init, lived.init)
    if init != held.init_container_statuses:
        changes["initContainerStatuses"] = init
    regular = tuple(sorted(_statuses(view, spec.containers, plan.regular, lived.regular), key=lambda one: one.name))
    if regular != held.container_statuses:
        changes["containerStatuses"] = regular
    return changes


def _statuses(
    view: View, specs: tuple[ContainerSpec, ...], plans: tuple[Plan, ...], lives: tuple[Container, ...]
) -> tuple[ContainerStatus, ...]:
    rows = zip(specs, plans, lives, strict=True)
    return tuple(container_status(view, spec, wanted, one) for spec, wanted, one in rows)


def container_status(view: View, spec: ContainerSpec, plan: Plan, container: Container) -> ContainerStatus:
    uid = view.pod.metadata.uid or ""
    state = _state(view, spec, plan, container, uid)
    ended_run = container.run if container.has_exited else container.run - 1
    last, last_run = container.exit, ended_run
    if state.terminated is not None:
        last, last_run = container.previous, ended_run - 1
    has_run = container.is_running or (container.exit is not None and container.exit != UNSEEN)
    return ContainerStatus(
        name=spec.name,
        state=state,
        last_state=ContainerState(terminated=None if last is None else _terminated(last, uid, plan, last_run)),
        ready=container.is_ready(plan, view.now),
        restart_count=container.run,
        image=spec.image,
        image_id=_image_id(spec.image) if has_run else "",
        container_id=_id(uid, plan, container.run if container.is_running else ended_run) if has_run else "",
        started=container.has_started(plan, view.now),
    )


def _state(view: View, spec: ContainerSpec, plan: Plan, container: Container, uid: str) -> ContainerState:
    match container.state:
        case "running":
            return ContainerState(running=Running(started_at=stamp(container.since)))
        case "exited" if container.exit is not None:
            again = None if view.life.over or view.life.stop else containers.restart_at(container, plan)
            if again is None:
                return ContainerState(terminated=_terminated(container.exit, uid, plan, container.run))
            wait = durations.text(round(containers.backoff(container.streak)) * durations.SECOND)
            message = f"back-off {wait} restarting failed container={plan.name} pod={full_name(view.pod)}"
            return ContainerState(waiting=Waiting(reason=CRASH_LOOP, message=message))
        case "pull_failed":
            return ContainerState(waiting=Waiting(reason=PULL_FAILED, message=plan.behaviour.image_pull_error))
        case "pull_backoff":
            # The image may be there again: then it is pulled at the next look.
            message = f'Back-off pulling image "{spec.image}": {PULL_FAILED}: {plan.behaviour.image_pull_error}'
            return ContainerState(waiting=Waiting(reason=PULL_BACKOFF, message=message))
    return ContainerState(waiting=Waiting(reason=INITIALIZING if view.pod.spec.init_containers else CREATING))


def full_name(pod: PodRecord) -> str:
    """How kubelets call a pod in messages."""
    return f"{pod.metadata.name}_{pod.metadata.namespace}({pod.metadata.uid})"


def _terminated(exit: containers.Exit, uid: str, plan: Plan, run: int) -> Terminated:
    return Terminated(
        exit_code=exit.code,
        reason=exit.reason,
        message=exit.message,
        started_at=stamp(exit.began) if exit.began else None,
        finished_at=stamp(exit.ended) if exit.ended else None,
        container_id=_id(uid, plan, run) if exit.began else "",
    )


def _id(uid: str, plan: Plan, run: int) -> str:
    return f"simulated://{hashlib.sha256(f'{uid}/{plan.name}/{run}'.encode()).hexdigest()}"


@functools.lru_cache(maxsize=1024)
def _image_id(image: str) -> str:
    return f"{image.partition('@')[0]}@sha256:{hashlib.sha256(image.encode()).hexdigest()}"


# The way back


def taken_up(pod: PodRecord, plan: PodPlan) -> Life | None:
    """The life that a status tells of; None if no kubelet has taken the pod in yet. To the second, as times are."""
    status = pod.status
    admitted = seconds(status.start_time)
    if admitted is None:
        return None
    over = None
    if status.phase in ENDS:
        over = life.Over("Succeeded" if status.phase == "Succeeded" else "Failed", status.reason, status.message)
    init = _all_taken_up(plan.init, status.init_container_statuses, admitted)
    passed = _all_passed(plan.init, status.init_container_statuses, init)
    regular = _all_taken_up(plan.regular, status.container_statuses, admitted)
    return Life(
        admitted=admitted,
        # A pod that was taken in has statuses of containers.
        is_rejected=over is not None and not status.container_statuses,
        ip=status.pod_ip,
        init=init,
        regular=regular,
        over=over,
        # What has its turn now has had it since the last init container passed: it did not wait for us.
        at=max([admitted, *passed]),
    )


def _all_passed(
    plans: tuple[Plan, ...], statuses: tuple[ContainerStatus, ...], lives: tuple[Container, ...]
) -> Iterator[float]:
    """When init containers let the next one begin; of a sidecar that has restarted, the last time that it would."""
    started = {one.name for one in statuses if one.started}
    for plan, container in zip(plans, lives, strict=True):
        if plan.role == "sidecar" and plan.name in started:
            yield container.since + plan.startup_delay
        elif plan.role == "init" and container.has_exited and container.exit is not None and not container.exit.code:
            yield container.exit.ended


def _all_taken_up(
    plans: tuple[Plan, ...], statuses: tuple[ContainerStatus, ...], admitted: float
) -> tuple[Container, ...]:
    known = {one.name: one for one in statuses}
    return tuple(_taken_up(known.get(plan.name), admitted) for plan in plans)


def _taken_up(status: ContainerStatus | None, admitted: float) -> Container:
    if status is None:
        return Container(since=admitted)
    run = status.restart_count
    last, this = _exit(status.last_state.terminated), _exit(status.state.terminated)
    if status.state.running is not None:
        since = seconds(status.state.running.started_at) or admitted
        return Container(state="running", since=since, run=run, exit=last, streak=run)
    if this is not None:
        return Container(state="exited", since=this.ended, run=run, exit=this, previous=last, streak=run + 1)
    if last is not None and _waits_to_restart(status):
        return Container(state="exited", since=last.ended, run=run, exit=last, streak=run + 1)
    return Container(since=admitted, run=run, exit=last)


def _waits_to_restart(status: ContainerStatus) -> bool:
    return status.state.waiting is not None and status.state.waiting.reason == CRASH_LOOP


def _exit(ended: Terminated | None) -> containers.Exit | None:
    if ended is None:
        return None
    began, over = seconds(ended.started_at) or 0.0, seconds(ended.finished_at) or 0.0
    return containers.Exit(ended.exit_code, ended.reason, began, over, ended.message)
