"""A client over kafkaesque.v1 that wants all keys, and then does not read; later it reads all.

What it was sent is held against what was produced: an event that was neither delivered nor within a
gap it was told of is lost, one that was both is told twice. Above: stall.py.
"""

import json
import socket
import struct
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

from benchmarks.fanout.clients import TEXT, frame, upgrade

from kafkaesque.client.v1 import decode_event

RECEIVE_BUFFER = 4096
SILENCE_S = 1.5
READ_S = 30.0
_TEXT, _BINARY, _CLOSE = 1, 2, 8


@dataclass(slots=True)
class Account:
    """`closed`: why the server closed the connection, if it did."""

    delivered: int = 0
    missed: int = 0
    gaps: int = 0
    reasons: set[str] = field(default_factory=set)
    closed: str | None = None

    def add(self, opcode: int, payload: bytes) -> None:
        if opcode == _BINARY:
            decode_event(payload)
            self.delivered += 1
        elif opcode == _TEXT:
            self._told(json.loads(payload))
        elif opcode == _CLOSE:
            self.closed = self.closed or payload[2:].decode(errors="replace") or "closed"

    def _told(self, said: dict[str, Any]) -> None:
        if said["type"] == "gap":
            self.gaps += 1
            self.missed += said["missed"] or 0
            self.reasons.add(said["reason"])
        elif said["type"] == "closing":
            self.closed = said["reason"]


def frames(data: bytes) -> Iterator[tuple[int, bytes, int]]:
    """Whole frames of a server: opcode, payload, and where the next one begins."""
    at = 0
    while len(data) - at >= 2:
        opcode, size, start = data[at] & 0x0F, data[at + 1] & 0x7F, at + 2
        if size == 126:
            start += 2
        elif size == 127:
            start += 8
        if start > len(data):
            return
        if start > at + 2:
            size = int.from_bytes(data[at + 2 : start], "big")
        if start + size > len(data):
            return
        at = start + size
        yield opcode, data[start:at], at


class Stalled:
    """Subscribed from the beginning of the block; it reads only when told to."""

    def __init__(self, port: int, topic: str, policy: str) -> None:
        self._socket = socket.socket()
        # Small, so that it counts as slow at once, not after megabytes in the kernel.
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER)
        self._socket.settimeout(30)
        self._socket.connect(("127.0.0.1", port))
        self._data = b""
        self._socket.sendall(upgrade("/v1", port, "Sec-WebSocket-Protocol: kafkaesque.v1").send)
        while b"\r\n\r\n" not in self._data:
            self._receive()
        self._data = self._data.partition(b"\r\n\r\n")[2]
        wanted = {"type": "subscribe", "id": 1, "topic": topic, "policy": policy}
        self._socket.sendall(frame(TEXT, json.dumps(wanted).encode()))
        self._await_subscribed()

    def _receive(self) -> None:
        if not (got := self._socket.recv(RECEIVE_BUFFER)):
            raise ConnectionError(f"closed, after {self._data[:300]!r}")
        self._data += got

    def _await_subscribed(self) -> None:
        while (answer := next(frames(self._data), None)) is None:
            self._receive()
        _, payload, end = answer
        if b'"subscribed"' not in payload:
            raise ConnectionError(f"not subscribed: {payload[:300]!r}")
        self._data = self._data[end:]

    def read(self) -> Account:
        """All that is there, until it is silent for a while."""
        account, data, deadline = Account(), self._data, time.monotonic() + READ_S
        self._socket.settimeout(SILENCE_S)
        while time.monotonic() < deadline and account.closed is None:
            try:
                got = self._socket.recv(1 << 18)
            except (TimeoutError, ConnectionResetError) as error:
                account.closed = "reset" if isinstance(error, ConnectionResetError) else None
                break
            if not got:
                account.closed = account.closed or "closed"
            data += got
            end = 0
            for opcode, payload, end in frames(data):  # noqa: B007
                account.add(opcode, payload)
            data = data[end:]
        return account

    def __enter__(self) -> "Stalled":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._socket.close()
