"""Lives of pods told as stories: a pod, its node, what happens when, and the status that the API has then."""

import copy
from collections.abc import Mapping
from typing import Any

import msgspec

from grove.nodes import happenings, life, plans, statuses
from grove.nodes.behaviour import Problem
from grove.nodes.happenings import Happening
from grove.nodes.life import Life, PodPlan
from grove.nodes.moments import seconds, stamp
from grove.nodes.objects import ContainerStatus, NodeRecord, PodRecord
from grove.nodes.plans import Defaults
from grove.nodes.statuses import View

BIRTH = 1_800_000_000.0
"""When the pods of stories are taken in: moments in them are seconds since then."""

NODE = msgspec.convert(
    {
        "metadata": {"name": "node-a"},
        "spec": {"podCIDR": "10.0.0.0/24"},
        "status": {
            "allocatable": {"cpu": "8", "memory": "32Gi", "pods": "110"},
            "addresses": [{"type": "Hostname", "address": "node-a"}, {"type": "InternalIP", "address": "192.0.2.1"}],
        },
    },
    NodeRecord,
)

Json = dict[str, Any]

MERGED_BY = {"conditions": "type", "hostIPs": "ip", "podIPs": "ip"}
"""The lists of a pod's status that a strategic merge patch merges; all others it replaces."""


