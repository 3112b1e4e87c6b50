"""Frames: the size in front, and the sizes that are refused.

A large frame is put together without copying its chunks, a small one is a single chunk; a size is
checked before it is read.
"""

import pytest

from kafkaesque.errors import DecodeError
from kafkaesque.protocol.frame import MAX_FRAME_BYTES, SIZE_BYTES, frame, frame_size, response_frame


def test_a_large_frame_is_the_size_of_its_chunks_and_then_the_chunks_themselves() -> None:
    records = memoryview(bytes(100_000))
    size, *chunks = frame([b"header", records])
    assert int.from_bytes(size) == 100_006
    assert chunks[1] is records


def test_a_small_frame_is_one_chunk() -> None:
    assert frame([b"header", memoryview(b"records")]) == [b"\x00\x00\x00\x0dheaderrecords"]
    assert frame([]) == [bytes(4)]


def test_a_response_is_framed_with_its_header_small_or_large() -> None:
    assert response_frame(7, False, [b"answer"]) == [b"\0\0\0\x0a\0\0\0\x07answer"]
    assert response_frame(7, True, [b"answer"]) == [b"\0\0\0\x0b\0\0\0\x07\0answer"]
    records = memoryview(bytes(100_000))
    head, *chunks = response_frame(7, True, [b"answer", records])
    assert head == (100_011).to_bytes(4) + b"\0\0\0\x07\0"
    assert chunks[1] is records


def test_the_size_is_read_where_the_frame_starts() -> None:
    buffer = b"..\x00\x00\x00\x05hello"
    assert frame_size(buffer, 2) == 5
    assert buffer[2 + SIZE_BYTES :] == b"hello"


def test_the_largest_frame_is_kafkas_default() -> None:
    assert frame_size((104_857_600).to_bytes(4, "big")) == MAX_FRAME_BYTES
    with pytest.raises(DecodeError, match="104857601 bytes; the limit is 104857600"):
        frame_size((104_857_601).to_bytes(4, "big"))


def test_a_lower_limit_and_a_negative_size_are_refused() -> None:
    with pytest.raises(DecodeError):
        frame_size(b"\0\0\0\x0b", limit=10)
    with pytest.raises(DecodeError, match="a frame of -1 bytes"):
        frame_size(b"\xff\xff\xff\xff")
