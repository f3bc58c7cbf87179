"""What must be written for a pod's volumes and devices before it is bound, how to see that it is done, and how to undo
it. Pure; the binder carries it out.

`plan` is asked when the pods of a gang have been put on their nodes (`Cluster.put`): it reads what the rules promised
them. An object that several of them use has one step. Of a step, each write is a merge patch, sent with `body`: with
the uid of the object, so that no other of its name is meant, and with its resource version, first the step's, then that
of the answer before. A Conflict means that somebody else was there: undo the gang, and decide anew. When all is
written, the pods wait until `progress` says `done` of every step; they are classed anew on the way (`needs.py`), and
looked at once more before they are bound: a volume may have been made where a pod cannot use it.

What `undo` gives is done in the same way. NotFound is then no reason to worry; after a Conflict ask `undo` again, when
the surroundings have seen what changed.
"""

from __future__ import annotations

from collections.abc import Iterable

from grove.kube.objects import NodeView, PodView
from grove.scheduler.devicesteps import Used, device_claims, device_step, devices_progress, undo_devices
from grove.scheduler.step import JSON, Progress, Refused, Step, User, Write
from grove.scheduler.surroundings import Surroundings
from grove.scheduler.volumesteps import undo_volume, volume_progress, volume_steps

__all__ = ["Progress", "Refused", "Step", "Write", "body", "plan", "progress", "steps", "undo"]


def steps(pod: PodView, node: NodeView, surroundings: Surroundings, *, now: float) -> tuple[Step, ...]:
    """What must be written for one pod; nothing for most. Raises Refused. `now` is in seconds since 1970."""
    return plan([(pod, node)], surroundings, now=now)


def plan(puts: Iterable[User], surroundings: Surroundings, *, now: float) -> tuple[Step, ...]:
    """The same for the pods of a gang. The order of steps does not matter. Raises Refused."""
    found: dict[tuple[str, str, str], Step] = {}
    claims: dict[Used, list[User]] = {}
    for pod, node in puts:
        for step in volume_steps(pod, node, surroundings):
            key = (step.resource.name, step.namespace, step.name)
            known = found.get(key)
            found[key] = step if known is None else known._replace(users=(*known.users, *step.users))
        for claim in device_claims(pod, surroundings):
            claims.setdefault(claim, []).append((pod, node))
    return (*found.values(), *(device_step(claim, tuple(users), surroundings, now) for claim, users in claims.items()))


def body(step: Step, write: Write, resource_version: str) -> JSON:
    """What to send. `resource_version`: the step's for the first write, then that of the answer before."""
    metadata = {**write.patch.get("metadata", {}), "uid": step.uid}
    if resource_version:
        metadata["resourceVersion"] = resource_version
    return {**write.patch, "metadata": metadata}


def progress(step: Step, surroundings: Surroundings, written: str = "") -> Progress | str:
    """How far a step is: `done`, `waiting`, or why it will come to nothing.

    `written` is the resource version that the last write answered with: before the surroundings have seen it, nothing
    is known.
    """
    return (
        devices_progress(step, surroundings, written)
        if _is_devices(step)
        else volume_progress(step, surroundings, written)
    )


def undo(step: Step, surroundings: Surroundings) -> Step | None:
    """What takes a step back, as things are now; None: there is nothing to take back."""
    return undo_devices(step, surroundings) if _is_devices(step) else undo_volume(step, surroundings)


def _is_devices(step: Step) -> bool:
    return step.kind == "give devices"
