"""How the operator's process ends: with a code for each stage that can fail, and the next step for whoever reads it."""

from __future__ import annotations

import enum


class Exit(enum.IntEnum):
    """The codes of Go Grove's operator."""

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


class CannotOperate(Exception):
    """Why the operator ends, and what to do about it."""

    def __init__(self, code: Exit, what: str, remedy: str) -> None:
        super().__init__(what)
        self.code = code
        self.remedy = remedy
