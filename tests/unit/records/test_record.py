"""Records inside a batch: built, opened, and refused when they are malformed."""

import struct
import tracemalloc
from collections.abc import Callable

import pytest

from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.records.batch import (
    HEADER_SIZE,
    LOG_OVERHEAD,
    Codec,
    Record,
    checked_heads,
    heads_in,
    new_batch,
    read_header,
    records,
)
from kafkaesque.records.varint import encode_varint

RECORDS = [
    Record(0, 1000, b"key", b"value", (("h", b"x"), ("null", None))),
    Record(1, 999, None, None, ()),
    Record(2, 5000, b"", b"", (("", b""),)),
    Record(3, 1000, b"k" * 200, b"v" * 20000, ()),
]


def batch_of(payload: bytes, *, count: int = 1, last_offset_delta: int = 0) -> bytearray:
    """A batch whose header is fine and whose records are these bytes."""
    batch = new_batch([Record(0, 0, None, None)])[:HEADER_SIZE] + payload
    struct.pack_into(">i", batch, 8, len(batch) - LOG_OVERHEAD)
    struct.pack_into(">i", batch, 23, last_offset_delta)
    struct.pack_into(">i", batch, 57, count)
    return batch


def record_of(body: bytes, *, length: int | None = None) -> bytes:
    return encode_varint(len(body) if length is None else length) + body


def assert_corrupt(batch: bytearray | bytes) -> None:
    with pytest.raises(KafkaError) as error:
        list(records(batch))
    assert error.value.code is ErrorCode.CORRUPT_MESSAGE


@pytest.mark.parametrize("codec", Codec)
@pytest.mark.parametrize("wrap", [bytes, bytearray, memoryview])
def test_records_come_back(codec: Codec, wrap: Callable[[bytes], bytes]) -> None:
    batch = bytes(new_batch(RECORDS, codec=codec))
    assert list(records(wrap(batch))) == RECORDS
    assert list(records(wrap(b"___" + batch + b"___"), 3)) == RECORDS


def test_a_new_batch_needs_offsets_that_count_up() -> None:
    for wrong in ([], RECORDS[1:], [RECORDS[0], RECORDS[2]], RECORDS[::-1]):
        with pytest.raises(ValueError, match="count up from 0"):
            new_batch(wrong)


def test_header_keys_that_are_not_utf8_are_written_back_as_they_came() -> None:
    body = bytes(3) + b"\x01\x01" + b"\x02" + b"\x04\xff\xfe" + b"\x01"
    batch = batch_of(record_of(body))
    (record,) = records(batch)
    assert new_batch([record])[HEADER_SIZE:] == batch[HEADER_SIZE:]


def test_a_batch_that_compaction_emptied_has_no_records() -> None:
    assert list(records(batch_of(b"", count=0, last_offset_delta=9))) == []


def test_offsets_may_have_gaps_after_compaction() -> None:
    kept = [record_of(bytes([0, 0, delta << 1, 1, 1, 0])) for delta in (2, 7)]
    batch = batch_of(b"".join(kept), count=2, last_offset_delta=9)
    assert [record.offset for record in records(batch)] == [2, 7]


@pytest.mark.parametrize(
    ("deltas", "last"), [((1, 1), 9), ((2, 1), 9), ((-1, 0), 9), ((0, 5), 4)], ids=str
)
def test_offsets_must_rise_within_the_batch(deltas: tuple[int, ...], last: int) -> None:
    payload = b"".join(record_of(b"\0\0" + encode_varint(d) + b"\x01\x01\x00") for d in deltas)
    assert_corrupt(batch_of(payload, count=len(deltas), last_offset_delta=last))


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"", id="no attributes"),
        pytest.param(b"\0\0\0\x01\x01", id="no header count"),
        pytest.param(b"\0\0\0\x06ab", id="key past the end"),
        pytest.param(b"\0\0\0\x01\x06ab", id="value past the end"),
        pytest.param(b"\0\0\0\x01\x01\x01", id="negative header count"),
        pytest.param(b"\0\0\0\x01\x01\x02", id="a header too few"),
        pytest.param(b"\0\0\0\x01\x01\x02\x01\x01", id="header without a key"),
        pytest.param(b"\0\0\0\x01\x01\x02\x08ab\x01", id="header key past the end"),
        pytest.param(b"\0\0\0\x01\x01\x02\x02a\x08b", id="header value past the end"),
        pytest.param(b"\0\0\0\x01\x01\x00more", id="bytes after the headers"),
        pytest.param(b"\0\0\0\xfe\xff\xff\xff\x0f", id="key of 2 GiB"),
        pytest.param(b"\0\0\0\x01\x01\xfe\xff\xff\xff\x0f", id="2**31 - 1 headers"),
        pytest.param(b"\0" + b"\xff" * 20, id="endless timestamp"),
    ],
)
def test_a_malformed_record_is_corrupt(body: bytes) -> None:
    assert_corrupt(batch_of(record_of(body)))
    # The same record with room behind it: reading on into the next record must not hide the fault.
    assert_corrupt(batch_of(record_of(body) + bytes(200)))


