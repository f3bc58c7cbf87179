"""`grove nodes`: a fleet of simulated nodes on any cluster, and what becomes of single ones."""

from __future__ import annotations

import asyncio
import logging
import random
import sys
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, Final, TypeVar

import click

from grove.cli.failure import Failure
from grove.kube import kubeconfig as kubeconfigs
from grove.kube.client import Client
from grove.kube.connection import Connection
from grove.kube.errors import ConnectionConfigError, KubeError, NotFound
from grove.kube.objects import Quantities
from grove.kube.resources import NODES
from grove.nodes import behaviour, marks, shape, topology
from grove.nodes.plans import Defaults
from grove.nodes.register import ForeignNode
from grove.nodes.shape import Shape
from grove.nodes.unusable import Unusable

Result = TypeVar("Result")

_SERVER_HELP: Final = "check that the cluster runs, and which one is meant: --kubeconfig, --context"


class _Fleet(click.Group):
    """A group whose options come before its commands: `grove nodes --count 4` keeps a fleet."""

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_usage(ctx.command_path, "[OPTIONS]")
        formatter.write_usage(ctx.command_path, "fail|recover|drain [OPTIONS] NODE…", prefix="       ")


def _cluster_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for decorate in (
        click.option("--context", metavar="NAME", default="", help="The context of the kubeconfig."),
        click.option(
            "--kubeconfig",
            metavar="FILE",
            default="",
            help="How to reach the cluster; without it, $KUBECONFIG, ~/.kube/config or our own pod's account.",
        ),
    ):
        command = decorate(command)
    return command


@click.group(
    cls=_Fleet,
    invoke_without_command=True,
    epilog="Exit code 0: ended by Ctrl-C or SIGTERM. 2: wrong options, or the cluster cannot be reached or used.",
)
@_cluster_options
@click.option("--count", metavar="N", type=int, default=1, show_default=True, help="How many nodes.")
@click.option("--name", "prefix", metavar="PREFIX", default="fake-node", show_default=True, help="PREFIX-001, …")
@click.option(
    "--fleet", metavar="NAME", default="default", show_default=True, help="Nodes kept together, by one process."
)
@click.option(
    "--topology",
    "levels",
    metavar="LEVELS",
    default="",
    help="Levels nested in each other, broadest first: zones=2,blocks=2,racks=5 is 20 racks in 4 blocks in 2 zones.",
)
@click.option(
    "--topology-key",
    "keys",
    metavar="LEVEL=KEY",
    multiple=True,
    help="The node label of a level; without it, topology.kubernetes.io/LEVEL.",
)
@click.option("--gpus", metavar="N", type=int, default=0, show_default=True, help="GPUs of each node.")
@click.option("--gpu-model", metavar="MODEL", default="", help="For labels: a100, h100, h200, b200, gb200, l40s, …")
@click.option("--gpu-memory", metavar="QUANTITY", default="", help="Memory of a GPU; known models have theirs.")
@click.option(
    "--gpu-resource", metavar="NAME", default="nvidia.com/gpu", show_default=True, help="What pods ask for as a GPU."
)
@click.option("--cpu", metavar="QUANTITY", default="128", show_default=True, help="CPUs of each node.")
@click.option("--memory", metavar="QUANTITY", default="2Ti", show_default=True, help="Memory of each node.")
@click.option("--pods", metavar="N", type=int, default=110, show_default=True, help="Pods that a node takes.")
@click.option(
    "--resource", "resources", metavar="NAME=QUANTITY", multiple=True, help="A further resource of each node."
)
@click.option("--label", "labels", metavar="KEY=VALUE", multiple=True, help="A further label of each node.")
@click.option(
    "--taint",
    "taints",
    metavar="KEY=VALUE:EFFECT",
    multiple=True,
    help="A taint of each node. The tutorial's: fake-node=true:NoSchedule.",
)
@click.option(
    "--start-delay", metavar="DURATION", default="0s", help="Until a container runs: 2s, or 1s-5s by chance in between."
)
@click.option("--ready-delay", metavar="DURATION", default="0s", help="Until a container that runs is ready.")
@click.option("--prune", is_flag=True, help="Delete nodes of the fleet that are not asked for any more.")
@click.option("--remove", is_flag=True, help="Delete the nodes at the end; without it they stay, and become NotReady.")
@click.option(
    "--lease-interval",
    metavar="SECONDS",
    type=click.FloatRange(min=1.0, max=35.0),
    help="Between two renewals of a node's lease; without it 10, up to 20 for thousands of nodes.",
)
@click.option(
    "--node-cidr", metavar="RANGE", default="198.18.0.0/15", show_default=True, help="Addresses of the nodes."
)
@click.option("--pod-cidr", metavar="RANGE", default="10.128.0.0/9", show_default=True, help="Addresses of pods.")
@click.option(
    "--metrics-port",
    metavar="PORT",
    type=click.IntRange(0, 65535),
    default=0,
    help="Serve /metrics, /healthz, /readyz.",
)
@click.option("--log-level", type=click.Choice(("debug", "info", "error")), default="info", show_default=True)
@click.pass_context
def command(ctx: click.Context, /, kubeconfig: str, context: str, log_level: str, **options: Any) -> None:
    """Keep simulated nodes on a cluster.

    Runs the pods that are bound to them, in the foreground: Ctrl-C ends it. The nodes stay, and a process that is
    started again takes them over, with the pods that run on them.

    \b
    Examples:
      grove nodes --count 40 --topology zones=2,blocks=2,racks=5 --gpus 8 --gpu-model h100
      grove nodes fail fake-node-007
      grove nodes recover fake-node-007
    """
    ctx.obj = (kubeconfig, context)
    if ctx.invoked_subcommand is not None:
        return
    try:
        settings = _settings(**options)
    except Unusable as error:
        raise Failure(error.what, error.remedy) from error
    _keep(_connect(kubeconfig, context), settings, log_level)


