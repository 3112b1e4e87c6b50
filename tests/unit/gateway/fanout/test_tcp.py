"""Messages with a length in front, fed in all manners."""

import pytest

from kafkaesque.gateway.fanout.tcp import TcpError, TcpReader, frame

STREAM = frame(b'{"type":"ping"}') + frame(b"") + frame(bytes(300))
PAYLOADS = [b'{"type":"ping"}', b"", bytes(300)]


def test_a_message_is_led_by_its_length() -> None:
    assert frame(b"abc") == b"\x00\x00\x00\x03abc"


def test_messages_are_read_whole_byte_by_byte_and_with_more_behind() -> None:
    assert TcpReader(1000).feed(STREAM) == PAYLOADS
    reader = TcpReader(1000)
    assert [p for byte in STREAM for p in reader.feed(bytes((byte,)))] == PAYLOADS
    assert reader._rest == b""
    assert TcpReader(1000).feed(STREAM + b"\0\0") == PAYLOADS
    for at in range(len(STREAM)):
        reader = TcpReader(1000)
        assert [*reader.feed(STREAM[:at]), *reader.feed(STREAM[at:])] == PAYLOADS


def test_a_length_beyond_the_most_is_refused_before_its_payload_comes() -> None:
    reader = TcpReader(1000)
    assert reader.feed(b"\x00\x00\x03") == []
    with pytest.raises(TcpError, match="a message of 1001 bytes, and 1000 is the most"):
        reader.feed(b"\xe9")


def test_http_on_this_port_is_refused_at_once() -> None:
    with pytest.raises(TcpError, match="starts with its length"):
        TcpReader(1 << 20).feed(b"GET / HTTP/1.1\r\n")
