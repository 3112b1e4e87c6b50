"""One client's connection: bytes in, requests to their APIs, responses out in the order of the
requests.

    frame:  length i32 | header (api key, version, correlation id, client id) | body

Requests are pipelined. Each one's ordered stage runs as soon as it has arrived, in order of
arrival; what has to wait (a flush, a long poll, a rebalance) goes on as a task, and its response
takes its place in the line. A connection that asks faster than it reads is not read from until it
has caught up.

Above: server.py. Below: apis/. Two things are caught here and nowhere else: bytes that do not
decode close this connection alone, with one line in the log; our own bug is logged with its
traceback.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Mapping
from dataclasses import replace
from functools import partial
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Any, cast

from kafkaesque.broker.apis import APIS, Api, Context
from kafkaesque.broker.apis.api_versions import unsupported_api_versions
from kafkaesque.broker.config import ANY_ADDRESS
from kafkaesque.errors import DecodeError, ErrorCode
from kafkaesque.protocol.codec import decode, encode
from kafkaesque.protocol.frame import frame
from kafkaesque.protocol.header import (
    RequestHeader,
    decode_request_header,
    encode_response_header,
)
from kafkaesque.protocol.messages import API_VERSIONS, FETCH, FLEXIBLE_SINCE, MESSAGES
from kafkaesque.types import Buffer

if TYPE_CHECKING:
    from kafkaesque.broker.broker import Broker
    from kafkaesque.broker.config import Listener

logger = logging.getLogger(__name__)

_MAX_IN_FLIGHT = 128
_MAX_UNSENT_BYTES = 8 << 20
_FIRST_BUFFER_BYTES = 1 << 20

_CHANGES = frozenset(api.key for api in APIS.values() if iscoroutinefunction(api.handle))
"""An API that is `async def` changes something and answers when that is done. As in Kafka, nothing
that comes after it on its connection begins before: the next OffsetFetch sees a commit.
"""


class _Place:
    """A place in the line of responses; `chunks` once there is an answer."""

    __slots__ = ("chunks",)

    def __init__(self) -> None:
        self.chunks: list[Buffer] | None = None


class Connection(asyncio.BufferedProtocol):
    """Receives into a shared scratch buffer; a frame that does not fit in what was read gets its
    own.
    """

    def __init__(
        self,
        broker: "Broker",
        listener: "Listener",
        open_connections: set["Connection"],
        apis: Mapping[int, Api] = APIS,
    ) -> None:
        self._broker = broker
        self._listener = listener
        self._open = open_connections
        self._apis = apis
        self._turn = broker.turn
        self._scratch = broker.scratch
        self._traffic = broker.traffic
        self._max_frame_bytes: int = broker.config["socket.request.max.bytes"]
        self._transport: asyncio.Transport
        self._number = next(broker.connection_numbers)
        self.peer = "?"
        self.last_heard = 0.0
        # The frame that is being received: what there is of it, and its size once that is known.
        self._partial = bytearray()
        self._filled = 0
        self._frame_size = 0
        # Requests whose responses have not been sent, oldest first.
        self._line: deque[_Place] = deque()
        self._change: _Place | None = None
        # A fetch ends with its connection; what changes something is brought to its end.
        self._polls: set[asyncio.Future[Any]] = set()
        self._changes: set[asyncio.Future[Any]] = set()
        self._backlog: Buffer = b""
        self._writable = True
        self._closing = False
        self._finishing = False

    @property
    def is_busy(self) -> bool:
        """Whether a request waits for its response, or a response to be sent."""
        return bool(self._line) or self._transport.get_write_buffer_size() > 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=_MAX_UNSENT_BYTES)
        peer = transport.get_extra_info("peername")
        self.peer = peer[0] if peer else "?"
        if self._listener.host in ANY_ADDRESS and not self._listener.advertised_host:
            # "Come back to 0.0.0.0" helps nobody: the address that this client reached does.
            reached = transport.get_extra_info("sockname")[0]
            self._listener = replace(self._listener, advertised_host=reached)
        self.last_heard = asyncio.get_running_loop().time()
        self._open.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._closing = True
        self._open.discard(self)
        for poll in tuple(self._polls):
            poll.cancel()

    def get_buffer(self, sizehint: int) -> memoryview:
        if self._frame_size:
            return memoryview(self._partial)[self._filled :]
        return self._scratch

    def buffer_updated(self, nbytes: int) -> None:
        self.last_heard = asyncio.get_running_loop().time()
        self._traffic.received_bytes += nbytes
        self._take_in(nbytes)
        if self._turn.is_spent(self.last_heard) and not self._backlog and not self._closing:
            self._transport.pause_reading()
            asyncio.get_running_loop().call_soon(self._read_on)

    def _read_on(self) -> None:
        """In the next turn: unless reading has been stopped for another reason meanwhile."""
        if not (self._backlog or self._closing or self._finishing):
            self._transport.resume_reading()

    def _take_in(self, nbytes: int) -> None:
        if not self._frame_size:
            self._receive(self._scratch[:nbytes])
            return
        self._filled += nbytes
        if self._filled == self._frame_size:
            whole = memoryview(self._partial)
            self._partial, self._filled, self._frame_size = bytearray(), 0, 0
            self._request(whole)
        elif self._filled == len(self._partial):
            self._partial = self._grown(self._partial)

    def eof_received(self) -> bool:
        return False

    def pause_writing(self) -> None:
        self._writable = False

    def resume_writing(self) -> None:
        self._writable = True
        self._catch_up()

    def _receive(self, data: memoryview) -> None:
        """Take whole frames out of `data` and keep what is left of it for the next read."""
        if self._partial:
            data = memoryview(self._partial + data)
            self._partial = bytearray()
        position, end = 0, len(data)
        while not self._closing:
            if end - position < 4:
                self._partial = bytearray(data[position:])
                return
            if self._is_behind():
                self._backlog = bytearray(data[position:])
                self._transport.pause_reading()
                return
            size = int.from_bytes(data[position : position + 4])
            position += 4
            if not 8 <= size <= self._max_frame_bytes:
                self.refuse(
                    f"a frame of {size} bytes (socket.request.max.bytes={self._max_frame_bytes})"
                )
            elif end - position < size:
                self._begin_frame(size, data[position:])
                return
            else:
                self._request(data[position : position + size])
                position += size

    def _begin_frame(self, size: int, received: memoryview) -> None:
        # A length is only a claim: memory is taken as the bytes come, not for what is announced.
        self._partial = bytearray(min(size, max(_FIRST_BUFFER_BYTES, len(received))))
        self._partial[: len(received)] = received
        self._filled, self._frame_size = len(received), size
        if self._filled == len(self._partial):
            self._partial = self._grown(self._partial)

    def _grown(self, partial: bytearray) -> bytearray:
        return partial + bytearray(min(len(partial), self._frame_size - len(partial)))

    def _is_behind(self) -> bool:
        is_changing = self._change is not None and self._change.chunks is None
        is_full = not self._writable or len(self._line) >= _MAX_IN_FLIGHT
        return is_changing or is_full or self._finishing

    def _catch_up(self) -> None:
        if self._backlog and not self._is_behind() and not self._closing:
            backlog, self._backlog = self._backlog, b""
            self._receive(memoryview(backlog))
            if not self._backlog and not self._closing:
                self._transport.resume_reading()

    def _request(self, data: memoryview) -> None:
        try:
            header, position = decode_request_header(data, FLEXIBLE_SINCE)
            api = self._apis.get(header.api_key)
            if api is None or not api.min_version <= header.api_version <= api.max_version:
                self._unsupported(header)
                return
            message = MESSAGES[api.key].request
            request = decode(message, header.api_version, data, position, surplus=True)
        except DecodeError as error:
            self.refuse(error.message)
            return
        self._traffic.requests[api.key] += 1
        context = Context(self._broker, self._listener, header, self.peer, self._number)
        try:
            result = api.handle(context, request)
        except Exception as error:
            self._line.append(place := _Place())
            self._broken(place, api, header, error)
            return
        if isinstance(result, Awaitable):
            self._wait(api, header, result)
        elif result is not None:
            chunks = _encoded(header, result)
            if self._line:
                self._line.append(place := _Place())
                place.chunks = chunks
            else:
                self._write(chunks)

    def _wait(self, api: Api, header: RequestHeader, result: Awaitable[Any]) -> None:
        self._line.append(place := _Place())
        if api.key in _CHANGES:
            self._change = place
        # A future answers by itself; a coroutine needs a task.
        answer = asyncio.ensure_future(result)
        owned = self._polls if api.key == FETCH else self._changes
        owned.add(answer)
        answer.add_done_callback(partial(self._finish, owned, place, api, header))

    def _finish(
        self,
        owned: set[asyncio.Future[Any]],
        place: _Place,
        api: Api,
        header: RequestHeader,
        answer: asyncio.Future[Any],
    ) -> None:
        owned.discard(answer)
        if answer.cancelled():
            return
        if isinstance(error := answer.exception(), Exception):
            self._broken(place, api, header, error)
            return
        result = answer.result()
        place.chunks = [] if result is None else _encoded(header, result)
        self._send()

    def _send(self) -> None:
        """Write the responses at the head of the line that are there."""
        line = self._line
        while line and line[0].chunks is not None and not self._closing:
            chunks = line.popleft().chunks
            if chunks:
                self._write(chunks)
        self._catch_up()

    def _write(self, chunks: list[Buffer]) -> None:
        if len(chunks) == 1:
            self._traffic.sent_bytes += len(chunks[0])
            self._transport.write(chunks[0])
        else:
            self._traffic.sent_bytes += sum(map(len, chunks))
            self._transport.writelines(chunks)

    def _unsupported(self, header: RequestHeader) -> None:
        if header.api_key != API_VERSIONS:
            self.refuse(f"API {header.api_key} is not supported in version {header.api_version}")
            return
        self._line.append(place := _Place())
        place.chunks = _encoded(header._replace(api_version=0), unsupported_api_versions())
        self._send()

    def _broken(self, place: _Place, api: Api, header: RequestHeader, error: Exception) -> None:
        if isinstance(error, ConnectionAbortedError):
            self.refuse(str(error))
            return
        logger.error(
            "%s v%d from %s failed", api.name, header.api_version, self.peer, exc_info=error
        )
        response = MESSAGES[api.key].response()
        if not hasattr(response, "error_code"):
            self.close()
            return
        response.error_code = ErrorCode.UNKNOWN_SERVER_ERROR
        place.chunks = _encoded(header, response)
        self._send()

    def refuse(self, why: str) -> None:
        logger.warning("closing connection from %s: %s", self.peer, why)
        self.close()

    def take_no_more(self) -> None:
        """Answer what has been asked, and read nothing more."""
        self._finishing = True
        if not self._closing:
            self._transport.pause_reading()

    def close(self) -> None:
        self._closing = True
        self._transport.close()

    def abort(self) -> None:
        """Close without waiting for a client that does not read what it is sent."""
        self._closing = True
        self._transport.abort()


def _encoded(header: RequestHeader, response: Any) -> list[Buffer]:
    api = MESSAGES[header.api_key]
    flexible = api.has_flexible_response_header(header.api_version)
    head = encode_response_header(header.correlation_id, flexible)
    return frame([head, *encode(response, header.api_version)])
