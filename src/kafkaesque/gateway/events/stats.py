"""What the gateway counts, and how Prometheus is told. One per process.

Above: app.py, write.py, read.py count; about.py shows. Below: metrics.py.
"""

from collections import Counter
from collections.abc import Sequence

from kafkaesque.gateway.events.outcomes import Outcome, Written
from kafkaesque.metrics import Histogram, Metric, Sample, exposition, gauge

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


class Stats:
    def __init__(self) -> None:
        self.requests: Counter[tuple[str, int]] = Counter()
        """By method and status."""
        self.written = 0
        self.refused = 0
        self.delivered = 0
        self.gaps = 0
        self.undecodable = 0
        self.streams = 0
        """Open now."""
        self.streams_refused = 0
        self.write_latency = Histogram(_SECONDS)

    def wrote(self, outcomes: Sequence[Outcome], seconds: float) -> None:
        written = sum(isinstance(outcome, Written) for outcome in outcomes)
        self.written += written
        self.refused += len(outcomes) - written
        self.write_latency.observe(seconds)

    def page(self) -> str:
        return exposition(
            [
                Metric(
                    "kafkaesque_gateway_requests_total",
                    "counter",
                    "Requests answered.",
                    [
                        Sample(f'{{method="{method}",status="{status}"}}', count)
                        for (method, status), count in sorted(self.requests.items())
                    ],
                ),
                _counter("events_written_total", "Events written.", self.written),
                _counter("events_refused_total", "Events not written.", self.refused),
                _counter("events_delivered_total", "Events given to readers.", self.delivered),
                _counter(
                    "gaps_total", "Gaps that readers were told of: retention was faster.", self.gaps
                ),
                _counter(
                    "undecodable_total",
                    "Values and keys that name a schema and could not be decoded by it.",
                    self.undecodable,
                ),
                gauge("kafkaesque_gateway_streams", "Streams open now.", self.streams),
                _counter(
                    "streams_refused_total", "Streams beyond the limit.", self.streams_refused
                ),
                self.write_latency.metric(
                    "kafkaesque_gateway_write_seconds",
                    "From a request's events to all their acknowledgements.",
                ),
            ]
        )


def _counter(name: str, about: str, value: float) -> Metric:
    return Metric(f"kafkaesque_gateway_{name}", "counter", about, [Sample("", value)])
