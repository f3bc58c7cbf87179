"""What a client has done so far: read by metrics and by debug pages."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from grove.kube.durations import Durations, DurationStatistics


class ClientStatistics(msgspec.Struct, frozen=True):
    """Counts since the client was made; a snapshot."""

    requests: Mapping[tuple[str, str], int]
    """By verb (`get`, `list`, `watch`, `create` …) and status code, or `unreachable`; every attempt counts."""
    seconds: Mapping[str, DurationStatistics]
    """By verb, how long each attempt took: to the end of the answer, of a watch to its beginning."""
    retries: int
    in_flight: int
    """Requests on their way now; watches are not among them."""
    waiting: int
    """Requests that wait for others to be answered, by the bound on those in flight or by the rate limit."""
    watches: int
    bytes_sent: int
    bytes_received: int
    """Bodies as they were before compression."""
    warnings: int


class Counters:
    """The same, while it grows."""

    def __init__(self) -> None:
        self.requests: dict[tuple[str, str], int] = {}
        self.seconds: dict[str, Durations] = {}
        self.retries = 0
        self.in_flight = 0
        self.waiting = 0
        self.watches = 0
        self.bytes_sent = 0
        self.bytes_received = 0
        self.warnings = 0

    def answered(self, verb: str, outcome: str) -> None:
        key = (verb, outcome)
        self.requests[key] = self.requests.get(key, 0) + 1

    def took(self, verb: str, seconds: float) -> None:
        durations = self.seconds.get(verb)
        if durations is None:
            durations = self.seconds[verb] = Durations()
        durations.add(seconds)

    def snapshot(self) -> ClientStatistics:
        return ClientStatistics(
            requests=dict(self.requests),
            seconds={verb: durations.statistics() for verb, durations in self.seconds.items()},
            retries=self.retries,
            in_flight=self.in_flight,
            waiting=self.waiting,
            watches=self.watches,
            bytes_sent=self.bytes_sent,
            bytes_received=self.bytes_received,
            warnings=self.warnings,
        )
