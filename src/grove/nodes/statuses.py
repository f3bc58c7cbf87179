"""A pod's life as the status that a kubelet writes, and a life taken up from such a status. Pure.

What is written is the difference to what the API has: conditions that others own are not touched, and the time of a
condition changes only with its status.
"""

from __future__ import annotations

import hashlib
from typing import Any, Final, Literal

import msgspec

from grove.api import durations
from grove.kube.objects import Condition
from grove.nodes import containers, life
from grove.nodes.containers import Container, Plan
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


class View(msgspec.Struct, frozen=True):
    """All that a status is made of."""

    pod: PodRecord
    node: NodeRecord
    plan: PodPlan
    life: Life
    now: float


def difference(view: View) -> dict[str, Any] | None:
    """The strategic merge patch of the pod's status; None if the API has it already."""
    held, lived = view.pod.status, view.life
    wanted: dict[str, Any] = {"phase": phase(view)}
    if lived.over is not None and lived.over.reason:
        wanted |= {"reason": lived.over.reason, "message": lived.over.message}
    if held.start_time is None:
        wanted["startTime"] = stamp(lived.admitted)
    if lived.ip:
        host = view.node.host_ip
        wanted |= {"hostIP": host, "hostIPs": [{"ip": host}], "podIP": lived.ip, "podIPs": [{"ip": lived.ip}]}
    known = {
        "phase": held.phase,
        "reason": held.reason,
        "message": held.message,
        "hostIP": held.host_ip,
        "podIP": held.pod_ip,
    }
    changes = {key: value for key, value in wanted.items() if key not in known or known[key] != value}
    for derived, origin in (("hostIPs", "hostIP"), ("podIPs", "podIP")):
        if origin not in changes:
            changes.pop(derived, None)
    changes |= _containers(view)
    if changed := [one for one in conditions(view) if one not in held.conditions]:
        changes["conditions"] = [_condition(one, view) for one in changed]
    if not changes:
        return None
    if view.pod.metadata.generation:  # servers that count the generations of pods know this field
        changes["observedGeneration"] = view.pod.metadata.generation
    # With the uid, a pod that came under the same name meanwhile is a conflict.
    return {"metadata": {"uid": view.pod.metadata.uid}, "status": changes}


def phase(view: View) -> str:
    lived, plan = view.life, view.plan
    if lived.over is not None:
        return lived.over.phase
    if lived.is_gone:
        return "Succeeded" if all(one.exit and one.exit.code == 0 for one in lived.regular) else "Failed"
    if not life.is_initialized(lived, plan, view.now) and not any(one.exit or one.is_running for one in lived.regular):
        return "Pending"
    if any(one.exit is None and not one.is_running for one in lived.regular):
        return "Pending"
    return "Running"


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
    if "PodScheduled" not in held:
        made.append(Condition(type="PodScheduled", status="True", last_transition_time=stamp(view.life.admitted)))
    return made


def _observed(view: View) -> list[tuple[str, bool, str, str]]:
    lived, plan = view.life, view.plan
    over = lived.over
    if over is not None and not lived.ip:  # it was never taken in
        return []
    passed = life.is_initialized(lived, plan, view.now)
    if over is not None:
        why = "PodCompleted" if over.phase == "Succeeded" else "PodFailed"
        initialized = (passed, why if passed and over.phase == "Succeeded" else "", "")
        return [
            ("PodReadyToStartContainers", False, "", ""),
            ("Initialized", *initialized),
            ("ContainersReady", False, why, ""),
            ("Ready", False, why, ""),
        ]
    undone = [
        wanted.name
        for one, wanted in zip(lived.init, plan.init, strict=True)
        if not life.is_passed(one, wanted, view.now)
    ]
    unready = [
        wanted.name
        for one, wanted in zip(lived.containers, plan.init + plan.regular, strict=True)
        if wanted.role != "init" and not one.is_ready(wanted, view.now)
    ]
    incomplete = ("ContainersNotInitialized", _named("incomplete", undone)) if undone else ("", "")
    not_ready = ("ContainersNotReady", _named("unready", unready)) if unready else ("", "")
    gates = _closed_gates(view)
    ready = not_ready if unready else (("ReadinessGatesNotReady", gates) if gates else ("", ""))
    return [
        ("PodReadyToStartContainers", True, "", ""),
        ("Initialized", not undone, *incomplete),
        ("ContainersReady", not unready, *not_ready),
        ("Ready", not unready and not gates, *ready),
    ]


def _named(what: Literal["incomplete", "unready"], names: list[str]) -> str:
    return f"containers with {what} status: [{' '.join(names)}]"


def _closed_gates(view: View) -> str:
    """What others have to say before the pod is ready, and have not."""
    held = {one.type: one.status for one in view.pod.status.conditions}
    missing = []
    for gate in view.pod.spec.readiness_gates:
        if gate.condition_type not in held:
            missing.append(f'corresponding condition of pod readiness gate "{gate.condition_type}" does not exist.')
        elif held[gate.condition_type] != "True":
            missing.append(f'the status of pod readiness gate "{gate.condition_type}" is not "True"')
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
    pod, lived, plan = view.pod, view.life, view.plan
    if lived.over is not None and not lived.ip:
        return {}
    changes = {}
    rows = (
        ("containerStatuses", pod.spec.containers, plan.regular, lived.regular, pod.status.container_statuses),
        (
            "initContainerStatuses",
            pod.spec.init_containers,
            plan.init,
            lived.init,
            pod.status.init_container_statuses,
        ),
    )
    for key, specs, plans, lives, held in rows:
        made = tuple(
            container_status(view, spec, wanted, one) for spec, wanted, one in zip(specs, plans, lives, strict=True)
        )
        if made != held:
            changes[key] = made
    return changes


