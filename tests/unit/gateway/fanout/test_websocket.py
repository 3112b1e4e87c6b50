"""WebSocket by the examples of RFC 6455, fed whole, byte by byte and with bytes that follow."""

import tracemalloc
from typing import Final

import pytest

from kafkaesque.gateway.fanout import websocket
from kafkaesque.gateway.fanout.http_head import BadRequestError, Request
from kafkaesque.gateway.fanout.websocket import (
    BINARY,
    CLOSE,
    PING,
    PONG,
    TEXT,
    Frame,
    FrameReader,
    WebSocketError,
    accept,
    subprotocols,
)

HELLO: Final = bytes.fromhex("818537fa213d7f9f4d5158")
"""The masked "Hello" of section 5.7."""
HEADERS: Final = {
    "upgrade": "websocket",
    "connection": "keep-alive, Upgrade",
    "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
    "sec-websocket-version": "13",
    "sec-websocket-protocol": "chat, kafkaesque.v1",
}


def masked(first: int, payload: bytes, length: bytes | None = None) -> bytes:
    """A frame as a client sends it; the mask is zero, which leaves bytes as they are."""
    if length is None:
        length = websocket.frame_head(0, len(payload))[1:]
    return bytes((first, length[0] | 0x80)) + length[1:] + bytes(4) + payload


def read(data: bytes) -> list[Frame]:
    """Whole; and it must be the same byte by byte, in halves and with a frame behind it."""
    frames = FrameReader(1 << 20).feed(data)
    reader = FrameReader(1 << 20)
    assert [frame for byte in data for frame in reader.feed(bytes((byte,)))] == frames
    reader, half = FrameReader(1 << 20), len(data) // 2
    assert [*reader.feed(data[:half]), *reader.feed(data[half:])] == frames
    assert FrameReader(1 << 20).feed(data + HELLO[:5]) == frames
    return frames


def test_the_handshake_of_the_rfc() -> None:
    assert accept(Request("GET", "/v1", {}, HEADERS), "kafkaesque.v1") == (
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"
        b"Sec-WebSocket-Protocol: kafkaesque.v1\r\n\r\n"
    )
    assert b"Protocol:" not in accept(Request("GET", "/ws", {}, HEADERS), None)


def test_offered_subprotocols_are_listed() -> None:
    assert subprotocols(Request("GET", "/", {}, HEADERS)) == ["chat", "kafkaesque.v1"]
    assert subprotocols(Request("GET", "/", {}, {})) == []


@pytest.mark.parametrize(
    ("name", "value", "status"),
    [
        ("upgrade", "h2c", 426),
        ("connection", "close", 400),
        ("sec-websocket-version", "8", 426),
        ("sec-websocket-key", "", 400),
        ("sec-websocket-key", "c2hvcnQ=", 400),
        ("sec-websocket-key", "é" * 24, 400),
    ],
)
def test_a_handshake_that_is_wrong_is_refused(name: str, value: str, status: int) -> None:
    with pytest.raises(BadRequestError) as raised:
        accept(Request("GET", "/ws", {}, HEADERS | {name: value}), None)
    assert raised.value.status == status
    assert (b"Sec-WebSocket-Version: 13" in raised.value.response()) == (status == 426)


def test_only_a_get_becomes_a_websocket() -> None:
    with pytest.raises(BadRequestError):
        accept(Request("POST", "/ws", {}, HEADERS), None)


def test_frames_to_send_have_the_bytes_of_the_rfc() -> None:
    assert websocket.text(b"Hello") == bytes.fromhex("810548656c6c6f")
    assert websocket.ping(b"Hello") == bytes.fromhex("890548656c6c6f")
    assert websocket.pong(b"Hello") == bytes.fromhex("8a0548656c6c6f")
    assert websocket.binary(bytes(256))[:4] == bytes.fromhex("827e0100")
    assert websocket.binary(bytes(65_536))[:10] == bytes.fromhex("827f0000000000010000")
    assert websocket.close(1008, "no") == bytes.fromhex("880403f06e6f")


def test_a_long_reason_is_cut_between_characters() -> None:
    frame = websocket.close(1008, "ü" * 100)
    assert frame[1] == 2 + 122
    assert frame[4:].decode() == "ü" * 61


def test_a_masked_text_is_read() -> None:
    assert read(HELLO) == [Frame(TEXT, b"Hello")]


