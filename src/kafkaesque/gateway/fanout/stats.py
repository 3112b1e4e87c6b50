"""What a fan-out worker counts, as plain numbers; what all workers' come to; Prometheus' page.

The hot path writes `stats.delivered += 1` and nothing more. A snapshot is a dict that JSON can
carry between workers, `merge` makes one of several, `metrics` a page of that. `loop_delay` and
`latency` are observed by whoever measures them. Names and meanings: docs/reference/metrics.md.
Above: hub, feed and connections count; pages.py shows. Below: metrics.py.
"""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from kafkaesque.metrics import Histogram, Metric, Sample, exposition, gauge

Snapshot: TypeAlias = dict[str, Any]
Slow: TypeAlias = dict[str, Any]
"""A client that does not keep up: `peer`, `subscriptions`, `dropped`, `since` (seconds of 1970)."""
Topics: TypeAlias = dict[str, dict[str, int]]
"""Figures of each topic that is read; `lag` and partitions are the largest of all workers'."""

LATENCY_BOUNDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0)
DELAY_BOUNDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5)

GAUGES = {
    "connections": "Clients connected now.",
    "subscriptions": "Subscriptions of those clients.",
    "paused": "Subscriptions that wait for a slow client now, to go on by offset.",
    "lag": "Records that the cluster has and a worker has not read yet: the worst worker's.",
}
COUNTERS = {
    "connections_total": "Clients that have connected since the start.",
    "refused": "Clients refused: limits, tokens, origins, bad requests.",
    "records": "Records read from the head of the topics.",
    "catch_up_records": "Older records read for subscriptions that resume.",
    "bytes_fetched": "Bytes of record batches received from the cluster.",
    "delivered": "Messages written to clients.",
    "delivered_bytes": "Bytes of those messages.",
    "dropped": "Messages that slow clients have missed, and were told of.",
    "conflated": "Messages replaced by a newer one of the same key before they were sent.",
    "slow_disconnects": "Clients disconnected because they were slow.",
    "undecodable": "Values and keys that name a schema and could not be decoded by it.",
}
HISTOGRAMS = {
    "latency": ("latency_seconds", "From a record's timestamp to the write to a client."),
    "loop_delay": ("loop_delay_seconds", "How late a timer of a worker's event loop ran."),
}
_LARGEST = {"lag", "partitions", "partitions_read"}
_SLOWEST = 100


class Stats:
    """One worker's. `unreachable` says why the cluster cannot be read, empty if it can."""

    __slots__ = (
        *GAUGES,
        *COUNTERS,
        *HISTOGRAMS,
        "slow",
        "starts",
        "topics",
        "unreachable",
        "worker",
    )

    def __init__(
        self,
        worker: int = 0,
        starts: int = 1,
        slow: Callable[[], Sequence[Slow]] = list,
        topics: Callable[[], Topics] = dict,
    ) -> None:
        self.worker = worker
        self.starts = starts
        self.slow = slow
        self.topics = topics
        self.unreachable = "no answer yet"
        self.connections = self.subscriptions = self.paused = self.lag = 0
        self.connections_total = self.refused = 0
        self.records = self.catch_up_records = self.bytes_fetched = 0
        self.delivered = self.delivered_bytes = 0
        self.dropped = self.conflated = self.slow_disconnects = self.undecodable = 0
        self.latency = Histogram(LATENCY_BOUNDS)
        self.loop_delay = Histogram(DELAY_BOUNDS)

    def snapshot(self) -> Snapshot:
        figures: Snapshot = {name: getattr(self, name) for name in (*GAUGES, *COUNTERS)}
        for name in HISTOGRAMS:
            figures[name] = _parts(getattr(self, name))
        slow = self.slow()
        worker = {
            "worker": self.worker,
            "pid": os.getpid(),
            "restarts": self.starts - 1,
            "connections": self.connections,
            "cpu_seconds": time.process_time(),
            "resident_bytes": _resident_bytes(),
            "unreachable": self.unreachable,
        }
        return {
            **figures,
            "slow_clients": len(slow),
            "slow": list(slow[:_SLOWEST]),
            "topics": self.topics(),
            "workers": [worker],
            "missing": [],
        }


