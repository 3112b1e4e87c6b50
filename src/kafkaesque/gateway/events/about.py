"""The gateway about itself: health, figures, documentation.

The page at /docs is our own, made from the OpenAPI document in the browser: it needs nothing from
elsewhere, and so works where there is no Internet. Below: web/docs.html, stats.py.
"""

import asyncio
from pathlib import Path
from typing import Any

from fastapi import APIRouter
from fastapi.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response

from kafkaesque.client.connection import ClusterError
from kafkaesque.gateway.events.gateway import TheGateway
from kafkaesque.gateway.events.models import Health, problems
from kafkaesque.gateway.events.problems import ProblemError
from kafkaesque.metrics import CONTENT_TYPE

router = APIRouter(tags=["Gateway"])

OPEN_PATHS = frozenset({"/", "/docs", "/health", "/metrics", "/openapi.json"})
"""Nobody needs a token for these."""

_DOCS = Path(__file__).with_name("web") / "docs.html"
_PATIENCE_S = 2.0


@router.get(
    "/health",
    summary="Does the cluster answer?",
    response_model=Health,
    responses=problems(503),
)
async def health(gateway: TheGateway) -> dict[str, Any]:
    """200 if the gateway and the cluster behind it answer, else 503."""
    try:
        async with asyncio.timeout(_PATIENCE_S):
            # Any name will do: whoever answers, answers.
            await gateway.questions.partitions(["health"])
    except (TimeoutError, ClusterError) as error:
        brokers = gateway.config.connection.bootstrap_servers
        message = str(error) or f"no answer from {brokers} within {_PATIENCE_S:g} s"
        raise ProblemError(503, "BROKER_NOT_AVAILABLE", message) from None
    return {"status": "ok", "message": "the cluster answers"}


@router.get("/metrics", summary="Figures for Prometheus", response_class=PlainTextResponse)
async def metrics(gateway: TheGateway) -> Response:
    """Requests, events written and delivered, open streams, and how long writing takes."""
    return Response(gateway.stats.page(), media_type=CONTENT_TYPE)


@router.get("/docs", include_in_schema=False)
async def docs() -> HTMLResponse:
    return HTMLResponse(_DOCS.read_text())


@router.get("/", include_in_schema=False)
async def front() -> RedirectResponse:
    return RedirectResponse("/docs")
