"""The first request of a connection to the web port: it says what the connection becomes.

    /ws              the sample's protocol          sample_client.py
    /v1              kafkaesque.v1                  v1_client.py
    /sse             Server-Sent Events             sse_client.py
    /metrics /health /stats                         pages.py
    /kafkaesque.js   the browser's module           web/
    /                a page that says all this

Above: server.py. Below: door.py, http_head.py.
"""

import asyncio
from importlib.resources import files
from typing import TYPE_CHECKING, Final, cast

from kafkaesque.client.v1 import SUBPROTOCOL, Decode
from kafkaesque.gateway.access import bearer_token
from kafkaesque.gateway.fanout import pages, websocket
from kafkaesque.gateway.fanout.client import Client, peer_of
from kafkaesque.gateway.fanout.http_head import (
    END,
    MAX_HEAD_BYTES,
    BadRequestError,
    Request,
    parse_head,
    response,
)
from kafkaesque.gateway.fanout.joining import SubscribeError
from kafkaesque.gateway.fanout.sample_client import GREETING, SampleClient
from kafkaesque.gateway.fanout.sse_client import SseClient, decode_of, query_of
from kafkaesque.gateway.fanout.v1_client import V1WebSocket
from kafkaesque.gateway.origins import origin_allowed

if TYPE_CHECKING:
    from kafkaesque.gateway.fanout.door import Door

_FILES: Final = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/kafkaesque.js": ("kafkaesque.js", "text/javascript; charset=utf-8"),
}


class HttpClient(asyncio.Protocol):
    __slots__ = ("_address", "_door", "_head", "_refusal", "_transport")

    def __init__(self, door: "Door") -> None:
        self._door = door
        self._head = b""
        self._refusal: str | None = None
        self._address = ""
        self._transport: asyncio.Transport = cast(asyncio.Transport, None)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._address = peer_of(transport)
        self._refusal = self._door.limits.admit(self._address)
        self._door.wait_for(self._transport)

    def connection_lost(self, error: Exception | None) -> None:
        self._door.newcomers.pop(self._transport, None)
        if self._refusal is None:
            self._door.limits.leave(self._address)

    def data_received(self, data: bytes) -> None:
        if self._transport.is_closing():
            return
        self._head += data
        found, end, rest = self._head.partition(END)
        if not end and len(self._head) <= MAX_HEAD_BYTES:
            return
        self._head = b""
        try:
            if self._refusal is not None:
                # Not before the request has come: who is still sending would not read it.
                raise BadRequestError(503, self._refusal, {"Retry-After": "5"})
            self._route(parse_head(found), rest)
        except BadRequestError as error:
            self._refuse(error)

    def _route(self, request: Request, rest: bytes) -> None:
        allow_origin = self._checked_origin(request)
        match request.path:
            case "/ws":
                client = SampleClient(
                    self._door, self._address, decodes=decode_of(request) is Decode.JSON
                )
                answer = websocket.accept(request, None) + GREETING
                self._become(client, request, answer, rest)
            case "/v1":
                ours = SUBPROTOCOL if SUBPROTOCOL in websocket.subprotocols(request) else None
                answer = websocket.accept(request, ours)
                self._become(V1WebSocket(self._door, self._address), request, answer, rest)
            case "/sse":
                self._stream(request, allow_origin)
            case path:
                if request.method not in ("GET", "HEAD"):
                    raise BadRequestError(405, "there is only GET here", {"Allow": "GET"})
                if path == "/stats":
                    self._require_all_topics(request)
                self._page(path, allow_origin, request.method == "HEAD")

    def _checked_origin(self, request: Request) -> dict[str, str]:
        """The headers that let a page of another place read the answer."""
        origin = request.headers.get("origin")
        if origin is None:
            return {}
        if not origin_allowed(origin, request.headers.get("host"), self._door.config.origins):
            raise BadRequestError(
                403, f"pages of {origin} may not connect here: allow them with --origin"
            )
        return {"Access-Control-Allow-Origin": origin, "Vary": "Origin"}

    def _require_all_topics(self, request: Request) -> None:
        """For a page that names topics and clients."""
        grant = self._door.access.grant(_token(request))
        if grant is None or not grant.covers_all_topics:
            headers = {"WWW-Authenticate": "Bearer"}
            raise BadRequestError(401, "a token that may read all topics is needed", headers)

    def _stream(self, request: Request, allow_origin: dict[str, str]) -> None:
        if request.method != "GET":
            raise BadRequestError(405, "there is only GET here", {"Allow": "GET"})
        query = query_of(request)
        if query.decode is Decode.JSON:
            self._require_decoding(allow_origin)
        client = SseClient(self._door, self._address)
        self._become(client, request, b"", b"")
        if client.is_closing:
            return
        for topic in query.topics:
            if reason := client.refusal(topic, query.wants):
                client.write_now(BadRequestError(403, reason, allow_origin).response())
                client.end(1008, "")
                return
        self._door.spawn(client.begin(query, allow_origin))

    def _require_decoding(self, allow_origin: dict[str, str]) -> None:
        try:
            _ = self._door.decoding
        except SubscribeError as error:
            raise BadRequestError(400, str(error), allow_origin) from None

    def _become(self, client: Client, request: Request, answer: bytes, rest: bytes) -> None:
        """From now on the client hears what the transport tells, and is the one admitted."""
        token = _token(request)
        # Over /v1 it may come as the first message: a browser cannot send headers.
        is_later = token is None and isinstance(client, V1WebSocket)
        client.connection_made(self._transport)
        self._transport.set_protocol(client)
        self._door.came(client)
        if client.grant is None and not is_later and (reason := self._door.refusal(client, token)):
            client.is_closing = True
            self._refuse(BadRequestError(401, reason, {"WWW-Authenticate": "Bearer"}))
            return
        if answer:
            client.write_now(answer)
        if rest:
            client.data_received(rest)

    def _page(self, path: str, allow_origin: dict[str, str], only_head: bool) -> None:
        if path in _FILES:
            name, content_type = _FILES[path]
            body = files("kafkaesque.gateway.fanout").joinpath("web", name).read_bytes()
            self._answer(
                response(200, {"Content-Type": content_type, **allow_origin}, body), only_head
            )
        elif path in pages.PATHS:
            self._door.spawn(self._figures(path, allow_origin, only_head))
        else:
            raise BadRequestError(404, "there is /ws, /v1, /sse, /metrics, /health and /stats here")

    async def _figures(self, path: str, allow_origin: dict[str, str], only_head: bool) -> None:
        page = await pages.page(path, self._door.siblings, self._door.stats)
        assert page is not None
        headers = {"Content-Type": page.content_type, "Cache-Control": "no-store", **allow_origin}
        self._answer(response(page.status, headers, page.body), only_head)

    def _answer(self, data: bytes, only_head: bool) -> None:
        self._transport.write(data[: data.index(END) + len(END)] if only_head else data)
        self._transport.close()

    def _refuse(self, error: BadRequestError) -> None:
        self._door.stats.refused += 1
        self._transport.write(error.response())
        self._transport.close()


def _token(request: Request) -> str | None:
    """EventSource cannot send headers, so it may stand in the URL, too."""
    given = request.query.get("access_token", [])
    return bearer_token(request.headers.get("authorization")) or (given[0] if given else None)
