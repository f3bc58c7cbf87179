"""Metrics for Prometheus, read from the `statistics()` of what lives long, when somebody asks.

    metrics = Metrics(clients={"operator": client}, caches=caches.statistics, elections=[election])
    text = metrics.text()

The names begin with `grove_`, or with what a program says. Nothing counts twice and nothing is registered anywhere: the
registry belongs to the object that `main` made.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from grove.kube.cache import Statistics as CacheStatistics
from grove.kube.durations import DurationStatistics
from grove.kube.events import RecorderStatistics
from grove.kube.lease import ElectionStatistics
from grove.kube.statistics import ClientStatistics
from grove.runtime.controller import ControllerStatistics

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
PREFIX: Final = "grove_"
_NONE: Final[Mapping[str, Any]] = {}


class HasControllerStatistics(Protocol):
    @property
    def name(self) -> str: ...

    def statistics(self) -> ControllerStatistics[Any]: ...


class HasElectionStatistics(Protocol):
    @property
    def name(self) -> str: ...

    def statistics(self) -> ElectionStatistics: ...


class HasRecorderStatistics(Protocol):
    @property
    def name(self) -> str: ...

    def statistics(self) -> RecorderStatistics: ...


class HasClientStatistics(Protocol):
    def statistics(self) -> ClientStatistics: ...


class Metrics(Collector):
    """A registry of its own, with one collector: this."""

    def __init__(
        self,
        *,
        clients: Mapping[str, HasClientStatistics] = _NONE,
        caches: Callable[[], Mapping[str, CacheStatistics]] = dict,
        controllers: Callable[[], Sequence[HasControllerStatistics]] = tuple,
        elections: Sequence[HasElectionStatistics] = (),
        recorders: Sequence[HasRecorderStatistics] = (),
        more: Sequence[Callable[[], Iterable[Metric]]] = (),
        prefix: str = PREFIX,
    ) -> None:
        """What is a function is asked each time: controllers, for one, are made when a term begins.

        `clients` are by a name of your own; `caches` is `Caches.statistics`; `more` is for other rooms, which name
        their metrics in full.
        """
        self._prefix = prefix
        self._clients = clients
        self._caches = caches
        self._controllers = controllers
        self._elections = elections
        self._recorders = recorders
        self._more = more
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(self)

    def text(self) -> bytes:
        return generate_latest(self._registry)

    def describe(self) -> Iterable[Metric]:
        return ()

    def collect(self) -> Iterator[Metric]:
        for family in self._common():
            yield renamed(family, self._prefix)
        for families in self._more:
            yield from families()

    def _common(self) -> Iterator[Metric]:
        yield from of_clients({name: one.statistics() for name, one in self._clients.items()})
        yield from of_caches(self._caches())
        yield from of_controllers({one.name: one.statistics() for one in self._controllers()})
        yield from of_elections({one.name: one.statistics() for one in self._elections})
        yield from of_recorders({one.name: one.statistics() for one in self._recorders})


def renamed(family: Metric, prefix: str) -> Metric:
    """The family with another prefix in its name."""
    if prefix == PREFIX:
        return family
    found = Metric(prefix + family.name.removeprefix(PREFIX), family.documentation, family.type)
    found.samples = [one._replace(name=prefix + one.name.removeprefix(PREFIX)) for one in family.samples]
    return found


def of_clients(statistics: Mapping[str, ClientStatistics]) -> Iterator[Metric]:
    if not statistics:
        return
    label = "client"
    yield requests(statistics)
    yield request_seconds(statistics)
    yield counter("grove_client_retries", "Requests that were made again.", label, statistics, lambda c: c.retries)
    yield gauge("grove_client_in_flight", "Requests on their way.", label, statistics, lambda c: c.in_flight)
    yield gauge("grove_client_waiting", "Requests that wait for their turn.", label, statistics, lambda c: c.waiting)
    yield gauge("grove_client_watches", "Watches that are open.", label, statistics, lambda c: c.watches)
    yield counter("grove_client_sent_bytes", "Bytes of bodies sent.", label, statistics, lambda c: c.bytes_sent)
    yield counter(
        "grove_client_received_bytes", "Bytes of bodies received.", label, statistics, lambda c: c.bytes_received
    )
    yield counter("grove_client_warnings", "Warnings of the server.", label, statistics, lambda c: c.warnings)


def requests(statistics: Mapping[str, ClientStatistics]) -> Metric:
    help = "Requests by verb and by what came of them; every attempt counts."
    family = CounterMetricFamily("grove_client_requests", help, labels=["client", "verb", "code"])
    for name, one in statistics.items():
        for (verb, code), count in one.requests.items():
            family.add_metric([name, verb, code], count)
    return family


def request_seconds(statistics: Mapping[str, ClientStatistics]) -> Metric:
    help = "How long attempts took, to the end of the answer; of a watch to its beginning."
    family = HistogramMetricFamily("grove_client_request_seconds", help, labels=["client", "verb"])
    for name, one in statistics.items():
        for verb, durations in one.seconds.items():
            add_durations(family, [name, verb], durations)
    return family


def of_caches(statistics: Mapping[str, CacheStatistics]) -> Iterator[Metric]:
    if not statistics:
        return
    label = "resource"
    known = {name: one for name, one in statistics.items() if one.age is not None}
    yield gauge("grove_cache_objects", "Objects held.", label, statistics, lambda c: c.store.objects)
    yield gauge("grove_cache_synced", "Whether a list was taken over.", label, statistics, lambda c: c.synced)
    yield gauge("grove_cache_age_seconds", "Since the server told anything.", label, known, lambda c: c.age)
    yield gauge("grove_cache_graves", "Deletions that are remembered.", label, statistics, lambda c: c.store.graves)
    yield counter("grove_cache_lists", "Lists taken over.", label, statistics, lambda c: c.lists)
    yield counter("grove_cache_streamed", "Of them, those that were streamed.", label, statistics, lambda c: c.streamed)
    yield counter("grove_cache_watches", "Watches begun.", label, statistics, lambda c: c.watches)
    yield counter("grove_cache_events", "Changes that watches told.", label, statistics, lambda c: c.events)
    yield counter("grove_cache_bookmarks", "Bookmarks that watches told.", label, statistics, lambda c: c.bookmarks)
    yield counter("grove_cache_failures", "Lists and watches that failed.", label, statistics, lambda c: c.failures)
    yield counter("grove_cache_gone", "Of them, those whose version was too old.", label, statistics, lambda c: c.gone)
    yield counter(
        "grove_cache_handler_errors", "Changes that a handler failed at.", label, statistics, lambda c: c.handler_errors
    )
    yield counter("grove_cache_applied", "Objects changed.", label, statistics, lambda c: c.store.applied)
    yield counter("grove_cache_echoes", "What came and was no news.", label, statistics, lambda c: c.store.echoes)


def of_controllers(statistics: dict[str, ControllerStatistics[Hashable]]) -> Iterator[Metric]:
    if not statistics:
        return
    queues = {name: one.queue for name, one in statistics.items()}
    label = "controller"
    yield gauge("grove_queue_ready", "Keys that a worker could take now.", label, queues, lambda q: q.ready)
    yield gauge("grove_queue_delayed", "Keys that wait for a moment.", label, queues, lambda q: q.delayed)
    yield gauge("grove_queue_failing", "Keys whose last reconcile failed.", label, queues, lambda q: q.failing)
    yield gauge("grove_queue_oldest_seconds", "How long the next key has waited.", label, queues, lambda q: q.oldest)
    yield counter("grove_queue_added", "Keys added.", label, queues, lambda q: q.added)
    yield counter("grove_queue_coalesced", "Keys added that waited already.", label, queues, lambda q: q.coalesced)
    yield counter("grove_queue_dropped", "Keys dropped by closing.", label, queues, lambda q: q.dropped)
    yield counter("grove_queue_retries", "Keys added again after a failure.", label, queues, lambda q: q.retries)
    yield counter("grove_queue_handed_out", "Keys given to workers.", label, queues, lambda q: q.handed_out)
    yield counter("grove_queue_waited_seconds", "Time that keys waited, ready.", label, queues, lambda q: q.waited)
    yield gauge("grove_controller_synced", "Whether all sources are.", label, statistics, lambda c: c.synced)
    yield gauge("grove_workers", "Workers there are.", label, statistics, lambda c: c.workers)
    yield gauge("grove_workers_busy", "Workers that reconcile.", label, statistics, lambda c: c.busy)
    yield gauge(
        "grove_reconcile_longest_seconds",
        "How long the longest reconcile under way has taken so far.",
        label,
        queues,
        lambda q: max(q.working.values(), default=0.0),
    )
    yield results(statistics)
    yield errors(statistics)
    yield durations(statistics)


def results(statistics: dict[str, ControllerStatistics[Hashable]]) -> Metric:
    family = CounterMetricFamily("grove_reconciles", "Reconciles by how they ended.", labels=["controller", "result"])
    for name, one in statistics.items():
        for result in ("done", "requeued", "failed", "terminal", "cancelled"):
            family.add_metric([name, result], getattr(one, result))
    return family


def errors(statistics: dict[str, ControllerStatistics[Hashable]]) -> Metric:
    help = "Reconciles that raised, by the type of what they raised."
    family = CounterMetricFamily("grove_reconcile_errors", help, labels=["controller", "error_type"])
    for name, one in statistics.items():
        for error, count in one.errors.items():
            family.add_metric([name, error], count)
    return family


def durations(statistics: dict[str, ControllerStatistics[Hashable]]) -> Metric:
    family = HistogramMetricFamily("grove_reconcile_seconds", "How long reconciles took.", labels=["controller"])
    for name, one in statistics.items():
        add_durations(family, [name], one.durations)
    return family


def add_durations(family: HistogramMetricFamily, labels: Sequence[str], durations: DurationStatistics) -> None:
    bounds = [*map(str, durations.bounds), "+Inf"]
    family.add_metric(labels, list(zip(bounds, map(float, durations.buckets), strict=True)), durations.total)


def of_elections(statistics: dict[str, ElectionStatistics]) -> Iterator[Metric]:
    if not statistics:
        return
    label = "lease"
    yield gauge("grove_leader", "Whether this process leads.", label, statistics, lambda e: e.leading)
    yield gauge("grove_lease_seconds_left", "Until the term ends.", label, statistics, lambda e: e.seconds_left)
    yield counter("grove_lease_tries", "Tries to take or renew the lease.", label, statistics, lambda e: e.tries)
    yield counter("grove_lease_failures", "Tries without an answer.", label, statistics, lambda e: e.failures)
    yield counter("grove_lease_terms", "Terms begun by this process.", label, statistics, lambda e: e.terms)
    yield counter("grove_lease_lost", "Terms lost.", label, statistics, lambda e: e.lost)


def of_recorders(statistics: dict[str, RecorderStatistics]) -> Iterator[Metric]:
    if not statistics:
        return
    label = "recorder"
    yield gauge("grove_events_waiting", "Events to be sent.", label, statistics, lambda r: r.waiting)
    yield counter("grove_events_recorded", "What happened to objects.", label, statistics, lambda r: r.recorded)
    yield counter("grove_events_created", "Events created.", label, statistics, lambda r: r.created)
    yield counter("grove_events_patched", "Events counted up.", label, statistics, lambda r: r.patched)
    yield counter("grove_events_dropped", "Occurrences not told.", label, statistics, lambda r: r.dropped)
    yield counter("grove_events_failures", "Requests that failed.", label, statistics, lambda r: r.failures)


def gauge(name: str, help: str, label: str, values: Mapping[str, Any], read: Callable[[Any], float]) -> Metric:
    family = GaugeMetricFamily(name, help, labels=[label])
    for key, value in values.items():
        family.add_metric([key], float(read(value)))
    return family


def counter(name: str, help: str, label: str, values: Mapping[str, Any], read: Callable[[Any], float]) -> Metric:
    family = CounterMetricFamily(name, help, labels=[label])
    for key, value in values.items():
        family.add_metric([key], float(read(value)))
    return family
