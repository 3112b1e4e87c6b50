"""Varints: known encodings, the widest numbers, and bytes that are no number."""

import pytest

from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.records.varint import (
    decode_unsigned_varint,
    decode_varint,
    decode_varlong,
    encode_unsigned_varint,
    encode_varint,
    encode_varlong,
)

INT32 = [0, -1, 1, -2, 63, -64, 64, -65, 8191, -8192, 8192, 2**31 - 1, -(2**31)]
INT64 = [*INT32, 2**31, -(2**31) - 1, 2**63 - 1, -(2**63)]


@pytest.mark.parametrize(
    ("value", "encoded"),
    [(0, "00"), (127, "7f"), (128, "8001"), (300, "ac02"), (2**32 - 1, "ffffffff0f")],
)
def test_unsigned_varints_put_the_lowest_seven_bits_first(value: int, encoded: str) -> None:
    assert encode_unsigned_varint(value).hex() == encoded
    assert decode_unsigned_varint(bytes.fromhex(encoded), 0) == (value, len(encoded) // 2)


@pytest.mark.parametrize(
    ("value", "encoded"),
    [(0, "00"), (-1, "01"), (1, "02"), (-2, "03"), (64, "8001"), (-65, "8101")],
)
def test_zigzag_keeps_small_negative_numbers_short(value: int, encoded: str) -> None:
    assert encode_varint(value).hex() == encoded


@pytest.mark.parametrize("value", INT32)
def test_varints_of_32_bits_come_back(value: int) -> None:
    encoded = b"\xff" + encode_varint(value) + b"\xff"
    assert decode_varint(encoded, 1) == (value, len(encoded) - 1)


@pytest.mark.parametrize("value", INT64)
def test_varlongs_of_64_bits_come_back(value: int) -> None:
    encoded = encode_varlong(value)
    assert decode_varlong(encoded, 0) == (value, len(encoded))
    assert decode_varlong(memoryview(encoded), 0) == (value, len(encoded))


@pytest.mark.parametrize("value", [*INT64, 128])
def test_a_cut_off_varint_is_corrupt_at_every_byte(value: int) -> None:
    encoded = encode_varlong(value)
    for size in range(len(encoded)):
        with pytest.raises(KafkaError) as error:
            decode_varlong(encoded[:size], 0)
        assert error.value.code is ErrorCode.CORRUPT_MESSAGE


@pytest.mark.parametrize("encoded", ["8080808010", "ffffffff7f", "808080808000"])
def test_a_varint_wider_than_32_bits_is_corrupt(encoded: str) -> None:
    with pytest.raises(KafkaError) as error:
        decode_varint(bytes.fromhex(encoded), 0)
    assert error.value.code is ErrorCode.CORRUPT_MESSAGE


def test_a_varlong_wider_than_64_bits_is_corrupt() -> None:
    for encoded in (b"\x80" * 9 + b"\x02", b"\x80" * 10 + b"\x00", b"\xff" * 1000):
        with pytest.raises(KafkaError) as error:
            decode_varlong(encoded, 0)
        assert error.value.code is ErrorCode.CORRUPT_MESSAGE


def test_an_unsigned_varint_refuses_a_negative_number() -> None:
    with pytest.raises(ValueError, match="-1"):
        encode_unsigned_varint(-1)