def _settings(
    *,
    prefix: str,
    levels: str,
    keys: tuple[str, ...],
    gpus: int,
    gpu_model: str,
    gpu_memory: str,
    gpu_resource: str,
    cpu: str,
    memory: str,
    pods: int,
    resources: tuple[str, ...],
    labels: tuple[str, ...],
    taints: tuple[str, ...],
    start_delay: str,
    ready_delay: str,
    node_cidr: str,
    pod_cidr: str,
    count: int,
    fleet: str,
    **rest: Any,
) -> Any:
    """The settings of the process. Raises Unusable."""
    from grove.nodes.process import Settings

    for option, number in (("--gpus", gpus), ("--pods", pods)):
        shape.quantity(option, str(number))
    for option, text in (("--cpu", cpu), ("--memory", memory)):
        shape.quantity(option, text)
    accelerator = shape.accelerator(gpu_model, gpu_memory)
    if accelerator is not None and not gpus:
        raise Unusable("--gpu-model", gpu_model or gpu_memory, "the nodes have no GPUs", "add --gpus 8")
    capacity: Quantities = {"cpu": cpu, "memory": memory, "pods": str(pods), "ephemeral-storage": "1Ti"}
    if gpus:
        capacity |= shape.resources([f"{gpu_resource}={gpus}"])
    wanted = Shape(
        fleet=fleet,
        prefix=prefix,
        count=count,
        levels=topology.levels(levels, topology.keys(keys)),
        resources=capacity | shape.resources(resources),
        gpus=gpus,
        accelerator=accelerator,
        taints=tuple(map(shape.taint, taints)),
        labels=shape.labels(labels),
        ranges=shape.ranges(node_cidr, pod_cidr, pods),
    )
    shape.nodes(wanted)  # what is wrong is told before anything is asked of a cluster
    defaults = Defaults(
        start_delay=_span("--start-delay", start_delay), ready_delay=_span("--ready-delay", ready_delay)
    )
    return Settings(shape=wanted, defaults=defaults, **rest)


def _span(option: str, text: str) -> behaviour.Span:
    try:
        return behaviour.span(text)
    except ValueError as error:
        raise Unusable(option, text, "is not understood", str(error)) from error


def _keep(connection: Connection, settings: Any, log_level: Any) -> None:
    from grove.nodes import process
    from grove.nodes.program import WAITER_LOG
    from grove.runtime import logs
    from grove.runtime.clock import SystemClock

    logs.configure(sys.stderr, form="text" if sys.stderr.isatty() else "json", level=log_level)
    if log_level != "debug":
        logging.getLogger(WAITER_LOG).setLevel(logging.ERROR)
    rng = random.Random()  # noqa: S311 - jitter, no secret
    try:
        _run(process.keep(connection, settings, clock=SystemClock(), rng=rng, announce=click.echo))
    except BaseExceptionGroup as group:
        for error in _leaves(group):
            if isinstance(error, ForeignNode):
                raise Failure(error.what, error.remedy) from error
            if isinstance(error, KubeError):
                raise Failure(
                    str(error), "check the rights of the user and the log above, and start it again"
                ) from error
        raise


