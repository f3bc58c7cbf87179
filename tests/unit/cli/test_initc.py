"""`grove initc` as a process; what needs an API server is in tests/cluster."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

INITC = (sys.executable, "-m", "grove.cli.main", "initc")
STUBBORN = """
import asyncio, sys
from grove.cli import initc
from grove.runtime import logs

async def stubborn():
    print("begins", flush=True)
    while True:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            print("goes on", flush=True)

logs.configure(sys.stderr, form="json", level="info")
sys.exit(asyncio.run(initc.until_signalled(stubborn())))
"""


def test_without_parents_it_succeeds_and_needs_nothing() -> None:
    result = subprocess.run([*INITC, "--podcliques="], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (0, "")
    assert json.loads(result.stderr)["event"] == "nothing to wait for"


def test_every_spelling_of_an_entry_is_understood(tmp_path: Path) -> None:
    spellings = ["-p", "a:1", "-p=b:1", "-pc:1", "--podcliques", " d:1 ,", "--podcliques=e:1,f:2", "-p", ""]
    command = [*INITC, *spellings, "--pod-info", str(tmp_path)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert json.loads(result.stderr)["error"].startswith(f"{tmp_path}/namespace: cannot be read: No such file")


def test_outside_a_cluster_it_says_how_to_reach_one(tmp_path: Path) -> None:
    (tmp_path / "namespace").write_text("ns")
    (tmp_path / "podgangname").write_text("x-0")
    outside = {name: value for name, value in os.environ.items() if not name.startswith("KUBERNETES_")}
    command = [*INITC, "-p", "a:1", "--pod-info", str(tmp_path)]
    result = subprocess.run(command, capture_output=True, text=True, check=False, env=outside)
    assert result.returncode == 1
    line = json.loads(result.stderr)
    assert (line["level"], line["event"]) == ("error", "cannot wait")
    assert line["error"].endswith("are not set; name a kubeconfig")


def test_a_second_signal_waits_for_nothing() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", STUBBORN], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "begins\n"
        child.send_signal(signal.SIGTERM)
        assert child.stdout.readline() == "goes on\n"
        child.send_signal(signal.SIGINT)
        assert child.wait(30) == 1


def test_in_a_pod_it_imports_nothing_that_it_does_not_need() -> None:
    code = (
        "import sys\nfrom grove.cli.main import grove\n"
        "try:\n    grove.main(['initc'], standalone_mode=False)\nfinally:\n"
        "    import json\n    print(json.dumps(sorted(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    loaded = set(json.loads(result.stdout.splitlines()[-1]))
    unneeded = {"yaml", "prometheus_client", "grove.kube.kubeconfig", "grove.kube.lease", "grove.api.validation"}
    assert not loaded & unneeded
