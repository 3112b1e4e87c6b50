"""The bytes in front of a payload, as Confluent's serializers write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkaesque.client.schemas.framing import (
    NotFramedError,
    frame,
    read_indexes,
    unframe,
    write_indexes,
)


def test_an_id_is_big_endian_after_a_zero() -> None:
    assert frame(258, b"x") == b"\0\0\0\1\2x"
    assert unframe(b"\0\0\0\1\2x") == (258, b"x")
    assert unframe(frame(0xFFFF_FFFF, b"")) == (0xFFFF_FFFF, b"")


@pytest.mark.parametrize("data", [b"", b"\0", b"\0\0\0\1", b'{"a": 1}', b"\1\0\0\0\1x"])
def test_other_bytes_are_not_framed(data: bytes) -> None:
    with pytest.raises(NotFramedError):
        unframe(data)


def test_the_first_message_is_a_single_zero() -> None:
    assert write_indexes([0]) == b"\0"
    assert read_indexes(b"\0rest") == ([0], 1)


def test_indexes_are_zigzag_varints_after_their_count() -> None:
    assert write_indexes([1]) == b"\2\2"
    assert write_indexes([2, 0]) == b"\4\4\0"
    assert read_indexes(b"\4\4\0rest") == ([2, 0], 3)
    assert write_indexes([64]) == b"\2\x80\1"


@given(st.lists(st.integers(0, 2**31), min_size=1, max_size=8), st.binary(max_size=4))
def test_indexes_come_back(indexes: list[int], rest: bytes) -> None:
    data = write_indexes(indexes)
    assert read_indexes(data + rest) == (indexes, len(data))


@pytest.mark.parametrize(
    "data", [b"", b"\4\4", b"\x80", b"\xff" * 20, b"\1", b"\xd2\x01" + b"\2" * 200]
)
def test_what_are_no_indexes(data: bytes) -> None:
    with pytest.raises(NotFramedError):
        read_indexes(data)
