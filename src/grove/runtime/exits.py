"""How a program ends: with a code for each stage that can fail, and the next step for whoever reads it."""

from __future__ import annotations

import enum
from collections.abc import Iterator

from grove.kube.lease import LeadershipLostError
from grove.runtime.endpoints import CannotListen


class Exit(enum.IntEnum):
    """The codes of Go Grove's operator; the scheduler uses those that it can need."""

    OK = 0
    USAGE = 1
    """The command line."""
    CONFIGURATION = 2
    """The configuration: unreadable, or wrong."""
    TOPOLOGY = 3
    """The topologies of schedulers cannot be brought up to date."""
    PREPARATION = 4
    """The cluster, the certificates, or an address to listen on."""
    BACKEND = 5
    """A scheduler backend."""
    RUN = 6
    """Anything that ended it while it ran, the loss of its lease among them."""
    NETWORK = 7
    """Multi-node NVLink is asked for, and cannot be had."""


class CannotRun(Exception):
    """Why the program ends, and what to do about it."""

    def __init__(self, code: Exit, what: str, remedy: str) -> None:
        super().__init__(what)
        self.code = code
        self.remedy = remedy


def of_group(group: BaseExceptionGroup[BaseException]) -> CannotRun:
    """What a user is told of the errors that ended the process; the log has them all."""
    found = list(_leaves(group))
    for error in found:
        if isinstance(error, CannotRun):
            return error
        if isinstance(error, CannotListen):
            return CannotRun(Exit.PREPARATION, str(error), "free the port, or set another under `server`")
        if isinstance(error, LeadershipLostError):
            return CannotRun(Exit.RUN, str(error), "start it again: it stands by until the lease is free")
    return CannotRun(Exit.RUN, f"{type(found[0]).__name__}: {found[0]}", "see the log above, and start it again")


def _leaves(group: BaseExceptionGroup[BaseException]) -> Iterator[BaseException]:
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _leaves(error)
        else:
            yield error
