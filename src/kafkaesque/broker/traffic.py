"""What has come in and gone out since the start: plain numbers that the hot path adds to.

What a fetch carries is counted in bytes alone: batches go out as they lie in the log, and nobody
opens them to count. Above: connection.py, apis/produce.py and apis/fetch.py count, server.py shows.
Below: metrics.py.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping

from kafkaesque.metrics import Metric, Sample

_COUNTERS = (
    ("received_bytes", "Bytes received from clients, frames and all."),
    ("sent_bytes", "Bytes of responses given to sockets, frames and all."),
    ("produced_batches", "Record batches of clients appended."),
    ("produced_records", "Records in them."),
    ("produced_bytes", "Their bytes, compressed as they came."),
    ("stalled_connections", "Connections closed because a frame, or its reader, stood still."),
    ("fetched_bytes", "Bytes of record batches in responses to Fetch."),
)


class Traffic:
    """Counts since the start; `requests` by API key."""

    __slots__ = (
        "fetched_bytes",
        "produced_batches",
        "produced_bytes",
        "produced_records",
        "received_bytes",
        "requests",
        "sent_bytes",
        "stalled_connections",
    )

    def __init__(self) -> None:
        self.requests: defaultdict[int, int] = defaultdict(int)
        self.received_bytes = 0
        self.sent_bytes = 0
        self.produced_batches = 0
        self.produced_records = 0
        self.produced_bytes = 0
        self.fetched_bytes = 0
        self.stalled_connections = 0

    def metrics(self, api_names: Mapping[int, str]) -> Iterator[Metric]:
        requests = [
            Sample(f'{{api="{name}"}}', self.requests.get(key, 0))
            for key, name in api_names.items()
        ]
        yield Metric("kafkaesque_requests_total", "counter", "Requests of clients.", requests)
        for name, about in _COUNTERS:
            count = Sample("", getattr(self, name))
            yield Metric(f"kafkaesque_{name}_total", "counter", about, [count])
