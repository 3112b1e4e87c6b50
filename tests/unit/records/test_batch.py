"""Batches from outside: header, CRC, walking, stamping."""

import struct

import pytest
from crc32c import crc32c

from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.records.batch import (
    HEADER_SIZE,
    BatchHeader,
    Codec,
    Record,
    batches,
    crc_matches,
    new_batch,
    read_header,
    records,
    stamp,
    stamp_append_time,
)

RECORDS = [Record(5, 1000, b"a", b"1", (("h", b"x"),)), Record(6, 900, None, b"2", ())]


def header_with(**changes: int) -> BatchHeader:
    return read_header(new_batch(RECORDS, base_offset=5))._replace(**changes)


def test_a_header_says_what_the_batch_was_made_of() -> None:
    batch = new_batch(
        RECORDS,
        base_offset=5,
        codec=Codec.ZSTD,
        leader_epoch=7,
        producer_id=42,
        producer_epoch=3,
        base_sequence=9,
        transactional=True,
    )
    header = read_header(batch)
    assert header.base_offset == 5
    assert header.size == len(batch) == header.batch_length + 12
    assert (header.leader_epoch, header.magic, header.count) == (7, 2, 2)
    assert (header.last_offset_delta, header.last_offset, header.next_offset) == (1, 6, 7)
    assert (header.base_timestamp, header.max_timestamp) == (1000, 1000)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (42, 3, 9)
    assert (header.last_sequence, header.codec) == (10, Codec.ZSTD)
    assert header.is_transactional
    assert not header.is_control


def test_a_batch_without_a_producer_has_no_sequence() -> None:
    header = read_header(new_batch(RECORDS, base_offset=5))
    assert (header.producer_id, header.producer_epoch, header.last_sequence) == (-1, -1, -1)


@pytest.mark.parametrize(
    ("base", "delta", "last"), [(2**31 - 2, 1, 2**31 - 1), (2**31 - 1, 1, 0), (2**31 - 1, 5, 4)]
)
def test_sequences_wrap_to_zero(base: int, delta: int, last: int) -> None:
    assert header_with(base_sequence=base, last_offset_delta=delta).last_sequence == last


@pytest.mark.parametrize(
    ("bit", "name"),
    [
        (3, "is_log_append_time"),
        (4, "is_transactional"),
        (5, "is_control"),
        (6, "has_delete_horizon"),
    ],
)
def test_each_attribute_has_its_own_bit(bit: int, name: str) -> None:
    assert getattr(header_with(attributes=1 << bit), name)
    assert not getattr(header_with(attributes=~(1 << bit)), name)


def test_control_batches_carry_their_bit() -> None:
    marker = Record(0, 1, b"\x00\x00\x00\x01", b"\x00\x00\x00\x00\x00\x00")
    assert read_header(new_batch([marker], control=True)).is_control


@pytest.mark.parametrize("number", [5, 6, 7])
def test_an_unknown_codec_is_corrupt(number: int) -> None:
    with pytest.raises(KafkaError) as error:
        _ = header_with(attributes=number).codec
    assert error.value.code is ErrorCode.CORRUPT_MESSAGE


def test_fewer_than_61_bytes_are_no_header() -> None:
    batch = new_batch(RECORDS, base_offset=5)
    for size in range(HEADER_SIZE):
        _assert_no_header(batch[:size])
    _assert_no_header(batch, position=len(batch) - HEADER_SIZE + 1)


@pytest.mark.parametrize("magic", [0, 1, 3, -1])
def test_other_magic_is_refused(magic: int) -> None:
    batch = new_batch(RECORDS, base_offset=5)
    struct.pack_into(">b", batch, 16, magic)
    _assert_no_header(batch)


@pytest.mark.parametrize("length", [48, 0, -1, -(2**31)])
def test_a_length_below_the_header_is_refused(length: int) -> None:
    batch = new_batch(RECORDS, base_offset=5)
    struct.pack_into(">i", batch, 8, length)
    _assert_no_header(batch)


def test_the_crc_covers_byte_21_to_the_end_and_nothing_else() -> None:
    batch = new_batch(RECORDS, base_offset=5)
    padded = bytearray(b"___") + batch + b"more"
    for position in range(len(batch)):
        padded[3 + position] ^= 0xFF
        header = read_header(batch)._replace(crc=struct.unpack_from(">I", padded, 3 + 17)[0])
        assert crc_matches(padded, 3, header) == (position < 17), position
        padded[3 + position] ^= 0xFF


def test_the_crc_of_a_batch_that_is_not_whole_does_not_match() -> None:
    batch = new_batch(RECORDS, base_offset=5)
    header = read_header(batch)
    assert crc_matches(memoryview(batch), 0, header)
    for size in range(len(batch)):
        assert not crc_matches(memoryview(batch)[:size], 0, header)


def test_the_crc_of_the_bytes_that_are_there_does_not_make_a_cut_off_batch_whole() -> None:
    batch = new_batch(RECORDS, base_offset=5)[:-1]
    header = read_header(batch)._replace(crc=crc32c(batch[21:]))
    assert not crc_matches(batch, 0, header)


def test_walking_gives_every_batch_and_stops_at_one_that_is_not_whole() -> None:
    parts = [new_batch([Record(i, 0, None, b"v" * i)], base_offset=i) for i in range(3)]
    starts = [0, len(parts[0]), len(parts[0]) + len(parts[1])]
    whole = b"".join(map(bytes, parts))
    assert [(at, h.base_offset) for at, h in batches(whole)] == list(
        zip(starts, range(3), strict=True)
    )
    assert [h.base_offset for _, h in batches(whole, starts[1])] == [1, 2]
    for size in range(starts[2], len(whole)):
        assert [h.base_offset for _, h in batches(whole[:size])] == [0, 1]


def test_walking_into_bytes_that_are_no_batch_is_corrupt() -> None:
    walk = batches(bytes(new_batch(RECORDS, base_offset=5)) + bytes(HEADER_SIZE))
    next(walk)
    with pytest.raises(KafkaError) as error:
        next(walk)
    assert error.value.code is ErrorCode.CORRUPT_MESSAGE


def test_stamping_moves_the_records_and_keeps_the_crc() -> None:
    batch = bytearray(b"___") + new_batch(RECORDS, base_offset=5)
    before = read_header(batch, 3)
    stamp(memoryview(batch), 3, base_offset=2**40, leader_epoch=11)
    header = read_header(batch, 3)
    assert before.moved_to(2**40, 11) == header
    assert (header.base_offset, header.leader_epoch) == (2**40, 11)
    assert crc_matches(batch, 3, header)
    assert [r.offset for r in records(batch, 3)] == [2**40, 2**40 + 1]
    assert batch[:3] == b"___"


@pytest.mark.parametrize("codec", Codec)
def test_append_time_replaces_the_time_of_every_record(codec: Codec) -> None:
    batch = bytearray(b"___") + new_batch(RECORDS, base_offset=5, codec=codec) + b"___"
    payload = batch[3 + HEADER_SIZE :]
    stamp_append_time(batch, 3, 777)
    header = read_header(batch, 3)
    assert header.is_log_append_time
    assert (header.max_timestamp, header.codec) == (777, codec)
    assert crc_matches(batch, 3, header)
    assert [r.timestamp for r in records(batch, 3)] == [777, 777]
    assert batch[3 + HEADER_SIZE :] == payload


def _assert_no_header(buffer: bytearray, position: int = 0) -> None:
    with pytest.raises(KafkaError) as error:
        read_header(buffer, position)
    assert error.value.code is ErrorCode.CORRUPT_MESSAGE
