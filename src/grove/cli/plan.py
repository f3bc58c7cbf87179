"""`grove plan`: where a workload would go on a cluster as it is now, without creating anything."""

from __future__ import annotations

import asyncio
import datetime
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from grove.api.fields import JSON
from grove.api.kinds.operatorconfig import OperatorConfiguration
from grove.api.kinds.schedulerconfig import SchedulerConfiguration
from grove.cli import configuration as configurations
from grove.cli import documents, gangs, output, program
from grove.cli.failure import OK, REFUSED, Failure, Refusal

if TYPE_CHECKING:
    from grove.cli.expansion import Expanded
    from grove.kube.connection import Connection
    from grove.scheduler.answers import GangAnswer
    from grove.scheduler.engine import Engine
    from grove.scheduler.trial import Course

_MOST_VICTIMS: Final = 8


class Planned(NamedTuple):
    """What would become of one gang."""

    answer: GangAnswer
    fits: bool
    is_there: bool = False
    """It exists already: nothing is planned for it."""
    score: float | None = None
    victims: tuple[str, ...] = ()
    """Pods that would be evicted for it."""
    stopped: tuple[str, ...] = ()
    """The gangs that they belong to."""
    why: str = ""
    left: int = 0


@click.command(
    epilog="Exit code 0: everything has a place now, and nobody has to go for it. 1: something waits, or others would "
    "be evicted, or an object would be refused. 2: wrong options, a file that cannot be read, or a cluster that cannot."
)
@click.option(
    "-f",
    "--filename",
    "files",
    multiple=True,
    required=True,
    metavar="FILE",
    type=click.Path(),
    help="PodCliqueSets, PodGangs and pods: a file, a folder, or - for standard input.",
)
@click.option("-n", "--namespace", default="", metavar="NAME", help="For objects without one; that of the context.")
@click.option("--nodes", multiple=True, metavar="NAME", help="As if the cluster had only this node; may be repeated.")
@click.option(
    "-o", "--output", "form", type=click.Choice(("table", "json")), default="table", show_default=True, help="Its form."
)
@click.option("--operator-config", metavar="FILE", default="", help="The OperatorConfiguration; without it, defaults.")
@program.reaching("SchedulerConfiguration")
@click.pass_context
def command(
    ctx: click.Context,
    files: tuple[str, ...],
    namespace: str,
    nodes: tuple[str, ...],
    form: str,
    operator_config: str,
    config: str,
    kubeconfig: str,
    context: str,
) -> None:
    """Say where a workload would go, without creating it.

    And what it would preempt, and what is missing. The manifests are made into PodGangs and pods as the operator would,
    and the scheduler's own decision is made on the cluster as it is. Gangs that exist already are shown as they are.

    \b
    Examples:
      grove plan -f examples/multi-node-aggregated.yaml
      grove plan -f train.yaml -n team-a -o json
    """
    settings = configurations.of_scheduler(config)[0] if config else SchedulerConfiguration()
    operator = configurations.read(operator_config) if operator_config else OperatorConfiguration()
    trees = _read(files)
    connection = program.client_connection(kubeconfig, context)
    planned, found = asyncio.run(_plan(connection, settings, operator, trees, namespace or connection.namespace, nodes))
    if not planned and not found.elsewhere:
        help = "name a file with PodCliqueSets, PodGangs or pods"
        raise Failure(f"{', '.join(files)}: there is nothing to place", help)
    if form == "json":
        click.echo(output.as_json(as_data(planned, found)))
    else:
        click.echo("\n".join(text(planned, found)))
    ctx.exit(OK if all(one.fits for one in planned) else REFUSED)


def _read(files: Sequence[str]) -> list[JSON]:
    try:
        read = [one for source in documents.find(files) for one in documents.read(source)]
    except documents.UnreadableError as error:
        raise Failure(str(error), "check the path, or pass - to read standard input") from error
    for one in read:
        if one.problems:
            place = f"{one.source}:{one.start.line}"
            raise Failure(f"{place}: {one.problems[0]}", f"see grove validate -f {one.source}")
    return [one.tree for one in read]


async def _plan(
    connection: Connection,
    settings: SchedulerConfiguration,
    operator: OperatorConfiguration,
    trees: Sequence[JSON],
    namespace: str,
    nodes: Sequence[str],
) -> tuple[list[Planned], Expanded]:
    from grove.kube.client import Client
    from grove.kube.errors import KubeError
    from grove.runtime.clock import SystemClock
    from grove.scheduler import reading

    now = SystemClock().wall()
    try:
        async with Client(connection, user_agent="grove-cli") as client:
            engine = await reading.read(client, settings, now=now, nodes=nodes)
    except reading.CannotRead as error:
        raise Failure(str(error), error.remedy) from error
    except KubeError as error:
        raise Failure(str(error), program.SERVER_HELP) from error
    return judge(engine, settings, operator, trees, namespace, now)


