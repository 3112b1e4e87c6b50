"""The console about itself: /health and /metrics, as the other parts have them.

Health is whether the cluster can be reached: asked when somebody asks, because the console looks at
it only while a page is open. Above: app.py. Below: poller.py, metrics.py.
"""

import asyncio

from fastapi import FastAPI
from fastapi.responses import JSONResponse, Response

from kafkaesque.client.connection import ClusterError, Connection
from kafkaesque.console.poller import Poller
from kafkaesque.metrics import CONTENT_TYPE, Metric, Sample, exposition, gauge


def add_routes(application: FastAPI, connection: Connection, poller: Poller) -> None:
    @application.get("/health")
    async def health() -> Response:
        try:
            await asyncio.to_thread(connection.require_an_answer)
        except ClusterError as error:
            return JSONResponse({"status": "failing", "reasons": [str(error)]}, 503)
        return JSONResponse({"status": "ok", "reasons": []})

    @application.get("/metrics")
    async def metrics() -> Response:
        return Response(exposition(_metrics(poller)), media_type=CONTENT_TYPE)


def _metrics(poller: Poller) -> list[Metric]:
    return [
        gauge("kafkaesque_console_pages", "Pages open now.", poller.pages),
        gauge("kafkaesque_console_tails", "Topics that are tailed now.", poller.tails),
        Metric(
            "kafkaesque_console_looks_total",
            "counter",
            "How often it has looked at the cluster.",
            [Sample("", poller.view.version)],
        ),
    ]