def merge(snapshots: Iterable[Mapping[str, Any]], missing: Sequence[int] = ()) -> Snapshot:
    """All workers as one. `missing` are those that did not answer."""
    total = Stats().snapshot() | {"workers": [], "missing": sorted(missing)}
    topics: Topics = {}
    for snapshot in snapshots:
        for name in (*GAUGES, *COUNTERS):
            total[name] = _joined(name, total[name], snapshot[name])
        for name in HISTOGRAMS:
            histogram = _histogram(total[name])
            histogram.add(*(snapshot[name][part] for part in ("counts", "sum", "max")))
            total[name] = _parts(histogram)
        for topic, figures in snapshot["topics"].items():
            ours = topics.setdefault(topic, {})
            for name, value in figures.items():
                ours[name] = _joined(name, ours.get(name, 0), value)
        total["slow_clients"] += snapshot["slow_clients"]
        total["slow"] += snapshot["slow"]
        total["workers"] += snapshot["workers"]
    total["slow"] = sorted(total["slow"], key=lambda slow: slow["dropped"], reverse=True)[:_SLOWEST]
    total["workers"].sort(key=lambda row: row["worker"])
    return total | {"topics": topics}


def metrics(snapshot: Mapping[str, Any]) -> str:
    """The page of what `merge` has made."""
    return exposition(_metrics(snapshot))


def _metrics(snapshot: Mapping[str, Any]) -> Iterator[Metric]:
    for name, about in GAUGES.items():
        yield gauge(_named(name), about, snapshot[name])
    for name, about in COUNTERS.items():
        total = _named(name if name.endswith("_total") else f"{name}_total")
        yield Metric(total, "counter", about, [Sample("", snapshot[name])])
    for name, (metric, about) in HISTOGRAMS.items():
        histogram = _histogram(snapshot[name])
        yield histogram.metric(_named(metric), about)
        largest = _named(metric.replace("_seconds", "_max_seconds"))
        yield gauge(largest, "The longest since the start.", histogram.max)
    workers = snapshot["workers"]
    expected = len(workers) + len(snapshot["missing"])
    yield gauge(
        _named("slow_clients"), "Clients that do not keep up now.", snapshot["slow_clients"]
    )
    yield gauge(_named("workers"), "Workers that should run.", expected)
    yield gauge(_named("workers_answering"), "Workers that these figures are of.", len(workers))
    for field, kind, metric, about in (
        ("connections", "gauge", "connections", "Clients connected to this worker now."),
        ("restarts", "counter", "restarts_total", "How often it was started again."),
        ("cpu_seconds", "counter", "cpu_seconds_total", "Processor time that it has used."),
        ("resident_bytes", "gauge", "resident_bytes", "Memory that it holds."),
    ):
        samples = [Sample(f'{{worker="{row["worker"]}"}}', row[field]) for row in workers]
        yield Metric(_named(f"worker_{metric}"), kind, about, samples)


def _named(name: str) -> str:
    return f"kafkaesque_fanout_{name}"


def _joined(name: str, ours: int, theirs: int) -> int:
    return max(ours, theirs) if name in _LARGEST else ours + theirs


def _parts(histogram: Histogram) -> dict[str, Any]:
    return {
        "bounds": list(histogram.bounds),
        "counts": list(histogram.counts),
        "sum": histogram.sum,
        "max": histogram.max,
    }


def _histogram(parts: Mapping[str, Any]) -> Histogram:
    histogram = Histogram(parts["bounds"])
    histogram.add(parts["counts"], parts["sum"], parts["max"])
    return histogram


def _resident_bytes() -> int:
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return 0  # Only Linux tells what is held now.
    return pages * os.sysconf("SC_PAGE_SIZE")
