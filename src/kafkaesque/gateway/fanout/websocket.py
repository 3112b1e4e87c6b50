"""WebSocket as a server speaks it (RFC 6455): the handshake, frames to send, frames that come.

    FIN 1 bit | RSV 3 bits, zero | opcode 4 bits | MASK 1 bit | length 7 bits
    | length u16 if it was 126, u64 if it was 127 | mask 4 bytes, from clients | payload

No extensions, so no compression. A client masks every frame, a server none. FrameReader is fed
bytes as they come; whatever they are, it raises WebSocketError and nothing else, as soon as they
show it: a length is judged before its payload is waited for.
Pure. Above: the fan-out's connections, encodings.py. Below: http_head.py.
"""

from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from hashlib import sha1
from struct import Struct
from typing import Final, NamedTuple

from kafkaesque.gateway.fanout.http_head import BadRequestError, Request, head

TEXT: Final = 1
BINARY: Final = 2
CLOSE: Final = 8
PING: Final = 9
PONG: Final = 10

_CONTINUATION = 0
_FIN = 0x80
_MASKED = 0x80
_MAX_CONTROL_BYTES = 125
_VERSION = "13"
_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

_SHORT = Struct(">BB")
_MEDIUM = Struct(">BBH")
_LONG = Struct(">BBQ")
_U16 = Struct(">H")
_U64 = Struct(">Q")


