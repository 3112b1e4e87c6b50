"""Unsigned varints, whose length changes with every seven bits.

The values stand on both sides of each change. What runs off the end is an IndexError here, which
the callers turn into a DecodeError.
"""

import pytest

from kafkaesque.errors import DecodeError
from kafkaesque.protocol.wire import decode_uvarint, encode_uvarint

BYTES = [
    (0, "00"),
    (1, "01"),
    (127, "7f"),
    (128, "8001"),
    (300, "ac02"),
    (16_383, "ff7f"),
    (16_384, "808001"),
    (2_097_151, "ffff7f"),
    (2_097_152, "80808001"),
    (268_435_455, "ffffff7f"),
    (268_435_456, "8080808001"),
    (2**31 - 1, "ffffffff07"),
]


@pytest.mark.parametrize(("value", "expected"), BYTES)
def test_a_varint_has_seven_bits_a_byte_lowest_first(value: int, expected: str) -> None:
    data = bytes.fromhex(expected)
    assert encode_uvarint(value) == data
    assert decode_uvarint(b"." + data + b".", 1) == (value, 1 + len(data))


@pytest.mark.parametrize("data", ["", "80", "ffffff"])
def test_a_varint_that_is_cut_short_runs_off_the_end(data: str) -> None:
    with pytest.raises(IndexError):
        decode_uvarint(bytes.fromhex(data), 0)


def test_a_varint_of_six_bytes_is_refused() -> None:
    with pytest.raises(DecodeError):
        decode_uvarint(b"\x80\x80\x80\x80\x80\x00", 0)
