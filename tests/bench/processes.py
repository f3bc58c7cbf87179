"""What processes have cost so far, as the kernel counts it. Linux alone."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pids: Iterable[int]) -> float:
    """Seconds of processor time of these processes, without their children."""
    return sum(map(_cpu_seconds, pids))


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()  # the name may hold anything
    user, system = fields[11:13]
    return (int(user) + int(system)) / TICKS


def resident(pid: int) -> int:
    """Bytes of memory that a process has now."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