def merged(old: Any, patch: Any) -> Any:
    """The value after a strategic merge patch, as an API server makes it of a pod's status."""
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    result = dict(old) if isinstance(old, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        elif key in MERGED_BY:
            result[key] = _merged_list(result.get(key, []), value, MERGED_BY[key])
        else:
            result[key] = merged(result.get(key), value)
    return result


def _merged_list(old: list[Json], patch: list[Json], by: str) -> list[Json]:
    is_replaced = {"$patch": "replace"} in patch
    rows = {} if is_replaced else {one[by]: one for one in old}
    for one in patch:
        if by in one:
            rows[one[by]] = merged(rows.get(one[by]), one)
    return list(rows.values())


def pod(
    *containers: Json,
    init: tuple[Json, ...] = (),
    annotations: Mapping[str, str] | None = None,
    status: Json | None = None,
    metadata: Json | None = None,
    **spec: Any,
) -> PodRecord:
    """A pod; a container without an image has one of its name."""

    def named(one: Json) -> Json:
        return {"image": f"{one['name']}:1"} | one

    return msgspec.convert(
        {
            "metadata": {"name": "pod", "namespace": "default", "uid": "uid-1", "annotations": dict(annotations or {})}
            | (metadata or {}),
            "spec": {
                "nodeName": "node-a",
                "containers": [named(one) for one in containers or ({"name": "main"},)],
                "initContainers": [named(one) for one in init],
            }
            | spec,
            "status": status or {},
        },
        PodRecord,
    )


def simulated(**words: str) -> dict[str, str]:
    """`crash_after="1s"`, and `worker__crash_after="1s"` for the container `worker` alone."""
    named = {}
    for word, text in words.items():
        container, _, rest = word.rpartition("__")
        place = f"{container.replace('_', '-')}.simulate.grove.io" if container else "simulate.grove.io"
        named[f"{place}/{rest.replace('_', '-')}"] = text
    return named


class Story:
    """A pod's life as its kubelet would have it go on, and the API's idea of it."""

    def __init__(self, told: PodRecord, node: NodeRecord = NODE, defaults: Defaults | None = None) -> None:
        self.node = node
        self.defaults = defaults or Defaults()
        self.now = BIRTH
        self.pod = told
        self.life: Life | None = life.begun(self.plan, admitted=BIRTH, ip="10.0.0.1")
        self.wake: float | None = None
        self.patches: list[Json] = []
        self.happened: list[Happening] = []
        self.before: Life | None = None

    @property
    def plan(self) -> PodPlan:
        return plans.of_pod(self.pod, self.node.metadata.annotations or {}, self.defaults)[0]

    @property
    def problems(self) -> tuple[Problem, ...]:
        return plans.of_pod(self.pod, self.node.metadata.annotations or {}, self.defaults)[1]

    @property
    def lived(self) -> Life:
        assert self.life is not None
        return self.life

    def at(self, moment: float) -> "Story":
        """The kubelet looks, so many seconds after the pod's birth."""
        self.now = BIRTH + moment
        plan = self.plan
        taken_up = self.life or statuses.taken_up(self.pod, plan)
        assert taken_up is not None
        self.life, self.wake = life.step(taken_up, plan, self.now)
        self.happened += happenings.between(self.before, self.life, plan, self.pod)
        self.before = self.life
        self.write()
        return self

    def write(self) -> None:
        change = statuses.difference(View(self.pod, self.node, self.plan, self.lived, self.now))
        if change is not None:
            self.patches.append(plain(change))
            self.apply(plain(change))
            assert statuses.difference(View(self.pod, self.node, self.plan, self.lived, self.now)) is None

    def apply(self, patch: Json) -> None:
        """Somebody's patch reaches the API."""
        self.pod = msgspec.convert(merged(plain(self.pod), patch), PodRecord)

    def told_to_stop(self, moment: float, grace: float = 30) -> "Story":
        """The pod is deleted."""
        self.at(moment)
        generation = self.pod.metadata.generation
        counted = {} if generation is None else {"generation": generation + 1}
        self.apply({"metadata": {"deletionTimestamp": stamp(self.now + grace)} | counted})
        self.life = life.stopped(self.lived, since=self.now, deadline=self.now + grace)
        return self.at(moment)

    def finished(self, moment: float, index: int, code: int, message: str = "") -> "Story":
        """An init container that really does its work has ended."""
        self.at(moment)
        self.life = life.finished(self.lived, ("init", index), self.lived.init[index].run, self.now, code, message)
        return self.at(moment)

    def rebooted(self, moment: float) -> "Story":
        self.at(moment)
        self.life = life.rebooted(self.lived, self.plan, self.now)
        return self.at(moment)

    def restarted(self) -> "Story":
        """The simulator ends and starts again: what it knew is gone."""
        self.life = self.before = None
        return self

    # What can be said of it

    def line(self) -> str:
        """`Running; main running 0 ready`: the phase and all containers, with `xN` for N restarts."""
        rows = self.pod.status.init_container_statuses + self.pod.status.container_statuses
        return "; ".join([self.phase, *map(_row, rows)])

    def tells(self, *tale: tuple[float, str]) -> "Story":
        """At these moments, this is what the API has."""
        for moment, line in tale:
            found = self.at(moment).line()
            assert found == line, f"at {moment}: {found!r}, not {line!r}"
        return self

    @property
    def status(self) -> Json:
        status = plain(self.pod)["status"]
        assert isinstance(status, dict)
        return status

    def container(self, name: str = "main") -> ContainerStatus:
        rows = self.pod.status.init_container_statuses + self.pod.status.container_statuses
        return next(one for one in rows if one.name == name)

    def state(self, name: str = "main") -> str:
        """`waiting PodInitializing`, `running 3`, `terminated 1 Error 3-5`: times are seconds since the birth."""
        return told(self.container(name).state)

    def last(self, name: str = "main") -> str:
        return told(self.container(name).last_state)

    def condition(self, type_: str) -> str:
        """`True`, `False PodFailed`, `False ContainersNotReady: the message`."""
        one = next(one for one in self.pod.status.conditions if one.type == type_)
        return " ".join(filter(None, (one.status, one.reason))) + (f": {one.message}" if one.message else "")

    @property
    def phase(self) -> str:
        return self.pod.status.phase

    @property
    def wakes(self) -> float | None:
        return None if self.wake is None else self.wake - BIRTH


def _row(one: ContainerStatus) -> str:
    words = [one.name, told(one.state)]
    if one.ready or one.started:
        words.append("ready" if one.ready else "started")
    if one.restart_count:
        words.append(f"x{one.restart_count}")
    return " ".join(words)


def told(state: Any) -> str:
    if state.running is not None:
        return f"running {_moment(state.running.started_at)}"
    if state.terminated is not None:
        one = state.terminated
        times = f" {_moment(one.started_at)}-{_moment(one.finished_at)}" if one.started_at else ""
        return f"terminated {one.exit_code} {one.reason}{times}"
    return f"waiting {state.waiting.reason}" if state.waiting is not None else ""


def _moment(text: str | None) -> int:
    moment = seconds(text)
    assert moment is not None
    return int(moment - BIRTH)


def plain(value: Any) -> Json:
    """As JSON has it."""
    made = msgspec.json.decode(msgspec.json.encode(value))
    assert isinstance(made, dict)
    return made
