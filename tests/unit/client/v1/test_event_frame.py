"""The event frame of kafkaesque.v1: its bytes, and what is no such frame."""

import struct

import pytest

from kafkaesque.client.v1 import decode_event, encode_event
from kafkaesque.event import Event
from kafkaesque.records.record import Record

RECORD = Record(12, 1700000000000, b"AMZN", b'{"price":101}', (("source", b"web"), ("x", None)))
FRAME = (
    b"\x01\x00\x00\x00\x07\x00\x05ticks\x00\x00\x00\x03"
    b"\x00\x00\x00\x00\x00\x00\x00\x0c\x00\x00\x01\x8b\xcf\xe5h\x00"
    b'\x00\x00\x00\x04AMZN\x00\x00\x00\x0d{"price":101}'
    b"\x00\x02\x00\x06source\x00\x00\x00\x03web\x00\x01x\xff\xff\xff\xff"
)


def test_a_frame_has_the_bytes_of_the_reference() -> None:
    assert encode_event(7, "ticks", 3, RECORD) == FRAME


def test_a_frame_comes_back_as_an_event() -> None:
    headers = [("source", b"web"), ("x", None)]
    event = Event("ticks", 3, 12, 1700000000000, b"AMZN", b'{"price":101}', headers)
    assert decode_event(FRAME) == (7, event)


def test_null_and_empty_are_different() -> None:
    _, null = decode_event(encode_event(0, "t", 0, Record(0, 0, None, None)))
    _, empty = decode_event(encode_event(0, "t", 0, Record(0, 0, b"", b"")))
    assert (null.key, null.value, empty.key, empty.value) == (None, None, b"", b"")


def test_every_shorter_frame_is_refused() -> None:
    for end in range(len(FRAME)):
        with pytest.raises(ValueError, match="no event frame"):
            decode_event(FRAME[:end])


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        (FRAME + b"!", "1 bytes follow its end"),
        (b"\x02" + FRAME[1:], "kind 2 is unknown"),
        (FRAME[:32] + b"\x7f\xff\xff\xff" + FRAME[36:], "a field of 2147483647 bytes"),
        (FRAME[:7] + b"\xff" + FRAME[8:], "utf-8"),
    ],
)
def test_a_frame_that_is_wrong_is_refused_with_the_reason(frame: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        decode_event(frame)


def test_headers_beyond_what_a_frame_can_count_are_left_out() -> None:
    record = Record(0, 0, None, None, (("h", None),) * 65_537)
    _, event = decode_event(encode_event(0, "t", 0, record))
    assert len(event.headers) == 65_535


def test_a_name_beyond_what_a_frame_can_count_is_cut() -> None:
    record = Record(0, 0, None, None, (("n" * 70_000, b"v"),))
    _, event = decode_event(encode_event(0, "t", 0, record))
    assert event.headers == [("n" * 65_535, b"v")]


def test_numbers_at_their_ends_fit() -> None:
    record = Record(2**63 - 1, -(2**63), None, None)
    subscription, event = decode_event(encode_event(2**32 - 1, "t", 2**31 - 1, record))
    assert (subscription, event.partition) == (2**32 - 1, 2**31 - 1)
    assert (event.offset, event.timestamp) == struct.unpack(
        ">qq", b"\x7f" + b"\xff" * 7 + b"\x80" + b"\0" * 7
    )