def test_a_timestamp_is_added_up_in_64_bits() -> None:
    batch = new_batch([Record(0, 2**63 - 1, None, None)])[:HEADER_SIZE]
    batch += record_of(b"\0" + encode_varint(1) + b"\0\x01\x01\x00")
    struct.pack_into(">i", batch, 8, len(batch) - LOG_OVERHEAD)
    assert [record.timestamp for record in records(batch)] == [-(2**63)]


@pytest.mark.parametrize("length", [-1, 0, 5, 7, 2**31 - 1, -(2**31)])
def test_a_record_of_the_wrong_length_is_corrupt(length: int) -> None:
    assert_corrupt(batch_of(record_of(b"\0\0\0\x01\x01\x00", length=length)))


@pytest.mark.parametrize("count", [-1, 0, 2, 2**31 - 1, -(2**31)])
def test_a_wrong_count_is_corrupt(count: int) -> None:
    good = record_of(b"\0\0\0\x01\x01\x00")
    assert len(list(records(batch_of(good)))) == 1
    assert_corrupt(batch_of(good, count=count, last_offset_delta=100))


def test_a_negative_count_is_corrupt_even_without_records() -> None:
    assert_corrupt(batch_of(b"", count=-1))


@pytest.mark.parametrize("codec", Codec)
def test_a_batch_cut_off_at_any_byte_is_corrupt(codec: Codec) -> None:
    batch = new_batch(RECORDS[:3], codec=codec)
    for size in range(len(batch)):
        assert_corrupt(batch[:size])
        if size > HEADER_SIZE:
            assert_corrupt(_with_matching_length(batch[:size]))


@pytest.mark.parametrize("codec", Codec)
def test_a_bomb_inside_a_batch_is_refused(codec: Codec) -> None:
    batch = new_batch([Record(0, 0, None, bytes(4 << 20))], codec=codec)
    assert len(list(records(batch))) == 1
    if codec is not Codec.NONE:
        with pytest.raises(KafkaError) as error:
            list(records(batch, max_size=1 << 20))
        assert error.value.code is ErrorCode.CORRUPT_MESSAGE


def _with_matching_length(batch: bytearray) -> bytearray:
    struct.pack_into(">i", batch, 8, len(batch) - LOG_OVERHEAD)
    return batch


def test_a_head_costs_the_same_whatever_follows_its_key() -> None:
    count = 500_000
    data = record_of(b"\0\x0e\0\x02k\x01" + encode_varint(count) + b"\0\x01" * count)
    header = read_header(batch_of(b""))
    tracemalloc.start()
    try:
        (head,) = heads_in(data, header)
        assert head[:3] == (0, 7, True)
        assert tracemalloc.get_traced_memory()[1] < 10_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"", id="no attributes"),
        pytest.param(b"\0\0\0\x06ab", id="key past the end"),
        pytest.param(b"\0\0\0\x01\x01", id="no header count"),
        pytest.param(b"\0\0\0\xfe\xff\xff\xff\x0f", id="key of 2 GiB"),
        pytest.param(b"\0" + b"\xff" * 20, id="endless timestamp"),
    ],
)
@pytest.mark.parametrize("room", [0, 200])
def test_a_malformed_head_is_corrupt(body: bytes, room: int) -> None:
    with pytest.raises(KafkaError) as error:
        list(heads_in(record_of(body) + bytes(room), read_header(batch_of(b""))))
    assert error.value.code is ErrorCode.CORRUPT_MESSAGE


@pytest.mark.parametrize(
    "tail",
    [
        pytest.param(b"\xc8\x01xx\0", id="value past the end"),
        pytest.param(b"\xff" * 12, id="endless value"),
        pytest.param(b"\x02x\x01", id="negative count of headers"),
        pytest.param(b"\x02x\x0a", id="fewer headers than it counts"),
        pytest.param(b"\x02x\x02\x01\x01", id="header without a key"),
        pytest.param(b"\x02x\x02\x02h\x08v", id="header past the end"),
        pytest.param(b"\x02x\0junk", id="bytes after the headers"),
    ],
)
@pytest.mark.parametrize("room", [0, 200])
def test_what_follows_a_head_is_checked_where_that_is_asked_for(tail: bytes, room: int) -> None:
    data = record_of(b"\0\0\0\x02k" + tail) + bytes(room)
    with pytest.raises(KafkaError) as error:
        list(checked_heads(data, read_header(batch_of(b""))))
    assert error.value.code is ErrorCode.CORRUPT_MESSAGE


def test_a_record_of_many_headers_is_checked_in_steps() -> None:
    count = 1000
    data = record_of(b"\0\x0e\0\x02k\x01" + encode_varint(count) + b"\0\x01" * count)
    *steps, (head, left) = checked_heads(data, read_header(batch_of(b"")))
    assert steps == [(None, 200)] * 5
    assert head is not None
    assert head.has_key
    # The record itself.
    assert left == 1
