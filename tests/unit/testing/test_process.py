import fcntl
import signal
import sys
from pathlib import Path
from typing import TextIO

import pytest

from grove.testing.process import Process
from grove.testing.waiting import eventually


def start(tmp_path: Path, program: str) -> Process:
    process = Process("child", [sys.executable, "-c", program], directory=tmp_path, log=tmp_path / "child.log")
    process.start()
    return process


def test_a_process_that_never_started_has_no_id_and_no_code(tmp_path: Path) -> None:
    process = Process("child", ["true"], directory=tmp_path, log=tmp_path / "child.log")
    process.kill()
    assert process.exit_code is None
    assert process.tail() == ""
    with pytest.raises(RuntimeError, match="child was never started"):
        _ = process.pid


def test_what_a_process_says_is_in_its_log_and_its_code_is_known(tmp_path: Path) -> None:
    process = start(tmp_path, "import sys; print('out'); print('error', file=sys.stderr); sys.exit(3)")
    assert eventually(lambda: process.exit_code, lambda code: code is not None) == 3
    assert sorted(process.tail().splitlines()) == ["error", "out"]
    assert len(process.tail(lines=1).splitlines()) == 1


def test_a_process_runs_in_its_directory_without_the_settings_of_the_users_etcd(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ETCD_NAME", "mine")
    process = start(tmp_path, "import os; print(os.getcwd(), os.environ.get('ETCD_NAME'))")
    eventually(lambda: process.exit_code, lambda code: code is not None)
    assert process.tail() == f"{tmp_path.resolve()} None"


def test_a_killed_process_takes_its_own_children_along(tmp_path: Path) -> None:
    process = start(
        tmp_path,
        "import fcntl, subprocess, sys\n"
        "lock = open('lock', 'w')\n"
        "fcntl.flock(lock, fcntl.LOCK_EX)\n"
        "wait = [sys.executable, '-c', 'input()']\n"
        "child = subprocess.Popen(wait, stdin=subprocess.PIPE, pass_fds=[lock.fileno()])\n"
        "print('started', flush=True)\n"
        "child.wait()\n",
    )
    eventually(process.tail)
    process.kill()
    assert process.exit_code == -signal.SIGKILL
    # The child's child has the lock as well, and would not let go of it.
    with (tmp_path / "lock").open() as lock:
        eventually(lambda: is_free(lock))
    process.kill()


def is_free(lock: TextIO) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def test_a_restart_keeps_the_log(tmp_path: Path) -> None:
    process = start(tmp_path, "print('hello')")
    eventually(lambda: process.exit_code, lambda code: code is not None)
    process.start()
    eventually(lambda: process.exit_code, lambda code: code is not None)
    assert process.tail() == "hello\nhello"
