"""The head of an HTTP/1.1 request, and answers: as much HTTP as the fan-out needs.

    GET /sse?topic=ticks HTTP/1.1 CRLF
    name: value CRLF …
    CRLF

Requests have no bodies here, and a connection takes one request. Bytes that are no such head raise
BadRequestError and nothing else; it knows the answer to send. A name that comes twice is joined
with a comma, but for those of which two would be two meanings.
Pure. Above: the fan-out's connections, websocket.py.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final
from urllib.parse import parse_qs, unquote, urlsplit

MAX_HEAD_BYTES: Final = 16 << 10
END: Final = b"\r\n\r\n"

_MAX_FIELDS = 100
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_SPACES = re.compile(rb"[\x00-\x20\x7f-\xff]")
_VERSIONS = ("HTTP/1.1", "HTTP/1.0")
_SINGLE = ("host", "content-length", "authorization", "sec-websocket-key")


class BadRequestError(Exception):
    """A request that is refused: the status and the reason to answer with."""

    def __init__(self, status: int, reason: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(f"{status}: {reason}")
        self.status = status
        self.reason = reason
        self.headers = headers or {}

    def response(self) -> bytes:
        return response(self.status, self.headers, f"{self.reason}\n".encode())


@dataclass(frozen=True, slots=True)
class Request:
    """The path is decoded; names of headers are in lower case."""

    method: str
    path: str
    query: dict[str, list[str]]
    headers: dict[str, str]


def parse_head(data: bytes) -> Request:
    """A whole head, with or without the empty line that ends it."""
    if len(data) > MAX_HEAD_BYTES:
        raise BadRequestError(431, f"a request's head has at most {MAX_HEAD_BYTES} bytes")
    first, *lines = bytes(data).removesuffix(END).removesuffix(b"\r\n").split(b"\r\n")
    method, target = _request_line(first)
    path, query = _target(target)
    return Request(method, path, query, _headers(lines))


def _request_line(line: bytes) -> tuple[str, str]:
    words = line.decode("latin-1").split(" ")
    if len(words) != 3 or not _TOKEN.fullmatch(words[0]):
        raise BadRequestError(400, "this is no HTTP: send a request line, as in GET /v1 HTTP/1.1")
    method, target, version = words
    if version not in _VERSIONS:
        raise BadRequestError(505, "speak HTTP/1.1")
    if not target or _SPACES.search(target.encode("latin-1")):
        raise BadRequestError(400, "a target is written in ASCII: encode the rest as %XX")
    return method, target


def _target(target: str) -> tuple[str, dict[str, list[str]]]:
    if not target.startswith(("/", "http://", "https://")):
        raise BadRequestError(400, "a target begins with a slash")
    try:
        parts = urlsplit(f"http://host{target}" if target.startswith("/") else target)
        path = unquote(parts.path, errors="strict") or "/"
        query = parse_qs(
            parts.query, keep_blank_values=True, errors="strict", max_num_fields=_MAX_FIELDS
        )
    except ValueError as error:
        raise BadRequestError(400, f"the target cannot be read: {error}") from None
    return path, query


def _headers(lines: list[bytes]) -> dict[str, str]:
    if len(lines) > _MAX_FIELDS:
        raise BadRequestError(431, f"a request has at most {_MAX_FIELDS} headers")
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.decode("latin-1").partition(":")
        if not colon or not _TOKEN.fullmatch(name) or _CONTROL.search(value):
            raise BadRequestError(400, "a header is written name: value, on one line")
        name, value = name.lower(), value.strip(" \t")
        if name not in headers:
            headers[name] = value
        elif name in _SINGLE:
            raise BadRequestError(400, f"the header {name} comes twice")
        else:
            headers[name] = f"{headers[name]}, {value}"
    return headers


def head(status: int, headers: Mapping[str, str]) -> bytes:
    """The beginning of an answer whose body follows, or goes on for ever."""
    lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def response(status: int, headers: Mapping[str, str], body: bytes) -> bytes:
    """A whole answer, after which the connection ends. Text, unless `headers` says otherwise."""
    whole = {
        "Content-Type": "text/plain; charset=utf-8",
        **headers,
        "Content-Length": str(len(body)),
        "Connection": "close",
    }
    return head(status, whole) + body
