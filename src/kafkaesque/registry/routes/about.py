"""The registry about itself: what it is, how it is, and what it has counted.

Above: app.py. Below: journal.py, stats.py.
"""

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from kafkaesque.metrics import CONTENT_TYPE
from kafkaesque.registry import requests as asked
from kafkaesque.registry.answers import answer
from kafkaesque.registry.problems import ProblemError


async def root(_request: Request) -> Response:
    return answer({})


async def cluster_id(_request: Request) -> Response:
    """Which of many clusters this is: it belongs to none of them."""
    return answer({"scope": {"path": [], "clusters": {}}, "id": ""})


async def server_version(request: Request) -> Response:
    return answer({"version": request.app.state.version, "commitId": ""})


async def health(request: Request) -> Response:
    """Whether the topic can be read to its end now."""
    try:
        await asked.journal_of(request).refresh()
    except ProblemError as problem:
        return JSONResponse({"status": "failing", "reasons": [problem.message]}, 503)
    return JSONResponse({"status": "ok", "reasons": []})


async def metrics(request: Request) -> Response:
    page = request.app.state.stats.page(asked.journal_of(request))
    return Response(page, media_type=CONTENT_TYPE)


ROUTES = [
    Route("/", root),
    Route("/v1/metadata/id", cluster_id),
    Route("/v1/metadata/version", server_version),
    Route("/health", health),
    Route("/metrics", metrics),
]
