"""The clusters that tests run against: one per kind and run, a fresh namespace per test.

Component logs are written below build/cluster-logs, and removed when the run was green, so that even a killed run
leaves them.
"""

import os
import re
import secrets
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from grove.testing.binaries import BinaryError
from grove.testing.controlplane import ControlPlane
from grove.testing.kubectl import Kubectl

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