def judge(
    engine: Engine,
    settings: SchedulerConfiguration,
    operator: OperatorConfiguration,
    trees: Sequence[JSON],
    namespace: str,
    now: datetime.datetime,
) -> tuple[list[Planned], Expanded]:
    """Decides about what the manifests would become. Changes nothing but the engine. Raises Refusal."""
    from grove.cli import expansion
    from grove.runtime.settings import seconds
    from grove.scheduler import trial

    topologies = {view.metadata.name: view for kind, view in engine.objects() if kind == "topology"}
    priorities = {view.metadata.name: view for kind, view in engine.objects() if kind == "priority_class"}
    created = now - datetime.timedelta(seconds=seconds(settings.preemption.delay))  # it has waited long enough
    around = expansion.Around(operator, topologies, priorities, namespace, created, settings.scheduler_names)
    try:
        found = expansion.expand(trees, around)
    except expansion.Refused as error:
        raise Refusal(str(error), "see grove validate -f FILE") from error
    except expansion.NoPriorityClass as error:
        raise Refusal(str(error), "create it first, or name another: kubectl get priorityclasses") from error
    keys = list(expansion.keys(found))
    there = {key for key in keys if engine.find(key) is not None}
    trial.settle(engine, now.timestamp())  # who waits already comes first
    _tell(engine, found)
    courses = trial.run(engine, [key for key in keys if key not in there], now.timestamp())
    return [_planned(engine, key, courses.get(key)) for key in keys], found


def _tell(engine: Engine, found: Expanded) -> None:
    for topology in found.topologies:
        engine.topology(topology)
    for priority in found.priorities:
        engine.priority_class(priority)
    for queue in found.queues:
        engine.queue(queue)
    for pod in found.pods:
        meta = pod.metadata
        if engine.registry.pod(meta.namespace or "", meta.name) is None:
            engine.pod(pod)
    for gang in found.gangs:
        if f"{gang.metadata.namespace}/{gang.metadata.name}" not in engine.registry.gangs:
            engine.gang(gang)


def _planned(engine: Engine, key: str, course: Course | None) -> Planned:
    from grove.scheduler import answers
    from grove.scheduler.registry import lone_key

    answer = answers.answer(engine, key)
    assert answer is not None  # it was told
    if course is None:
        return Planned(answer, fits=answer.state in ("placed", "placing", "over"), is_there=True)
    bind = course.bind
    victims = [victim for one in course.evictions for victim in one.victims]
    stopped = dict.fromkeys(victim.gang or lone_key(victim.namespace, victim.name) for victim in victims)
    return Planned(
        answer,
        fits=bind is not None and not victims and not course.left,
        score=None if bind is None else bind.score,
        victims=tuple(f"{one.namespace}/{one.name}" for one in victims),
        stopped=tuple(stopped),
        why=course.evictions[-1].why if course.evictions else "",
        left=course.left,
    )


# Telling


def summary(planned: Sequence[Planned]) -> dict[str, int]:
    found = Counter(_outcome(one) for one in planned)
    return {
        "gangs": len(planned),
        "fit": found["fits"] + found["exists"],
        "preempt": found["preempts"],
        "wait": found["waits"],
        "victims": sum(len(one.victims) for one in planned),
    }


def _outcome(one: Planned) -> str:
    if one.is_there:
        return "exists" if one.fits else "waits"
    if one.answer.state not in ("placing", "placed"):
        return "waits"
    return "preempts" if one.victims else "fits"


def as_data(planned: Sequence[Planned], found: Expanded) -> dict[str, Any]:
    import msgspec

    listed = []
    for one in planned:
        data: dict[str, Any] = msgspec.to_builtins(one.answer)
        more = {"score": one.score, "victims": one.victims, "stopped": one.stopped, "left": one.left}
        listed.append(data | {"outcome": _outcome(one)} | {name: value for name, value in more.items() if value})
    return {
        "gangs": listed,
        "elsewhere": found.elsewhere,
        "passedOver": found.passed_over,
        "summary": summary(planned),
    }


def text(planned: Sequence[Planned], found: Expanded) -> Iterator[str]:
    for one in planned:
        yield from _gang_text(one)
        yield ""
    for line in found.elsewhere:
        name, _, scheduler = line.partition(": ")
        yield f"{name} is left to another scheduler: {scheduler}"
    yield _summary_text(planned, found)


def _gang_text(one: Planned) -> Iterator[str]:
    answer = one.answer
    name = f"{'Pod' if '/pod:' in answer.gang else 'PodGang'} {answer.gang.replace('/pod:', '/')}"
    score = "" if one.score is None else f"score {one.score:.2f}"
    where = ", ".join(part for part in (gangs.within(answer.domains), score) if part)
    match _outcome(one):
        case "exists":
            yield f"{name} exists already: {where}"
        case "fits":
            yield f"{name} fits now: {where}"
        case "preempts":
            yield f"{name} fits after preemption: {where}"
            yield f"  {gangs.count(len(one.victims), 'pod')} would be evicted{f': {one.why}' if one.why else ''}"
            yield f"  of {', '.join(one.stopped[:_MOST_VICTIMS])}{' …' if len(one.stopped) > _MOST_VICTIMS else ''}"
        case _:
            yield f"{name} would wait"
    if answer.explanation is not None:
        yield from gangs.indented(gangs.explanation(answer.explanation))
    if any(group.placed for group in answer.groups):
        yield from gangs.indented(gangs.groups(answer.groups))


def _summary_text(planned: Sequence[Planned], found: Expanded) -> str:
    counts = summary(planned)
    parts = [f"{counts['fit']} of {gangs.count(counts['gangs'], 'gang')} fit now"]
    if counts["preempt"]:
        parts.append(f"{counts['preempt']} after preemption of {gangs.count(counts['victims'], 'pod')}")
    if counts["wait"]:
        parts.append(f"{counts['wait']} would wait")
    if found.passed_over:
        parts.append(f"{gangs.count(found.passed_over, 'object')} passed over")
    return "; ".join(parts)
