"""What a fan-out says about itself over HTTP, for all its workers: /metrics, /health, /stats.

    /metrics   figures for Prometheus
    /health    200 if every worker runs and reads the cluster, else 503; JSON with the reasons
    /stats     the same figures as JSON, with the topics read, the slow clients and the workers

Above: server.py. Below: siblings.py, stats.py.
"""

from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any, NamedTuple

import orjson

from kafkaesque.gateway.fanout.siblings import Siblings, aggregated
from kafkaesque.gateway.fanout.stats import Stats, metrics
from kafkaesque.metrics import CONTENT_TYPE

PATHS = ("/metrics", "/health", "/stats")
_JSON = "application/json"


class Page(NamedTuple):
    status: int
    content_type: str
    body: bytes


async def page(path: str, siblings: Siblings, stats: Stats) -> Page | None:
    """None if there is no such page here."""
    if path not in PATHS:
        return None
    snapshot = await aggregated(siblings, stats)
    if path == "/metrics":
        return Page(HTTPStatus.OK, CONTENT_TYPE, metrics(snapshot).encode())
    if path == "/health":
        return health(snapshot)
    return Page(HTTPStatus.OK, _JSON, orjson.dumps(snapshot))


def health(snapshot: Mapping[str, Any]) -> Page:
    reasons = list(_reasons(snapshot))
    answering = len(snapshot["workers"])
    said = {
        "status": "failing" if reasons else "ok",
        "reasons": reasons,
        "workers": answering + len(snapshot["missing"]),
        "workers_answering": answering,
    }
    status = HTTPStatus.SERVICE_UNAVAILABLE if reasons else HTTPStatus.OK
    return Page(status, _JSON, orjson.dumps(said))


def _reasons(snapshot: Mapping[str, Any]) -> Iterator[str]:
    for number in snapshot["missing"]:
        yield f"worker {number} does not answer"
    for row in snapshot["workers"]:
        if row["unreachable"]:
            yield f"worker {row['worker']} does not reach the cluster: {row['unreachable']}"
