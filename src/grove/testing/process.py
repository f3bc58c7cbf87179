"""A child process that does not outlive its parent and writes to a log: one component of a control plane.

It leads a process group of its own, so that Ctrl-C in a terminal reaches the tests alone, and they decide in which
order things end. On Linux the kernel kills it when the thread that started it dies, even by SIGKILL: start it from a
thread that lives as long as it is needed, such as the main one. Elsewhere only a parent that unwinds takes it along.
"""

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

PR_SET_PDEATHSIG = 1  # linux/prctl.h


def tied_to_parent() -> Callable[[], None] | None:
    """What a child runs between fork and exec to die with its parent; None where the kernel has no such thing.

    Runs in a copy of a process that may have had other threads, so it must not allocate, import or take locks: all that
    it needs is looked up here, before the fork.
    """
    if not sys.platform.startswith("linux"):
        return None
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    parent, kill, get_parent, leave = os.getpid(), int(signal.SIGKILL), os.getppid, os._exit

    def tie() -> None:
        prctl(PR_SET_PDEATHSIG, kill, 0, 0, 0)
        if get_parent() != parent:  # it died before the call above, and no signal will come
            leave(1)

    return tie


class Process:
    """A component: what to run, and the running child of it once started. Can be killed and started again."""

    def __init__(self, name: str, arguments: Sequence[str], *, directory: Path, log: Path) -> None:
        self.name = name
        self.log = log
        self._arguments = list(arguments)
        self._directory = directory
        self._child: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Starts the child, appending to the log, so that a restart keeps what was said before."""
        # etcd takes flags from the environment as well, and those of the user's own etcd are not meant for this one.
        environment = {key: value for key, value in os.environ.items() if not key.startswith("ETCD_")}
        with self.log.open("ab") as log:
            self._child = subprocess.Popen(
                self._arguments,
                cwd=self._directory,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                process_group=0,
                preexec_fn=tied_to_parent(),
            )

    @property
    def pid(self) -> int:
        if self._child is None:
            raise RuntimeError(f"{self.name} was never started")
        return self._child.pid

    @property
    def exit_code(self) -> int | None:
        """None while it runs, and before it was started; negative for the signal that killed it."""
        return None if self._child is None else self._child.poll()

    def kill(self) -> None:
        """Ends the child and its group at once; nothing of a test's control plane is worth a graceful end."""
        if self._child is not None and self._child.poll() is None:
            # The group is there: its leader is our child and not yet reaped.
            os.killpg(self._child.pid, signal.SIGKILL)
            self._child.wait()

    def tail(self, lines: int = 20) -> str:
        """The end of the log, for an error message."""
        if not self.log.exists():
            return ""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])