def container_status(view: View, spec: ContainerSpec, plan: Plan, container: Container) -> ContainerStatus:
    uid = view.pod.metadata.uid or ""
    ever_ran = container.exit is not None or container.is_running
    last = container.exit
    state = _state(view, plan, container, uid)
    is_last_shown = last is not None and state.terminated is None
    return ContainerStatus(
        name=spec.name,
        state=state,
        last_state=ContainerState(terminated=_terminated(last, _id(uid, plan, _ended_run(container))))
        if last is not None and is_last_shown
        else ContainerState(),
        ready=container.is_ready(plan, view.now),
        restart_count=container.run,
        image=spec.image,
        image_id=_image_id(spec.image) if ever_ran else "",
        container_id=_id(uid, plan, container.run if container.is_running else _ended_run(container))
        if ever_ran
        else "",
        started=container.has_started(plan, view.now),
    )


def _state(view: View, plan: Plan, container: Container, uid: str) -> ContainerState:
    pod = view.pod
    match container.state:
        case "running":
            return ContainerState(running=Running(started_at=stamp(container.since)))
        case "exited" if container.exit is not None:
            again = None if view.life.over or view.life.stop else containers.restart_at(container, plan)
            if again is None:
                return ContainerState(terminated=_terminated(container.exit, _id(uid, plan, container.run)))
            wait = durations.text(round(containers.backoff(container.streak)) * durations.SECOND)
            who = f"container={plan.name} pod={pod.metadata.name}_{pod.metadata.namespace}({uid})"
            message = f"back-off {wait} restarting failed {who}"
            return ContainerState(waiting=Waiting(reason=CRASH_LOOP, message=message))
        case "pull_failed":
            return ContainerState(waiting=Waiting(reason=PULL_FAILED, message=plan.behaviour.image_pull_error))
        case "pull_backoff":
            message = f'Back-off pulling image "{_image(pod, plan)}": {plan.behaviour.image_pull_error}'
            return ContainerState(waiting=Waiting(reason=PULL_BACKOFF, message=message))
    return ContainerState(waiting=Waiting(reason=INITIALIZING if pod.spec.init_containers else CREATING))


def _terminated(exit: containers.Exit, container_id: str) -> Terminated:
    return Terminated(
        exit_code=exit.code,
        reason=exit.reason,
        message=exit.message,
        started_at=stamp(exit.began),
        finished_at=stamp(exit.ended),
        container_id=container_id,
    )


def _image(pod: PodRecord, plan: Plan) -> str:
    rows = pod.spec.containers + pod.spec.init_containers
    return next((one.image for one in rows if one.name == plan.name), "")


def _ended_run(container: Container) -> int:
    """The run that `exit` is the end of."""
    return container.run if container.has_exited else container.run - 1


def _id(uid: str, plan: Plan, run: int) -> str:
    return f"simulated://{hashlib.sha256(f'{uid}/{plan.name}/{run}'.encode()).hexdigest()}"


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
    if status.phase in ("Succeeded", "Failed"):
        over = life.Over("Succeeded" if status.phase == "Succeeded" else "Failed", status.reason, status.message)
    return Life(
        admitted=admitted,
        ip=status.pod_ip,
        init=_all_taken_up(plan.init, status.init_container_statuses, admitted),
        regular=_all_taken_up(plan.regular, status.container_statuses, admitted),
        over=over,
    )


def _all_taken_up(
    plans: tuple[Plan, ...], statuses: tuple[ContainerStatus, ...], admitted: float
) -> tuple[Container, ...]:
    known = {one.name: one for one in statuses}
    return tuple(_taken_up(known.get(plan.name), admitted) for plan in plans)


def _taken_up(status: ContainerStatus | None, admitted: float) -> Container:
    if status is None:
        return Container(since=admitted)
    run = status.restart_count
    last = _exit(status.last_state.terminated)
    if status.state.running is not None:
        since = seconds(status.state.running.started_at) or admitted
        return Container(state="running", since=since, run=run, exit=last, streak=run)
    ended = _exit(status.state.terminated) or (last if _waits_to_restart(status) else None)
    if ended is not None:
        return Container(state="exited", since=ended.ended, run=run, exit=ended, streak=run + 1)
    return Container(since=admitted, run=run, exit=last)


def _waits_to_restart(status: ContainerStatus) -> bool:
    return status.state.waiting is not None and status.state.waiting.reason == CRASH_LOOP


def _exit(ended: Terminated | None) -> containers.Exit | None:
    if ended is None:
        return None
    began, over = seconds(ended.started_at) or 0.0, seconds(ended.finished_at) or 0.0
    return containers.Exit(ended.exit_code, ended.reason, began, over, ended.message)
