"""What the registry counts, and how Prometheus is told. One per process.

Above: app.py counts, routes/about.py shows. Below: metrics.py.
"""

from collections import Counter

from kafkaesque.metrics import Histogram, Metric, Sample, exposition, gauge
from kafkaesque.registry.journal import Journal

_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


class Stats:
    def __init__(self) -> None:
        self.requests: Counter[tuple[str, int]] = Counter()
        """By method and status."""
        self.latency = Histogram(_SECONDS)

    def page(self, journal: Journal) -> str:
        return exposition(
            [
                Metric(
                    "kafkaesque_registry_requests_total",
                    "counter",
                    "Requests answered.",
                    [
                        Sample(f'{{method="{method}",status="{status}"}}', count)
                        for (method, status), count in sorted(self.requests.items())
                    ],
                ),
                self.latency.metric(
                    "kafkaesque_registry_request_seconds", "From a request to its answer."
                ),
                gauge(
                    "kafkaesque_registry_subjects",
                    "Subjects that are not deleted.",
                    len(journal.catalog.subjects()),
                ),
                gauge("kafkaesque_registry_schemas", "Schemas known.", len(journal.catalog)),
                _counter(
                    "transactions_total",
                    "Transactions written to the schemas' topic.",
                    journal.writing.transactions,
                ),
                _counter(
                    "turns_total",
                    "How often it became the one who writes: with one registry, once.",
                    journal.writing.pens_taken,
                ),
                _counter(
                    "records_left_out_total",
                    "Records of the schemas' topic that could not be read.",
                    journal.reading.unreadable,
                ),
            ]
        )


def _counter(name: str, about: str, value: float) -> Metric:
    return Metric(f"kafkaesque_registry_{name}", "counter", about, [Sample("", value)])
