"""Messages on a plain TCP stream: kafkaesque.v1 for those who do without WebSocket.

    length u32, big-endian | payload

A payload that begins with `{` is JSON, one that begins with byte 1 an event frame.
Pure. Above: the fan-out's connections, encodings.py.
"""

from struct import Struct

_LENGTH = Struct(">I")


class TcpError(Exception):
    """A client that breaks the framing; it is told why, and closed."""


def frame(payload: bytes) -> bytes:
    return _LENGTH.pack(len(payload)) + payload


class TcpReader:
    """Bytes in, payloads out. It holds nothing while nothing is incomplete."""

    __slots__ = ("_max_bytes", "_rest")

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._rest: bytes | bytearray = b""

    def feed(self, data: bytes) -> list[bytes]:
        if self._rest:
            self._rest += data  # A bytearray: many small pieces are not copied each time.
            data = self._rest  # type: ignore[assignment]
        payloads: list[bytes] = []
        at, size = 0, len(data)
        while size - at >= 4:
            (length,) = _LENGTH.unpack_from(data, at)
            if length > self._max_bytes:
                raise TcpError(
                    f"a message of {length} bytes, and {self._max_bytes} is the most here: "
                    "each message starts with its length as a u32, big-endian"
                )
            if at + 4 + length > size:
                break
            payloads.append(bytes(data[at + 4 : at + 4 + length]))
            at += 4 + length
        if at == size:
            self._rest = b""
        elif at or not self._rest:
            self._rest = bytearray(data[at:])
        return payloads
