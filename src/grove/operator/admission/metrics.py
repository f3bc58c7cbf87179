"""The webhooks' part of the page /metrics: `Metrics(more=[functools.partial(families, server.statistics)])`."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily, Metric

from grove.operator.admission.server import ServerStatistics
from grove.runtime.metrics import add_durations


def families(read: Callable[[], ServerStatistics]) -> Iterator[Metric]:
    statistics = read()
    requests = CounterMetricFamily(
        "grove_operator_webhook_requests", "Admission requests by what became of them.", labels=["path", "verdict"]
    )
    for (path, verdict), count in statistics.requests.items():
        requests.add_metric([path, verdict], count)
    yield requests
    seconds = HistogramMetricFamily(
        "grove_operator_webhook_seconds", "How long admission requests took.", labels=["path"]
    )
    for path, durations in statistics.seconds.items():
        add_durations(seconds, [path], durations)
    yield seconds
