"""A raw client for tests, on our own codec: what goes out and what comes back is in plain sight.

    client = RawClient("127.0.0.1:9092")
    answer = client.call(MetadataRequest(topics=None), MetadataResponse, 9)

`Dialogue` numbers the requests and checks that the responses come in their order; it does no I/O.
`RawClient` puts a blocking socket under it, `AsyncClient` an asyncio stream. `send` does not wait;
`receive` takes the next response; `send_bytes` and `receive_frame` go below the codec.
A connection that the broker has closed is a ConnectionError.
"""

import asyncio
import socket
import struct
from collections import deque
from types import TracebackType
from typing import Any, TypeVar

from kafkaesque.protocol.codec import decode, encode
from kafkaesque.protocol.header import (
    RequestHeader,
    decode_response_header,
    encode_request_header,
)
from kafkaesque.protocol.messages import MESSAGES
from kafkaesque.protocol.messages.produce import ProduceRequest
from kafkaesque.protocol.schema import schema_of

R = TypeVar("R")

_SIZE = struct.Struct(">i")


def request_frame(
    message: object, version: int, correlation_id: int, client_id: str = "raw"
) -> bytes:
    """A whole frame, its length first."""
    api_key = schema_of(type(message)).api_key
    assert api_key is not None
    header = RequestHeader(api_key, version, correlation_id, client_id)
    head = encode_request_header(header, MESSAGES[api_key].is_flexible(version))
    body = b"".join([head, *encode(message, version)])
    return _SIZE.pack(len(body)) + body


def _address(bootstrap: str) -> tuple[str, int]:
    host, _, port = bootstrap.rpartition(":")
    return host, int(port)


class Dialogue:
    """The requests of one connection that have no response yet."""

    def __init__(self, client_id: str = "raw") -> None:
        self._client_id = client_id
        self._next_id = 1
        self._waiting: deque[tuple[int, int, int]] = deque()

    def request(self, message: object, version: int) -> bytes:
        number = self._next_id
        self._next_id += 1
        if not (isinstance(message, ProduceRequest) and message.acks == 0):
            api_key = schema_of(type(message)).api_key or 0
            self._waiting.append((number, api_key, version))
        return request_frame(message, version, number, self._client_id)

    def response(self, data: bytes) -> Any:
        expected, api_key, version = self._waiting.popleft()
        api = MESSAGES[api_key]
        found, position = decode_response_header(data, api.has_flexible_response_header(version))
        assert found == expected, f"response {found} came where {expected} was due"
        return decode(api.response, version, data, position)


class RawClient:
    """One connection on a blocking socket."""

    def __init__(self, bootstrap: str, timeout_s: float = 60) -> None:
        self._dialogue = Dialogue()
        self._socket = socket.create_connection(_address(bootstrap), timeout_s)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def call(self, request: object, response: type[R], version: int) -> R:
        self.send(request, version)
        answer = self.receive()
        assert isinstance(answer, response)
        return answer

    def send(self, request: object, version: int) -> None:
        self.send_bytes(self._dialogue.request(request, version))

    def frame(self, request: object, version: int) -> bytes:
        """The frame of a request that the caller sends in its own way; its response is due."""
        return self._dialogue.request(request, version)

    def receive(self) -> Any:
        return self._dialogue.response(self.receive_frame())

    def send_bytes(self, data: bytes) -> None:
        self._socket.sendall(data)

    def receive_frame(self) -> bytes:
        (size,) = _SIZE.unpack(self._receive_exactly(_SIZE.size))
        return self._receive_exactly(size)

    def is_closed_by_broker(self) -> bool:
        """Wait for the end of the connection. False: it goes on, with bytes or in silence."""
        try:
            return self._socket.recv(1) == b""
        except ConnectionResetError:
            return True
        except TimeoutError:
            return False

    def close(self) -> None:
        self._socket.close()

    def _receive_exactly(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            more = self._socket.recv(size - len(data))
            if not more:
                raise ConnectionResetError(f"closed with {size - len(data)} bytes to come")
            data += more
        return bytes(data)

    def __enter__(self) -> "RawClient":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


class AsyncClient:
    """One connection on an asyncio stream, for tests that run the broker in the same loop."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._dialogue = Dialogue()
        self._reader = reader
        self._writer = writer

    @classmethod
    async def connect(cls, bootstrap: str) -> "AsyncClient":
        return cls(*await asyncio.open_connection(*_address(bootstrap)))

    async def call(self, request: object, response: type[R], version: int) -> R:
        self.send(request, version)
        answer = await self.receive()
        assert isinstance(answer, response)
        return answer

    def send(self, request: object, version: int) -> None:
        self._writer.write(self._dialogue.request(request, version))

    async def receive(self) -> Any:
        try:
            (size,) = _SIZE.unpack(await self._reader.readexactly(_SIZE.size))
            return self._dialogue.response(await self._reader.readexactly(size))
        except asyncio.IncompleteReadError as error:
            raise ConnectionResetError("closed by the broker") from error

    async def flush(self) -> None:
        await self._writer.drain()

    def close(self) -> None:
        self._writer.close()
