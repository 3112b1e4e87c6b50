"""The application: all routes, what surrounds them, and what becomes of errors.

Above: server.py. Below: every file with routes; edge.py; gateway.py.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from kafkaesque.client.connection import ClusterError
from kafkaesque.client.fetch import Fetcher
from kafkaesque.errors import KafkaError
from kafkaesque.gateway.access import Access
from kafkaesque.gateway.events import about, groups, read, topics, write
from kafkaesque.gateway.events.config import EventsConfig
from kafkaesque.gateway.events.edge import Edge
from kafkaesque.gateway.events.gateway import Gateway
from kafkaesque.gateway.events.problems import ProblemError, of_code

_TAGS = [
    {"name": "Events", "description": "Write events, read them as a stream or page by page."},
    {"name": "Topics", "description": "What topics there are, and what they are like."},
    {"name": "Groups", "description": "Consumer groups: how far behind they are, and moving them."},
    {"name": "Gateway", "description": "The gateway about itself."},
]
_ABOUT = (
    "Events of a Kafka cluster over HTTP. An error has a word for programs, `error`, and a "
    "sentence for people, `message`, which says what to do."
)


class _Application(FastAPI):
    def openapi(self) -> dict[str, Any]:
        """Without the 422 that FastAPI promises: what cannot be read is a 400 here."""
        document = super().openapi()
        for path in document["paths"].values():
            for operation in path.values():
                operation["responses"].pop("422", None)
        for name in ("HTTPValidationError", "ValidationError"):
            document["components"]["schemas"].pop(name, None)
        return document


def application(config: EventsConfig) -> FastAPI:
    """Raises StartError if the file of tokens cannot be read."""
    access = Access.open() if config.tokens is None else Access.load(config.tokens)

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        async with Fetcher(config.connection) as questions:
            app.state.gateway = gateway = Gateway(config, access, questions)
            yield
            await gateway.close()

    app = _Application(
        title="Kafkaesque events",
        version=version("kafkaesque-broker"),
        description=_ABOUT,
        openapi_tags=_TAGS,
        docs_url=None,
        redoc_url=None,
        lifespan=life,
        redirect_slashes=False,
    )
    # Reading comes before describing a topic: both begin alike.
    for part in (write, read, topics, groups, about):
        app.include_router(part.router)
    app.add_middleware(Edge, owner=app)
    app.add_exception_handler(ProblemError, _answer)
    app.add_exception_handler(KafkaError, _kafka_error)
    app.add_exception_handler(ClusterError, _cluster_error)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _no_route)
    app.add_exception_handler(ClientDisconnect, _nobody)
    return app


def _answer(_request: Request, error: Any) -> Response:
    problem: ProblemError = error
    return problem.answer()


def _kafka_error(_request: Request, error: Any) -> Response:
    return of_code(error.code, error.message).answer()


def _cluster_error(_request: Request, error: Any) -> Response:
    headers = {"retry-after": "1"}
    return ProblemError(503, "BROKER_NOT_AVAILABLE", str(error), headers).answer()


def _invalid(_request: Request, error: Any) -> Response:
    """The first mistake; where it stands is spelled as in `query.limit` or `body.name`."""
    first = error.errors()[0]
    where = ".".join(map(str, first["loc"]))
    more = {"parameter": str(first["loc"][-1])}
    return ProblemError(400, "INVALID_PARAMETER", f"{where}: {first['msg']}", more=more).answer()


def _no_route(request: Request, error: Any) -> Response:
    word = "NO_SUCH_ROUTE" if error.status_code == 404 else "METHOD_NOT_ALLOWED"
    message = f"there is no {request.method} {request.url.path}: see /docs for what there is"
    return ProblemError(error.status_code, word, message, error.headers).answer()


def _nobody(_request: Request, _error: Any) -> Response:
    # Whoever would read it has gone.
    return Response(status_code=400)