class WebSocketError(Exception):
    """A client that breaks the protocol: the code and reason to close it with."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(f"{code}: {reason}")
        self.code = code
        self.reason = reason


class Frame(NamedTuple):
    """A message, its fragments joined and its mask taken off; or a control frame."""

    opcode: int
    payload: bytes


def subprotocols(request: Request) -> list[str]:
    """What the client offers to speak, the dearest first."""
    offers = request.headers.get("sec-websocket-protocol", "")
    return [offer.strip() for offer in offers.split(",") if offer.strip()]


def accept(request: Request, subprotocol: str | None) -> bytes:
    """The answer that makes the connection a WebSocket."""
    headers = request.headers
    if request.method != "GET" or not _has(headers.get("upgrade"), "websocket"):
        raise _refused(426, "this is a WebSocket: connect with ws:// or wss://")
    if not _has(headers.get("connection"), "upgrade"):
        raise _refused(400, "the header Connection: Upgrade is missing")
    if headers.get("sec-websocket-version") != _VERSION:
        raise _refused(426, f"speak WebSocket version {_VERSION}")
    answer = {
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Accept": _proof(headers.get("sec-websocket-key", "")),
    }
    if subprotocol is not None:
        answer["Sec-WebSocket-Protocol"] = subprotocol
    return head(101, answer)


def _has(value: str | None, word: str) -> bool:
    return word in [part.strip().lower() for part in (value or "").split(",")]


def _proof(key: str) -> str:
    try:
        nonce = b64decode(key.encode("latin-1"), validate=True)
    except Base64Error:
        nonce = b""
    if len(nonce) != 16:
        raise _refused(400, "Sec-WebSocket-Key is not 16 bytes in base64")
    return b64encode(sha1(key.encode() + _GUID).digest()).decode()


def _refused(status: int, reason: str) -> BadRequestError:
    headers = {"Upgrade": "websocket", "Sec-WebSocket-Version": _VERSION} if status == 426 else {}
    return BadRequestError(status, reason, headers)


def text(data: bytes) -> bytes:
    return frame_head(TEXT, len(data)) + data


def binary(data: bytes) -> bytes:
    return frame_head(BINARY, len(data)) + data


def ping(payload: bytes = b"") -> bytes:
    return frame_head(PING, len(payload)) + payload


def pong(payload: bytes) -> bytes:
    return frame_head(PONG, len(payload)) + payload


def close(code: int, reason: str = "") -> bytes:
    """What a reason has beyond the 123 bytes that fit is cut off."""
    words = reason.encode()[: _MAX_CONTROL_BYTES - 2].decode(errors="ignore").encode()
    return frame_head(CLOSE, 2 + len(words)) + _U16.pack(code) + words


def frame_head(opcode: int, length: int) -> bytes:
    """What stands before the payload of a whole message."""
    if length < 126:
        return _SHORT.pack(_FIN | opcode, length)
    if length < 65_536:
        return _MEDIUM.pack(_FIN | opcode, 126, length)
    return _LONG.pack(_FIN | opcode, 127, length)


class FrameReader:
    """Bytes in, frames out. It holds nothing while nothing is incomplete."""

    __slots__ = ("_is_closed", "_max_bytes", "_message", "_opcode", "_rest")

    def __init__(self, max_message_bytes: int) -> None:
        self._max_bytes = max_message_bytes
        self._rest: bytes | bytearray = b""
        self._opcode = _CONTINUATION
        self._message: bytes | bytearray = b""
        self._is_closed = False

    def feed(self, data: bytes) -> list[Frame]:
        """Frames that are complete now. After a close frame there are none."""
        if self._is_closed:
            return []
        if self._rest:
            self._rest += data  # A bytearray: many small pieces are not copied each time.
            data = self._rest  # type: ignore[assignment]
        frames: list[Frame] = []
        at, size = 0, len(data)
        while at < size:
            end = self._read(data, at, frames)
            if not end:
                break
            at = end
        if self._is_closed or at == size:
            self._rest = b""
        elif at or not self._rest:
            self._rest = bytearray(data[at:])
        return frames

    def _read(self, data: bytes, at: int, frames: list[Frame]) -> int:
        """Add the frame that starts at `at`; where it ends, or 0 while it is incomplete."""
        first = data[at]
        _check_first(first)
        if at + 2 > len(data):
            return 0
        if not data[at + 1] & _MASKED:
            raise WebSocketError(1002, "a frame of a client must be masked")
        length, start = data[at + 1] & 0x7F, at + 6
        if length == 126:
            if at + 4 > len(data):
                return self._need(first, 126)
            (length,), start = _U16.unpack_from(data, at + 2), at + 8
        elif length == 127:
            if at + 10 > len(data):
                return self._need(first, 65_536)
            (length,), start = _U64.unpack_from(data, at + 2), at + 14
        end = start + length
        self._need(first, length)
        if end > len(data):
            return 0
        payload = _unmasked(data[start:end], data[start - 4 : start])
        self._take(first, payload, frames)
        return 0 if self._is_closed else end

    def _need(self, first: int, length: int) -> int:
        """Judge a frame by its length, which is at least this; then it may be waited for: 0."""
        if first & 0x08:
            if length > _MAX_CONTROL_BYTES:
                raise WebSocketError(1002, "a control frame has at most 125 bytes")
        elif len(self._message) + length > self._max_bytes:
            raise WebSocketError(1009, f"a message has at most {self._max_bytes} bytes here")
        return 0

    def _take(self, first: int, payload: bytes, frames: list[Frame]) -> None:
        opcode = first & 0x0F
        if opcode & 0x08:
            if opcode == CLOSE:
                _check_close(payload)
                self._is_closed = True
            frames.append(Frame(opcode, payload))
            return
        if (opcode == _CONTINUATION) != bool(self._opcode):
            raise WebSocketError(1002, "a fragment is out of place")
        if not first & _FIN:
            self._opcode = self._opcode or opcode
            self._message = bytearray(self._message) if not self._message else self._message
            self._message += payload
            return
        if self._opcode:
            opcode, payload = self._opcode, bytes(self._message) + payload
            self._opcode, self._message = _CONTINUATION, b""
        if opcode == TEXT:
            _check_text(payload, "a text message")
        frames.append(Frame(opcode, payload))


def _check_first(first: int) -> None:
    if first & 0x70:
        raise WebSocketError(1002, "a reserved bit is set: no extension was agreed on")
    opcode = first & 0x0F
    if 2 < opcode < 8 or opcode > 10:
        raise WebSocketError(1002, f"there is no opcode {opcode}")
    if opcode & 0x08 and not first & _FIN:
        raise WebSocketError(1002, "a control frame is in fragments")


def _unmasked(payload: bytes, mask: bytes) -> bytes:
    length = len(payload)
    pattern = (mask * (length // 4 + 1))[:length]
    plain = int.from_bytes(payload, "little") ^ int.from_bytes(pattern, "little")
    return plain.to_bytes(length, "little")


def _check_close(payload: bytes) -> None:
    if not payload:
        return
    if len(payload) == 1:
        raise WebSocketError(1002, "a close code has two bytes")
    (code,) = _U16.unpack_from(payload)
    if not (1000 <= code <= 1003 or 1007 <= code <= 1014 or 3000 <= code <= 4999):
        raise WebSocketError(1002, f"{code} is no close code")
    _check_text(payload[2:], "a close reason")


def _check_text(payload: bytes, name: str) -> None:
    try:
        payload.decode()
    except UnicodeDecodeError:
        raise WebSocketError(1007, f"{name} is not UTF-8") from None