@command.command()
@click.argument("nodes", nargs=-1, metavar="NODE…")
@click.option(
    "--how",
    type=click.Choice(marks.FAILURES),
    default="dead",
    show_default=True,
    help="dead: no power; unreachable: its pods run on unseen; not-ready: the kubelet says so.",
)
@click.option("-l", "--selector", metavar="LABELS", default="", help="All simulated nodes with these labels.")
@_cluster_options
@click.pass_obj
def fail(obj: tuple[str, str], nodes: tuple[str, ...], how: str, selector: str, kubeconfig: str, context: str) -> None:
    """Let nodes fail.

    The process that keeps the nodes carries it out. Kubernetes notices after 40 to 50 s that a node is silent.
    """
    connection = _connect(kubeconfig or obj[0], context or obj[1])
    for name in _run(_annotate(connection, nodes, selector, {marks.FAIL: how})):
        click.echo(f"node/{name} fails: {how}")


@command.command()
@click.argument("nodes", nargs=-1, metavar="NODE…")
@click.option("-l", "--selector", metavar="LABELS", default="", help="All simulated nodes with these labels.")
@_cluster_options
@click.pass_obj
def recover(obj: tuple[str, str], nodes: tuple[str, ...], selector: str, kubeconfig: str, context: str) -> None:
    """Bring failed or drained nodes back."""
    connection = _connect(kubeconfig or obj[0], context or obj[1])
    for name in _run(_annotate(connection, nodes, selector, {marks.FAIL: None, marks.DRAIN: None})):
        click.echo(f"node/{name} recovers")


@command.command()
@click.argument("nodes", nargs=-1, metavar="NODE…")
@click.option("-l", "--selector", metavar="LABELS", default="", help="All simulated nodes with these labels.")
@_cluster_options
@click.pass_obj
def drain(obj: tuple[str, str], nodes: tuple[str, ...], selector: str, kubeconfig: str, context: str) -> None:
    """Cordon nodes and evict their pods.

    As disruption budgets allow; recover undoes it.
    """
    connection = _connect(kubeconfig or obj[0], context or obj[1])
    for name in _run(_annotate(connection, nodes, selector, {marks.DRAIN: "true"})):
        click.echo(f"node/{name} drains")


async def _annotate(
    connection: Connection, names: tuple[str, ...], selector: str, change: dict[str, str | None]
) -> list[str]:
    """Sets annotations of nodes, or with None takes them away; the names of the nodes, in order."""
    if bool(names) == bool(selector):
        raise Failure("name nodes, or choose them with --selector", "as in: grove nodes fail fake-node-001")
    async with Client(connection, user_agent="grove-cli", field_manager="grove-cli") as client:
        if selector:
            page = await client.list_all(NODES, labels=f"{marks.FLEET},{selector}")
            names = tuple(sorted(node["metadata"]["name"] for node in page.items))
            if not names:
                raise Failure(f"no simulated node has the labels {selector}", f"see kubectl get nodes -L {marks.FLEET}")
        for name in names:
            await _check(client, name)
        for name in names:
            await client.patch(NODES, name, {"metadata": {"annotations": change}})
    return list(names)


async def _check(client: Client, name: str) -> None:
    see = f"see kubectl get nodes -l {marks.FLEET}"
    try:
        node = await client.get(NODES, name)
    except NotFound as error:
        raise Failure(f"there is no node {name}", see) from error
    if marks.FLEET not in (node["metadata"].get("labels") or {}):
        raise Failure(f"node {name} is not simulated: it has no label {marks.FLEET}", see)


def _connect(kubeconfig: str, context: str) -> Connection:
    try:
        return kubeconfigs.connect(kubeconfig, context=context)
    except ConnectionConfigError as error:
        raise Failure(str(error), _SERVER_HELP) from error


def _run(work: Awaitable[Result]) -> Result:
    async def wait() -> Result:
        return await work

    try:
        return asyncio.run(wait())
    except KubeError as error:
        raise Failure(str(error), _SERVER_HELP) from error


def _leaves(group: BaseExceptionGroup[BaseException]) -> Iterator[BaseException]:
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _leaves(error)
        else:
            yield error
