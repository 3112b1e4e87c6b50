"""One connection to a fan-out that speaks kafkaesque.v1: messages out, messages in.

    link = await open_link("ws://127.0.0.1:8083/v1", token)      or wss://
    link = await open_link("tcp://127.0.0.1:8084", token)        or tls://

A message is text (JSON) or bytes (an event frame). What ends a connection raises LinkError, whose
`is_final` says whether to try again. It says hello where there is something to say: over WebSocket
the token is a header, over TCP the first message.
Above: subscriber.py. Below: v1/, the `websockets` library.
"""

import asyncio
from ssl import SSLContext, create_default_context
from struct import Struct
from typing import Protocol
from urllib.parse import urlsplit

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus, InvalidURI
from websockets.typing import Subprotocol

from kafkaesque.client.connection import ClusterError
from kafkaesque.client.v1.requests import SUBPROTOCOL, Request, Token, request_json

_LENGTH = Struct(">I")
_JSON = b"{"
_OPEN_S = 10.0
REFUSED = 1008
"""The close code of a client that did what it may not, or asked for what is not there."""


class LinkError(ClusterError):
    """A connection that is over, or was never there; trying again helps unless `is_final`."""

    def __init__(self, message: str, *, is_final: bool = False) -> None:
        super().__init__(message)
        self.is_final = is_final


class Link(Protocol):
    async def send(self, request: Request) -> None: ...

    async def receive(self) -> str | bytes: ...

    async def close(self) -> None: ...


async def open_link(uri: str, token: str | None, tls: SSLContext | None = None) -> Link:
    """`tls` says whom to trust where the URI asks for TLS; None: the system's authorities."""
    scheme = urlsplit(uri).scheme
    if scheme in ("ws", "wss"):
        return await WebSocketLink.open(uri, token, tls)
    if scheme in ("tcp", "tls"):
        return await TcpLink.open(uri, token, tls)
    raise LinkError(f"{uri} is no ws://, wss://, tcp:// or tls:// address", is_final=True)


def _away(uri: str, error: Exception) -> LinkError:
    reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return LinkError(f"nothing answers at {uri} ({reason}): start it with `kafkaesque fanout`")


class WebSocketLink:
    def __init__(self, uri: str, connection: ClientConnection) -> None:
        self._uri = uri
        self._connection = connection

    @classmethod
    async def open(cls, uri: str, token: str | None, tls: SSLContext | None) -> "WebSocketLink":
        try:
            connection = await connect(
                uri,
                ssl=tls if tls is not None and uri.startswith("wss:") else None,
                subprotocols=[Subprotocol(SUBPROTOCOL)],
                additional_headers=None if token is None else {"Authorization": f"Bearer {token}"},
                compression=None,
                max_size=None,
                open_timeout=_OPEN_S,
                ping_interval=None,  # subscriber.py asks after the server itself.
            )
        except InvalidURI as error:
            raise LinkError(f"{uri} is no address of a fan-out: {error}", is_final=True) from None
        except InvalidStatus as error:
            raise _refused(uri, error) from None
        except (InvalidHandshake, OSError, EOFError) as error:
            raise _away(uri, error) from None
        return cls(uri, connection)

    async def send(self, request: Request) -> None:
        try:
            await self._connection.send(request_json(request))
        except ConnectionClosed as error:
            raise self._ended(error) from None

    async def receive(self) -> str | bytes:
        try:
            return await self._connection.recv()
        except ConnectionClosed as error:
            raise self._ended(error) from None

    async def close(self) -> None:
        await self._connection.close()

    def _ended(self, error: ConnectionClosed) -> LinkError:
        closed = error.rcvd
        if closed is None:
            return LinkError(f"the connection to {self._uri} is lost")
        reason = closed.reason or f"code {closed.code}"
        return LinkError(f"{self._uri} closed: {reason}", is_final=closed.code == REFUSED)


def _refused(uri: str, error: InvalidStatus) -> LinkError:
    """What the server has answered in place of a WebSocket; one that is busy may say yes later."""
    status = error.response.status_code
    body = bytes(error.response.body or b"").decode(errors="replace").strip()
    reason = body or error.response.reason_phrase
    return LinkError(
        f"{uri} answers {status}: {reason}", is_final=status < 500 and status not in (408, 429)
    )


class TcpLink:
    def __init__(
        self, uri: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._uri = uri
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(cls, uri: str, token: str | None, tls: SSLContext | None) -> "TcpLink":
        try:
            parts = urlsplit(uri)
            host, port = parts.hostname, parts.port
        except ValueError:
            host = port = None
        if not host or port is None:
            raise LinkError(f"{uri} needs a host and a port: tcp://127.0.0.1:8084", is_final=True)
        context = (tls or create_default_context()) if parts.scheme == "tls" else None
        try:
            async with asyncio.timeout(_OPEN_S):
                reader, writer = await asyncio.open_connection(host, port, ssl=context)
        except OSError as error:
            raise _away(uri, error) from None
        link = cls(uri, reader, writer)
        if token is not None:
            await link.send(Token(token))
        return link

    async def send(self, request: Request) -> None:
        payload = request_json(request).encode()
        try:
            self._writer.write(_LENGTH.pack(len(payload)) + payload)
            await self._writer.drain()
        except OSError:
            raise self._lost() from None

    async def receive(self) -> str | bytes:
        try:
            (length,) = _LENGTH.unpack(await self._reader.readexactly(_LENGTH.size))
            payload = await self._reader.readexactly(length)
        except (OSError, EOFError):
            raise self._lost() from None
        return payload.decode() if payload.startswith(_JSON) else payload

    async def close(self) -> None:
        self._writer.close()
        try:
            await self._writer.wait_closed()
        except OSError:  # It is closed all the same.
            pass

    def _lost(self) -> LinkError:
        return LinkError(f"the connection to {self._uri} is lost")
