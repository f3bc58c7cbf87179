"""The clusters that tests run against: one per kind and run, a fresh namespace per test.

A module whose tests need Grove's kinds says `pytestmark = pytest.mark.usefixtures("grove_crds")`.

Component logs are written below build/cluster-logs, and removed when the run was green, so that even a killed run
leaves them.
"""

import asyncio
import os
import re
import secrets
import shutil
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from grove.api.crds import all_crds
from grove.testing.binaries import BinaryError
from grove.testing.components import CONTROLLER_MANAGER
from grove.testing.controlplane import ControlPlane
from grove.testing.faults import FaultProxy
from grove.testing.kubectl import Kubectl
from grove.testing.waiting import eventually
from tests.cluster.objects import APPLY, CRDS, Objects

LOGS = pytest.StashKey[list[Path]]()

# Every test runs on every kind.
KINDS = ("kubernetes",)


def pytest_configure(config: pytest.Config) -> None:
    config.stash[LOGS] = []


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, exitstatus: pytest.ExitCode, config: pytest.Config
) -> None:
    for logs in [path for path in config.stash[LOGS] if path.exists()]:
        if exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            shutil.rmtree(logs)
        else:
            terminalreporter.write_line(f"cluster logs: {logs}")


@pytest.fixture(scope="session")
def _interrupted_by_sigterm() -> Iterator[None]:
    """Makes SIGTERM unwind as Ctrl-C does, so that fixtures are torn down and clusters removed."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.fixture(scope="session", params=KINDS)
def cluster(request: pytest.FixtureRequest, _interrupted_by_sigterm: None) -> Iterator[ControlPlane]:
    """A cluster that all tests of the run share."""
    logs = request.config.rootpath / "build" / "cluster-logs" / f"{request.param}-{os.getpid()}"
    request.config.stash[LOGS].append(logs)
    try:
        running = ControlPlane.start(scheduler=True, logs=logs)
    except BinaryError as error:
        raise pytest.fail.Exception(str(error), pytrace=False) from None
    with running:
        yield running


@pytest.fixture(scope="session")
def grove_crds(cluster: ControlPlane) -> None:
    """Grove's kinds in the shared cluster."""
    install_crds(cluster)


def install_crds(cluster: ControlPlane) -> None:
    """Grove's kinds: served, described in OpenAPI, and known to the garbage collector.

    A folder with a cluster of its own has a fixture `grove_crds` of its own: pytest makes one a session, for the
    cluster of the first test that asks.
    """
    crds = all_crds()
    for crd in crds:
        path = f"{CRDS}/{crd['metadata']['name']}"
        status, answer = cluster.request("PATCH", f"{path}?fieldManager=grove-tests", crd, content_type=APPLY)
        assert status in (200, 201), f"{path}: {status} {answer}"
    eventually(
        lambda: [problem for crd in crds if (problem := _not_served(cluster, crd))],
        lambda problems: not problems,
        timeout=30.0,
        message="the CRDs are not served",
    )
    # Otherwise it would look for new kinds within 30 s, and until then let orphans of Grove's kinds live.
    cluster.restart(CONTROLLER_MANAGER)


def _not_served(cluster: ControlPlane, crd: dict[str, Any]) -> str:
    """What is still missing until clients can use the kind; empty if nothing is."""
    name = crd["metadata"]["name"]
    conditions = cluster.request("GET", f"{CRDS}/{name}")[1].get("status", {}).get("conditions") or []
    if not any(one["type"] == "Established" and one["status"] == "True" for one in conditions):
        return f"{name}: {conditions}"
    plural, version = crd["spec"]["names"]["plural"], f"{crd['spec']['group']}/{crd['spec']['versions'][0]['name']}"
    status, discovered = cluster.request("GET", f"/apis/{version}")
    if status != 200 or plural not in {resource["name"] for resource in discovered["resources"]}:
        return f"{name}: not in discovery"
    status, openapi = cluster.request("GET", f"/openapi/v3/apis/{version}")  # kubectl explain and validate read it
    if status != 200 or not any(path.endswith(f"/{plural}") for path in openapi["paths"]):
        return f"{name}: not in OpenAPI"
    return ""


@pytest.fixture
def namespace(cluster: ControlPlane, request: pytest.FixtureRequest) -> Iterator[str]:
    """A namespace of the test's own; its deletion is asked for afterwards, not waited for."""
    slug = re.sub(r"[^a-z0-9]+", "-", request.node.name.removeprefix("test_").lower())[:50].strip("-")
    name = cluster.create_namespace(f"{slug}-{secrets.token_hex(3)}")
    yield name
    cluster.delete_namespace(name)


@pytest.fixture
def kubectl(cluster: ControlPlane, namespace: str) -> Kubectl:
    """kubectl as the administrator, in the test's namespace."""
    return cluster.kubectl(namespace)


@pytest.fixture
def objects(cluster: ControlPlane, grove_crds: None, namespace: str) -> Iterator[Objects]:
    """Makes and finds objects of Grove's kinds; those that are in no namespace are deleted after the test."""
    made = Objects(cluster, namespace)
    yield made
    made.close()


@pytest.fixture
def proxy(cluster: ControlPlane) -> Iterator[FaultProxy]:
    """A proxy in a thread of its own."""
    made: list[FaultProxy] = []
    loop = asyncio.new_event_loop()
    ready, ended = threading.Event(), asyncio.Event()

    async def serve() -> None:
        async with FaultProxy(cluster.url, cluster.ca) as proxy:
            made.append(proxy)
            ready.set()
            await ended.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    ready.wait()
    yield made[0]
    loop.call_soon_threadsafe(ended.set)
    thread.join()
    loop.close()
