"""Bytes that are not what they claim to be: a DecodeError each, and no memory spent on them.

Every class in every version is cut at each byte, has each byte changed, and is fed noise. Nothing
but a message or a DecodeError may come out. Hand-made frames then lie about their lengths.
"""

import random
import tracemalloc
from typing import Any

import pytest
from tests.unit.protocol.samples import CASES, name_of, sample

from kafkaesque.errors import DecodeError
from kafkaesque.protocol.codec import decode, encode
from kafkaesque.protocol.messages.delete_groups import DeleteGroupsRequest
from kafkaesque.protocol.messages.fetch import FetchRequest
from kafkaesque.protocol.messages.heartbeat import HeartbeatRequest
from kafkaesque.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafkaesque.protocol.messages.produce import ProduceRequest
from kafkaesque.protocol.messages.sync_group import SyncGroupResponse

LEGACY_HUGE = (2**31 - 1).to_bytes(4, "big")
FLEXIBLE_HUGE = b"\xff\xff\xff\xff\x07"


@pytest.mark.parametrize(("cls", "version"), CASES, ids=name_of)
def test_a_frame_cut_at_any_byte_is_refused(cls: type[Any], version: int) -> None:
    whole = b"".join(encode(sample(cls, version), version))
    assert decode(cls, version, whole) == sample(cls, version)
    for size in range(len(whole)):
        with pytest.raises(DecodeError):
            decode(cls, version, whole[:size])


@pytest.mark.parametrize(("cls", "version"), CASES, ids=name_of)
def test_trailing_bytes_are_refused(cls: type[Any], version: int) -> None:
    whole = b"".join(encode(sample(cls, version), version))
    with pytest.raises(DecodeError, match="1 bytes too many"):
        decode(cls, version, whole + b"\x00")


@pytest.mark.parametrize(("cls", "version"), CASES, ids=name_of)
def test_a_changed_byte_gives_a_message_or_a_decode_error(cls: type[Any], version: int) -> None:
    whole = bytearray(b"".join(encode(sample(cls, version), version)))
    for position, original in enumerate(whole):
        for value in (0x00, 0x7F, 0x80, 0xFF):
            whole[position] = value
            _decode_or_refuse(cls, version, bytes(whole))
        whole[position] = original


@pytest.mark.parametrize(("cls", "version"), CASES, ids=name_of)
def test_random_bytes_give_a_message_or_a_decode_error(cls: type[Any], version: int) -> None:
    generator = random.Random(f"{cls.__name__} {version}")
    for size in range(60):
        _decode_or_refuse(cls, version, generator.randbytes(size))


def _decode_or_refuse(cls: type[Any], version: int, data: bytes) -> None:
    try:
        message = decode(cls, version, data)
    except DecodeError:
        return
    assert type(message) is cls


@pytest.mark.parametrize(
    ("cls", "version", "data"),
    [
        pytest.param(DeleteGroupsRequest, 0, LEGACY_HUGE + b"\x00\x00", id="legacy strings"),
        pytest.param(DeleteGroupsRequest, 2, FLEXIBLE_HUGE + b"\x01", id="compact strings"),
        pytest.param(MetadataResponse, 0, LEGACY_HUGE + bytes(64), id="legacy structs"),
        pytest.param(MetadataRequest, 12, FLEXIBLE_HUGE + bytes(64), id="compact structs"),
        pytest.param(
            FetchRequest,
            7,
            bytes(25) + b"\0\0\0\0" + b"\0\0\0\1\0\1t" + LEGACY_HUGE + bytes(64),
            id="legacy ints",
        ),
        pytest.param(SyncGroupResponse, 0, b"\0\0" + LEGACY_HUGE + bytes(64), id="legacy bytes"),
        pytest.param(
            SyncGroupResponse, 4, bytes(6) + FLEXIBLE_HUGE + bytes(64), id="compact bytes"
        ),
    ],
)
def test_a_huge_length_allocates_nothing(cls: type[Any], version: int, data: bytes) -> None:
    with pytest.raises(DecodeError):
        decode(cls, version, data)
    tracemalloc.start()
    try:
        with pytest.raises(DecodeError, match="length of"):
            decode(cls, version, data)
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("cls", "version", "data"),
    [
        pytest.param(DeleteGroupsRequest, 0, b"\xff\xff\xff\xff", id="null array"),
        pytest.param(DeleteGroupsRequest, 0, b"\xff\xff\xff\xfe", id="array of -2"),
        pytest.param(DeleteGroupsRequest, 0, b"\0\0\0\1\xff\xff", id="null string"),
        pytest.param(DeleteGroupsRequest, 2, b"\x00\x00", id="null compact array"),
        pytest.param(DeleteGroupsRequest, 2, b"\x02\x00\x00", id="null compact string"),
        pytest.param(MetadataRequest, 1, b"\xff\xff\xff\xfe", id="nullable array of -2"),
        pytest.param(ProduceRequest, 3, b"\xff\xfe" + bytes(10), id="nullable string of -2"),
        pytest.param(SyncGroupResponse, 0, b"\0\0\xff\xff\xff\xff", id="null bytes"),
    ],
)
def test_a_negative_or_forbidden_null_length_is_refused(
    cls: type[Any], version: int, data: bytes
) -> None:
    with pytest.raises(DecodeError, match="length of"):
        decode(cls, version, data)


def test_a_length_of_zero_in_two_bytes_is_still_null() -> None:
    """0x80 0x00 is a long way to write 0; it must not move the position backwards."""
    with pytest.raises(DecodeError, match="length of"):
        decode(DeleteGroupsRequest, 2, b"\x02\x80\x00\x00")


def test_a_varint_of_more_than_five_bytes_is_refused() -> None:
    with pytest.raises(DecodeError, match="five bytes"):
        decode(DeleteGroupsRequest, 2, b"\x80\x80\x80\x80\x80\x01\x00")


def test_a_string_that_is_not_utf8_is_refused() -> None:
    with pytest.raises(DecodeError, match="UTF-8"):
        decode(DeleteGroupsRequest, 2, b"\x02\x02\xff\x00")


def test_a_compact_string_is_no_longer_than_an_int16_can_say() -> None:
    """Kafka's limit; a longer one could not be stored, or told to a client of an older version."""
    longest = HeartbeatRequest(group_id="g" * 0x7FFF)
    encoded = b"".join(encode(longest, 4))
    assert decode(HeartbeatRequest, 4, encoded) == longest
    too_long = b"".join(encode(HeartbeatRequest(group_id="g" * 0x8000), 4))
    with pytest.raises(DecodeError, match="group_id"):
        decode(HeartbeatRequest, 4, too_long)