def test_a_masked_pong_is_read() -> None:
    assert read(bytes.fromhex("8a8537fa213d7f9f4d5158")) == [Frame(PONG, b"Hello")]


def test_fragments_are_joined_and_control_frames_come_between_them() -> None:
    data = masked(0x01, b"Hel") + masked(0x89, b"!") + masked(0x00, b"") + masked(0x80, b"lo")
    assert read(data + HELLO) == [
        Frame(PING, b"!"),
        Frame(TEXT, b"Hello"),
        Frame(TEXT, b"Hello"),
    ]


@pytest.mark.parametrize("size", [0, 1, 3, 4, 125, 126, 127, 1000, 65_535, 65_536])
def test_every_kind_of_length_is_read(size: int) -> None:
    payload = bytes(range(256)) * 256 + b"x"
    assert FrameReader(1 << 20).feed(masked(0x82, payload[:size])) == [
        Frame(BINARY, payload[:size])
    ]


def test_a_length_may_be_written_longer_than_it_needs_to_be() -> None:
    assert read(masked(0x82, b"ab", b"\x7e\x00\x02")) == [Frame(BINARY, b"ab")]


def test_nothing_is_read_after_a_close() -> None:
    reader = FrameReader(1 << 20)
    close = masked(0x88, b"\x03\xe8bye")
    assert reader.feed(close + HELLO) == [Frame(CLOSE, b"\x03\xe8bye")]
    assert reader.feed(HELLO) == []


def test_a_close_may_be_empty() -> None:
    assert read(masked(0x88, b"")) == [Frame(CLOSE, b"")]


@pytest.mark.parametrize(
    ("data", "code", "reason"),
    [
        (b"\x81\x05Hello", 1002, "masked"),
        (b"\xc1", 1002, "reserved bit"),
        (b"\x90", 1002, "reserved bit"),
        (b"\x83", 1002, "no opcode 3"),
        (b"\x8b", 1002, "no opcode 11"),
        (b"\x09", 1002, "control frame is in fragments"),
        (b"\x89\xfe", 1002, "at most 125"),
        (b"\x89\xff", 1002, "at most 125"),
        (masked(0x80, b"x"), 1002, "out of place"),
        (masked(0x01, b"x") + masked(0x81, b"y"), 1002, "out of place"),
        (masked(0x81, b"\xff"), 1007, "not UTF-8"),
        (masked(0x01, b"\xc3") + masked(0x80, b"x"), 1007, "not UTF-8"),
        (masked(0x88, b"\x03"), 1002, "two bytes"),
        (masked(0x88, b"\x03\xed"), 1002, "1005 is no close code"),
        (masked(0x88, b"\x03\xe8\xff"), 1007, "not UTF-8"),
        (b"\x82\xff\x80\0\0\0\0\0\0\0", 1009, "at most 100 bytes"),
        (b"\x82\xfe\0\x65", 1009, "at most 100 bytes"),
        (b"\x82\xfe", 1009, "at most 100 bytes"),
        (masked(0x02, bytes(60)) + masked(0x00, bytes(41)), 1009, "at most 100 bytes"),
    ],
)
def test_a_broken_frame_is_known_as_soon_as_it_shows(data: bytes, code: int, reason: str) -> None:
    for pieces in ([data], [data[at : at + 1] for at in range(len(data))]):
        with pytest.raises(WebSocketError) as raised:
            _feed(FrameReader(100), pieces)
        assert raised.value.code == code
        assert reason in raised.value.reason


def _feed(reader: FrameReader, pieces: list[bytes]) -> None:
    for piece in pieces:
        reader.feed(piece)


def test_it_holds_nothing_while_nothing_is_incomplete() -> None:
    reader = FrameReader(1000)
    reader.feed(masked(0x01, b"Hel") + masked(0x80, b"lo") + HELLO)
    assert (reader._rest, reader._message) == (b"", b"")
    assert not hasattr(reader, "__dict__")


def test_lengths_and_empty_fragments_take_no_memory() -> None:
    readers = [FrameReader(1 << 62) for _ in range(100)]
    empty = masked(0x00, b"") * 1000
    tracemalloc.start()
    try:
        for reader in readers:
            reader.feed(masked(0x02, b"x") + empty)
            reader.feed(b"\x00\xff\x20\0\0\0\0\0\0\0mask")
        assert tracemalloc.get_traced_memory()[0] < 100 * 1000
    finally:
        tracemalloc.stop()
