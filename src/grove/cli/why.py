"""`grove why`: where a gang is, or why it waits, without asking the scheduler's process."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from grove.api import conditions, labels
from grove.api.kinds.meta import Condition
from grove.api.kinds.schedulerconfig import SchedulerConfiguration
from grove.cli import configuration as configurations
from grove.cli import gangs, output, program
from grove.cli.failure import Failure

if TYPE_CHECKING:
    from grove.kube.connection import Connection
    from grove.kube.objects import PodView
    from grove.kube.reader import Reader
    from grove.scheduler.answers import GangAnswer
    from grove.scheduler.engine import Engine
    from grove.scheduler.reading import Leader

_KINDS: Final = {
    "pod": "pod",
    "pods": "pod",
    "po": "pod",
    "podgang": "podgang",
    "podgangs": "podgang",
    "pg": "podgang",
    "pcs": "pcs",
    "podcliqueset": "pcs",
    "podcliquesets": "pcs",
}
_HELP: Final = "name it as kubectl get pods, podgangs or pcs does, and its namespace with -n"


class Report(NamedTuple):
    """What is found out."""

    subject: str
    gangs: list[tuple[GangAnswer, Condition | None]]
    """With what the scheduler has written on the PodGang."""
    notes: list[str]
    """About pods that are no gang's, or not the scheduler's."""
    leader: Leader
    now: float


@click.command(epilog="Exit code 0: it was found out. 2: wrong options, or the cluster cannot be read.")
@click.argument("name", metavar="POD|PODGANG|PCS")
@click.option("-n", "--namespace", default="", metavar="NAME", help="Its namespace; that of the context without it.")
@click.option(
    "-o",
    "--output",
    "form",
    type=click.Choice(("table", "json", "yaml")),
    default="table",
    show_default=True,
    help="How to print it.",
)
@program.reaching("SchedulerConfiguration")
def command(name: str, namespace: str, form: str, config: str, kubeconfig: str, context: str) -> None:
    """Say where a gang is, or why it waits.

    And since when, how good its place is, what is missing, and what small change would help. The cluster is read and
    the scheduler's own decision is made here; nothing is written, and the scheduler's process is not asked. Where the
    scheduler is configured, give --config: else the answer is that of its defaults.

    \b
    Examples:
      grove why podgang/train-0
      grove why pcs/inference -n serving
      grove why inference-0-router-x7k2p -o json
    """
    settings = configurations.of_scheduler(config)[0] if config else SchedulerConfiguration()
    connection = program.client_connection(kubeconfig, context)
    kind, bare = split(name)
    report = asyncio.run(_ask(connection, settings, kind, bare, namespace or connection.namespace))
    if form == "table":
        click.echo("\n".join(text(report)))
    else:
        data = as_data(report)
        click.echo(output.as_json(data) if form == "json" else output.as_yaml(data))


def split(name: str) -> tuple[str, str]:
    word, slash, bare = name.partition("/")
    if not slash:
        return "", name
    kind = _KINDS.get(word.lower())
    if kind is None or not bare:
        raise Failure(f"{name} names no pod, PodGang or PodCliqueSet", "write pod/NAME, podgang/NAME or pcs/NAME")
    return kind, bare


async def _ask(
    connection: Connection, settings: SchedulerConfiguration, kind: str, name: str, namespace: str
) -> Report:
    from grove.kube.client import Client
    from grove.kube.errors import KubeError
    from grove.runtime.clock import SystemClock
    from grove.scheduler import reading

    now = SystemClock().wall()
    try:
        async with Client(connection, user_agent="grove-cli") as client:
            engine = await reading.read(client, settings, now=now)
            leader = await reading.leader(client, settings.leader_election, now)
            subject = await _find(client, engine, kind, name, namespace)
    except reading.CannotRead as error:
        raise Failure(str(error), error.remedy) from error
    except KubeError as error:
        raise Failure(str(error), program.SERVER_HELP) from error
    return judge(engine, settings, subject, name, namespace, leader, now.timestamp())


async def _find(client: Reader, engine: Engine, kind: str, name: str, namespace: str) -> str:
    """The kind of what is meant. Raises Failure where there is none."""
    from grove.kube.errors import Forbidden, NotFound
    from grove.kube.resources import PODS
    from grove.operator.resources import POD_CLIQUE_SETS

    if kind in ("", "podgang") and f"{namespace}/{name}" in engine.registry.gangs:
        return "podgang"
    if kind in ("", "pcs"):
        try:
            await client.get(POD_CLIQUE_SETS, name, namespace=namespace)
            return "pcs"
        except (NotFound, Forbidden):
            if _gangs_of_set(engine, name, namespace):
                return "pcs"
    if kind in ("", "pod"):
        if engine.registry.pod(namespace, name) is not None:
            return "pod"
        try:
            found = await client.get(PODS, name, namespace=namespace)
            raise Failure(f"pod {namespace}/{name} has ended: {found['status'].get('phase')}", "nothing waits there")
        except NotFound:
            pass
    what = {"pod": "pod", "podgang": "PodGang", "pcs": "PodCliqueSet"}.get(kind, "PodGang, PodCliqueSet or pod")
    raise Failure(f"there is no {what} {namespace}/{name}", _HELP)


def judge(
    engine: Engine,
    settings: SchedulerConfiguration,
    kind: str,
    name: str,
    namespace: str,
    leader: Leader,
    now: float,
) -> Report:
    """Decides, and says what that means for what was asked for. Changes nothing but the engine."""
    from grove.scheduler import answers, trial

    trial.settle(engine, now)
    notes: list[str] = []
    if kind == "podgang":
        keys = [f"{namespace}/{name}"]
    elif kind == "pcs":
        keys = _gangs_of_set(engine, name, namespace)
        if not keys:
            notes.append(f"PodCliqueSet {namespace}/{name} has no PodGang yet: they are the operator's to make")
    else:
        pod = engine.registry.pod(namespace, name)
        assert pod is not None  # it was found
        note = _of_pod(engine, pod, settings)
        notes += [note] if note else []
        key = engine.registry.gang_of(pod.metadata.uid or "")
        keys = [key] if key and engine.find(key) is not None else []
    found = []
    for key in keys:
        view = engine.registry.gangs.get(key)
        foreign = (view.metadata.labels or {}).get(labels.SCHEDULER_NAME) if view is not None else None
        if foreign is not None and foreign not in settings.scheduler_names:
            notes.append(f"PodGang {key} is left to another scheduler: {foreign}")
            continue
        answer = answers.answer(engine, key)
        if answer is not None:
            status = None if view is None else view.status
            found.append((answer, None if status is None else conditions.find(status.conditions, answers.SCHEDULED)))
        for member in engine.registry.members(key) if kind != "pod" else ():
            if member.spec.scheduling_gates:
                notes.append(_gated(member))
    subject = {"pod": "pod", "podgang": "PodGang", "pcs": "PodCliqueSet"}[kind]
    return Report(f"{subject} {namespace}/{name}", found, notes, leader, now)


def _gangs_of_set(engine: Engine, name: str, namespace: str) -> list[str]:
    return [
        key
        for key, view in sorted(engine.registry.gangs.items())
        if view.metadata.namespace == namespace
        and name in ((view.metadata.labels or {}).get(one) for one in (labels.POD_CLIQUE_SET, labels.PART_OF))
    ]


def _of_pod(engine: Engine, pod: PodView, settings: SchedulerConfiguration) -> str:
    """What is to be said of the pod itself; empty: what is said of its gang is enough."""
    meta = pod.metadata
    name = f"pod {meta.namespace}/{meta.name}"
    if pod.metadata.deletion_timestamp:
        return f"{name} is being deleted{_on(pod)}"
    if pod.node_name:
        return f"{name} is on node {pod.node_name}"
    if pod.spec.scheduler_name not in settings.scheduler_names:
        return (
            f"{name} is left to another scheduler: {pod.spec.scheduler_name or 'default-scheduler'}; this one places "
            f"pods whose schedulerName is {' or '.join(settings.scheduler_names)}"
        )
    if pod.spec.scheduling_gates:
        return _gated(pod)
    key = engine.registry.gang_of(meta.uid or "")
    if (meta.labels or {}).get(labels.POD_GANG) and key not in engine.registry.gangs:
        return f"{name} names PodGang {key}, which does not exist: it is made when all of its pods are there"
    return ""


def _on(pod: PodView) -> str:
    return f" on node {pod.node_name}" if pod.node_name else ""


def _gated(pod: PodView) -> str:
    gates = ", ".join(gate.name for gate in pod.spec.scheduling_gates)
    who = "; the operator takes it off when the gang is whole" if labels.SCHEDULING_GATE in gates else ""
    return f"pod {pod.metadata.namespace}/{pod.metadata.name} is held back by scheduling gates: {gates}{who}"


# Telling


def as_data(report: Report) -> dict[str, Any]:
    import msgspec

    found = []
    for answer, written in report.gangs:
        data: dict[str, Any] = msgspec.to_builtins(answer)
        if written is not None:
            data["written"] = {"status": written.status, "reason": written.reason, "message": written.message}
        found.append(data)
    leader = report.leader._asdict()
    return {"subject": report.subject, "gangs": found, "notes": report.notes, "scheduler": leader}


def text(report: Report) -> Iterator[str]:
    first = True
    for note in report.notes:
        yield note
        first = False
    for answer, written in report.gangs:
        if not first:
            yield ""
        first = False
        yield from _gang_text(answer, written, report)
    warning = report.leader.sentence()
    if warning:
        yield ""
        yield f"Note: {warning}."


def _gang_text(answer: GangAnswer, written: Condition | None, report: Report) -> Iterator[str]:
    yield f"{_called(answer.gang)} {_standing(answer, report.now)}"
    found = answer.explanation
    if found is not None:
        if answer.state in ("placed", "placing"):
            yield "  Some of its pods wait."
        yield from gangs.indented(gangs.explanation(found))
        if found.position and answer.waiters > 1:
            yield ""
            yield f"  It is number {found.position} of {answer.waiters} that wait."
    elif answer.state == "waiting":
        yield "  There is room for it."
    if answer.victims:
        yield ""
        yield f"  These pods go for it: {', '.join(answer.victims)}"
    if answer.gathered is not None:
        yield ""
        yield f"  {gangs.gathered(answer.gathered, report.now)}"
    if any(one.placed for one in answer.groups):
        yield ""
        yield from gangs.indented(gangs.groups(answer.groups))
    difference = _difference(answer, written, report)
    if difference:
        yield ""
        yield f"  {difference}"


def _called(key: str) -> str:
    namespace, lone, name = key.partition("/pod:")
    return f"Pod {namespace}/{name}, a gang of its own," if lone else f"PodGang {key}"


def _standing(answer: GangAnswer, now: float) -> str:
    where = gangs.within(answer.domains)
    match answer.state:
        case "placed":
            since = f" for {gangs.age(now - conditions.moment(answer.since).timestamp())}" if answer.since else ""
            score = "" if answer.score is None else f"score {answer.score:.2f}"
            told = ", ".join(part for part in (where, score, "ready" if answer.is_ready else "not ready yet") if part)
            return f"has its place{since}: {told}"
        case "placing":
            return f"could be placed now{f', {where}' if where else ''}"
        case "over":
            return "has nothing to place: it is empty or being deleted"
    found = answer.explanation
    since = f" for {gangs.age(now - found.waits_since)}" if found is not None and found.waits_since else ""
    queue = f", queue {found.queue}" if found is not None and found.queue else ""
    return f"waits{since} (priority {answer.priority}{queue})"


def _difference(answer: GangAnswer, written: Condition | None, report: Report) -> str:
    """What the scheduler itself has said, where it is something else."""
    if answer.state == "placing":
        said = f": it said {written.reason}: {written.message}" if written and written.status == "False" else ""
        return "The scheduler has not placed it yet" + said + _perhaps(report)
    if answer.state not in ("waiting", "preempting") or answer.explanation is None:
        return ""
    if written is None:
        return "The scheduler has said nothing of it yet."
    if written.reason == answer.explanation.reason:
        return ""
    return f"The scheduler said, {written.reason}: {written.message}{_perhaps(report)}"


def _perhaps(report: Report) -> str:
    if report.leader.sentence():
        return "."
    return ". It may be about to, or be configured otherwise: see --config."
