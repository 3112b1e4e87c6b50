"""`GET /metrics` and `GET /health` over HTTP/1.1, for Prometheus, load balancers and curl: one
answer per connection, then it closes.

    request line | header lines | empty line   →   status line | header lines | empty line | text

Only the request line is looked at. What is no HTTP, is too long or does not end in time is refused
and closed; nothing that a client sends here reaches the broker.
Above: server.py opens it and says what is on the pages. Below: nothing.
"""

import asyncio
import re
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import NamedTuple, TypeAlias, cast

METRICS_PATH = "/metrics"
HEALTH_PATH = "/health"

_MAX_HEAD_BYTES = 8192
_HEAD_SECONDS = 5.0
_REQUEST_LINE = re.compile(rb"([A-Z]+) (/[^ ]*) HTTP/1\.[01]\r?\n")
_HEAD_END = re.compile(rb"\r?\n\r?\n")


class Answer(NamedTuple):
    status: HTTPStatus
    content_type: str
    text: str


Pages: TypeAlias = Mapping[str, Callable[[], Answer]]
"""By path; a page is made when somebody asks for it."""


class MetricsPage:
    """Listens from `open` to `close`."""

    def __init__(self, pages: Pages) -> None:
        self._pages = pages
        self._server: asyncio.Server | None = None
        self._visits: set[_Visit] = set()

    async def open(self, host: str, port: int) -> int:
        """The port that it is bound to, 0 being a free one. OSError where it cannot be."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: _Visit(self._pages, self._visits), host, port
        )
        bound: int = self._server.sockets[0].getsockname()[1]
        return bound

    def close(self) -> None:
        if self._server:
            self._server.close()
        for visit in tuple(self._visits):
            visit.abort()


class _Visit(asyncio.Protocol):
    """One connection: gathers the head of its request, answers, closes."""

    def __init__(self, pages: Pages, visits: set["_Visit"]) -> None:
        self._pages = pages
        self._visits = visits
        self._head = b""
        self._transport: asyncio.Transport
        self._deadline: asyncio.TimerHandle

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._deadline = asyncio.get_running_loop().call_later(_HEAD_SECONDS, self.abort)
        self._visits.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._deadline.cancel()
        self._visits.discard(self)

    def data_received(self, data: bytes) -> None:
        if self._transport.is_closing():
            return
        self._head += data
        if len(self._head) > _MAX_HEAD_BYTES:
            self._answer(_refusal(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, self._pages))
        elif _HEAD_END.search(self._head):
            self._answer(response(self._head, self._pages))

    def abort(self) -> None:
        self._transport.abort()

    def _answer(self, answer: bytes) -> None:
        self._transport.write(answer)
        self._transport.close()


def response(head: bytes, pages: Pages) -> bytes:
    """The whole answer to a request with this head."""
    line = _REQUEST_LINE.match(head)
    if line is None:
        return _refusal(HTTPStatus.BAD_REQUEST, pages)
    method, target = line.groups()
    page = pages.get(target.partition(b"?")[0].decode(errors="replace"))
    if page is None:
        return _refusal(HTTPStatus.NOT_FOUND, pages)
    if method != b"GET":
        return _refusal(HTTPStatus.METHOD_NOT_ALLOWED, pages, "Allow: GET\r\n")
    return _message(*page())


def _refusal(status: HTTPStatus, pages: Pages, header: str = "") -> bytes:
    there = " and ".join(f"GET {path}" for path in pages)
    text = f"{status.phrase}: there is {there} here, and nothing else\n"
    return _message(status, "text/plain; charset=utf-8", text, header)


def _message(status: HTTPStatus, content_type: str, text: str, header: str = "") -> bytes:
    body = text.encode()
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\n"
        f"Content-Type: {content_type}\r\n"
        f"Content-Length: {len(body)}\r\n"
        f"{header}"
        "Connection: close\r\n\r\n"
    )
    return head.encode() + body
