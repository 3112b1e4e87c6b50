"""What every request passes: is its page welcome, does it bring a token, how did it go.

A browser names the page that sends a request. Without the check any page could write to a gateway
on its reader's own machine: browsers ask before they let it *read* the answer, not before they
send. An EventSource cannot send headers, so a token may stand in the address. Plain ASGI, so
that streams pass through untouched. Above: app.py. Below: access.py, origins.py.
"""

from collections.abc import Iterable, Mapping, MutableMapping
from typing import Any

from fastapi import FastAPI
from starlette.datastructures import Headers, QueryParams
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kafkaesque.gateway.access import bearer_token
from kafkaesque.gateway.events.about import OPEN_PATHS
from kafkaesque.gateway.events.gateway import Gateway
from kafkaesque.gateway.events.problems import ProblemError
from kafkaesque.gateway.origins import origin_allowed

_METHODS = "GET, POST, DELETE"
_KEPT_S = "600"


class Edge:
    def __init__(self, app: ASGIApp, owner: FastAPI) -> None:
        self._app = app
        self._owner = owner

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        gateway: Gateway = self._owner.state.gateway
        headers = Headers(scope=scope)
        origin = headers.get("origin")

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                gateway.stats.requests[scope["method"], message["status"]] += 1
                if origin is not None and gateway.config.origins:
                    message["headers"] = [*message["headers"], *_cors(origin)]
            await send(message)

        refusal = _refusal(gateway, scope, headers)
        if refusal is not None:
            await refusal(scope, receive, answer)
        else:
            await self._app(scope, receive, answer)


def _refusal(
    gateway: Gateway, scope: MutableMapping[str, Any], headers: Headers
) -> Response | None:
    """None: let it pass, with what its token grants."""
    if not origin_allowed(headers.get("origin"), headers.get("host"), gateway.config.origins):
        return ProblemError(
            403,
            "ORIGIN_NOT_ALLOWED",
            f"pages of {headers['origin']} may not connect: allow them with --origin",
        ).answer()
    if scope["method"] == "OPTIONS" and "access-control-request-method" in headers:
        return Response(status_code=204, headers=_preflight(headers))
    grant = gateway.access.grant(_token(scope, headers))
    if grant is None and scope["path"] not in OPEN_PATHS:
        return ProblemError(
            401,
            "TOKEN_REQUIRED",
            "this gateway wants a token that it knows: send Authorization: Bearer …",
            headers={"www-authenticate": "Bearer"},
        ).answer()
    scope.setdefault("state", {})["grant"] = grant
    return None


def _token(scope: Mapping[str, Any], headers: Headers) -> str | None:
    return bearer_token(headers.get("authorization")) or QueryParams(scope["query_string"]).get(
        "token"
    )


def _preflight(headers: Headers) -> dict[str, str]:
    return {
        "access-control-allow-methods": _METHODS,
        "access-control-allow-headers": headers.get("access-control-request-headers", ""),
        "access-control-max-age": _KEPT_S,
    }


def _cors(origin: str) -> Iterable[tuple[bytes, bytes]]:
    return (
        (b"access-control-allow-origin", origin.encode("latin-1")),
        (b"vary", b"origin"),
    )
