"""The application: paths as they came, problems as answers, everything counted.

Servers decode the percent signs of a path before it is matched, and a subject may hold a slash. So
paths are matched as they came, and requests.py decodes the names in them. `/contexts/.eu/subjects`
is `/subjects` in the context `.eu`.
Above: server.py. Below: routes/, journal.py.
"""

import logging
import time
from urllib.parse import unquote

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kafkaesque.registry.answers import refusal
from kafkaesque.registry.journal import Journal
from kafkaesque.registry.names import context_named
from kafkaesque.registry.problems import ProblemError
from kafkaesque.registry.routes import about, associations, levels, schemas, subjects
from kafkaesque.registry.stats import Stats

_log = logging.getLogger("kafkaesque")
_CONTEXTS = "/contexts/"


def application(journal: Journal, version: str) -> ASGIApp:
    app = Starlette(
        routes=[
            *subjects.ROUTES,
            *schemas.ROUTES,
            *levels.ROUTES,
            *associations.ROUTES,
            *about.ROUTES,
        ],
        exception_handlers={
            ProblemError: _refuse,
            404: _no_such_path,
            405: _no_such_method,
            Exception: _fail,
        },
    )
    app.state.journal = journal
    app.state.version = version
    app.state.stats = Stats()
    return _Edge(app, app.state.stats)


class _Edge:
    def __init__(self, app: ASGIApp, stats: Stats) -> None:
        self._app = app
        self._stats = stats

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        _route_as_it_came(scope)

        async def counted(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._stats.requests[scope["method"], message["status"]] += 1
                self._stats.latency.observe(time.perf_counter() - began)
            await send(message)

        await self._app(scope, receive, counted)


def _route_as_it_came(scope: Scope) -> None:
    path = scope["raw_path"].decode("latin-1")
    if path.startswith(_CONTEXTS):
        name, slash, rest = path[len(_CONTEXTS) :].partition("/")
        if slash:
            scope["registry_context"] = context_named(unquote(name))
            path = "/" + rest
    if len(path) > 1:
        path = path.rstrip("/")
    scope["path"] = path


async def _refuse(_request: Request, error: Exception) -> Response:
    assert isinstance(error, ProblemError)
    return refusal(error)


async def _no_such_path(request: Request, _error: Exception) -> Response:
    return refusal(ProblemError(404, f"there is nothing at {request.scope['path']}"))


async def _no_such_method(request: Request, _error: Exception) -> Response:
    return refusal(ProblemError(405, f"{request.method} cannot be done at {request.scope['path']}"))


async def _fail(request: Request, error: Exception) -> Response:
    _log.error("%s %s failed", request.method, request.scope["path"], exc_info=error)
    return refusal(ProblemError(500, "the registry failed; its log says why"))
