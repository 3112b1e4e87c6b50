"""A record batch v2: its 61-byte header, its CRC, its offsets, its records.

    0  baseOffset   i64   17 crc              u32   35 maxTimestamp   i64   57 count  i32
    8  batchLength  i32   21 attributes       i16   43 producerId     i64   61 records
    12 leaderEpoch  i32   23 lastOffsetDelta  i32   51 producerEpoch  i16
    16 magic        i8    27 baseTimestamp    i64   53 baseSequence   i32

batchLength counts from byte 12. The CRC-32C covers byte 21 to the end: stamping the base offset and
the leader epoch leaves it valid, log append time needs a new one. Attributes: bits 0-2 codec, 3 log
append time, 4 transactional, 5 control, 6 delete horizon. The hot path reads headers, checks CRCs
and stamps, and copies nothing; only `records`, `heads_in`, `checked_heads` and `new_batch` open or
build what is inside.
Malformed bytes raise KafkaError(CORRUPT_MESSAGE).
Above: log/segment.py, broker/partition.py. Below: record.py, compression.py.
"""

import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias, TypeVar

from crc32c import crc32c

from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.records.compression import (
    MAX_UNCOMPRESSED_BYTES,
    Codec,
    compress,
    decompress,
    unpack,
)
from kafkaesque.records.record import (
    HEADERS_IN_A_STEP,
    Head,
    Record,
    check_tail,
    decode_head,
    decode_record,
    encode_records,
)
from kafkaesque.types import Buffer

T = TypeVar("T", Record, Head)

__all__ = [
    "CONTROL",
    "DELETE_HORIZON",
    "HEADER_SIZE",
    "LOG_OVERHEAD",
    "MAGIC",
    "NO_PRODUCER_ID",
    "NO_SEQUENCE",
    "NO_TIMESTAMP",
    "TRANSACTIONAL",
    "BatchHeader",
    "Codec",
    "Head",
    "Record",
    "assemble",
    "batches",
    "checked_heads",
    "crc_matches",
    "heads_in",
    "new_batch",
    "payload",
    "payload_view",
    "read_header",
    "records",
    "stamp",
    "stamp_append_time",
]

HEADER_SIZE = 61
LOG_OVERHEAD = 12
MAGIC = 2
DELETE_HORIZON = 0x40
"""The attribute that makes baseTimestamp the time from which on tombstones may go."""
NO_PRODUCER_ID = -1
NO_TIMESTAMP = -1
NO_SEQUENCE = -1

_HEADER = struct.Struct(">qiibIhiqqqhii")
_LEADER_EPOCH_AT = 12
_CRC_AT = 17
_ATTRIBUTES_AT = 21
_MAX_TIMESTAMP_AT = 35

_LOG_APPEND_TIME = 0x08
TRANSACTIONAL = 0x10
CONTROL = 0x20

_CODECS = tuple(Codec)
_MIN_LENGTH = HEADER_SIZE - LOG_OVERHEAD
_unpack_header = _HEADER.unpack_from
_new_tuple = tuple.__new__
_Decode: TypeAlias = Callable[[Any, int, int, int], tuple[T, int]]
_MAGIC_FIELD = 3


class BatchHeader(NamedTuple):
    base_offset: int
    batch_length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    count: int  # type: ignore[assignment]  # Kafka's word; it hides tuple.count

    @property
    def size(self) -> int:
        """Bytes of the whole batch, header included."""
        return self.batch_length + LOG_OVERHEAD

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        return self.base_offset + self.last_offset_delta + 1

    @property
    def last_sequence(self) -> int:
        """Sequence number of the last record. After 2**31 - 1 comes 0."""
        if self.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        return (self.base_sequence + self.last_offset_delta) & 0x7FFFFFFF

    @property
    def codec(self) -> Codec:
        number = self.attributes & 0x07
        if number >= len(_CODECS):
            raise _corrupt(f"no codec has the number {number}")
        return _CODECS[number]

    @property
    def is_log_append_time(self) -> bool:
        return bool(self.attributes & _LOG_APPEND_TIME)

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & TRANSACTIONAL)

    @property
    def is_control(self) -> bool:
        return bool(self.attributes & CONTROL)

    def moved_to(self, base_offset: int, leader_epoch: int) -> "BatchHeader":
        """The header of the same batch after `stamp`. As `_replace`, at a third of its cost."""
        return _new_tuple(
            BatchHeader, (base_offset, self.batch_length, leader_epoch, *self[_MAGIC_FIELD:])
        )

    @property
    def has_delete_horizon(self) -> bool:
        return bool(self.attributes & DELETE_HORIZON)


def read_header(buffer: Buffer, position: int = 0) -> BatchHeader:
    try:
        fields = _unpack_header(buffer, position)
    except struct.error:
        raise _corrupt(f"no room for a batch header at byte {position}") from None
    if fields[3] != MAGIC or fields[1] < _MIN_LENGTH:
        raise _corrupt(f"no batch at byte {position}: magic {fields[3]}, length {fields[1]}")
    # Not BatchHeader(*fields): building the tuple directly is three times as fast.
    return _new_tuple(BatchHeader, fields)


def crc_matches(buffer: Buffer, position: int, header: BatchHeader) -> bool:
    end = position + header.batch_length + LOG_OVERHEAD
    if end > len(buffer):
        return False
    return bool(crc32c(memoryview(buffer)[position + _ATTRIBUTES_AT : end]) == header.crc)


def batches(buffer: Buffer, position: int = 0) -> Iterator[tuple[int, BatchHeader]]:
    """The batches of a buffer as (position, header). One that is not whole ends the walk."""
    end = len(buffer)
    while position + HEADER_SIZE <= end:
        header = read_header(buffer, position)
        following = position + header.batch_length + LOG_OVERHEAD
        if following > end:
            return
        yield position, header
        position = following


def stamp(
    buffer: bytearray | memoryview, position: int, base_offset: int, leader_epoch: int
) -> None:
    """Write the offset and the epoch that the log gives a batch. Its CRC stays valid."""
    struct.pack_into(">q", buffer, position, base_offset)
    struct.pack_into(">i", buffer, position + _LEADER_EPOCH_AT, leader_epoch)


def stamp_append_time(buffer: bytearray | memoryview, position: int, timestamp_ms: int) -> None:
    """Give every record the broker's time, by a bit and maxTimestamp; no record changes."""
    header = read_header(buffer, position)
    struct.pack_into(">h", buffer, position + _ATTRIBUTES_AT, header.attributes | _LOG_APPEND_TIME)
    struct.pack_into(">q", buffer, position + _MAX_TIMESTAMP_AT, timestamp_ms)
    write_crc(buffer, position, header.size)


def write_crc(buffer: bytearray | memoryview, position: int, size: int) -> None:
    crc = crc32c(memoryview(buffer)[position + _ATTRIBUTES_AT : position + size])
    struct.pack_into(">I", buffer, position + _CRC_AT, crc)


def records(
    buffer: Buffer, position: int = 0, max_size: int = MAX_UNCOMPRESSED_BYTES
) -> Iterator[Record]:
    """The records of the batch at `position`, decoded as they are asked for.

    Offsets must rise and stay within the batch; gaps are what compaction leaves behind.
    The CRC is the caller's to check.
    """
    header = read_header(buffer, position)
    return _decoded(payload(buffer, position, header, max_size), header, decode_record)


def heads_in(data: Buffer, header: BatchHeader) -> Iterator[Head]:
    """The heads of the records of a batch whose payload is unpacked, as they are asked for."""
    return _decoded(data, header, decode_head)


def checked_heads(data: Buffer, header: BatchHeader) -> Iterator[tuple[Head | None, int]]:
    """The same, each after a look through its record to the end, and how many things were looked
    at: the record and its headers. A long look is taken in steps, without a head before the last.
    """
    for head in heads_in(data, header):
        tail = check_tail(data, head.tail, head.end)
        while True:
            try:
                next(tail)
            except StopIteration as end:
                yield head, 1 + end.value
                break
            yield None, HEADERS_IN_A_STEP


def _decoded(data: Any, header: BatchHeader, decode: _Decode[T]) -> Iterator[T]:
    at = 0
    previous = header.base_offset - 1
    for _ in range(header.count):
        record, at = decode(data, at, header.base_offset, header.base_timestamp)
        if not previous < record.offset <= header.last_offset:
            raise _corrupt(f"offset {record.offset} follows {previous} in a batch")
        previous = record.offset
        if header.is_log_append_time:
            record = record._replace(timestamp=header.max_timestamp)
        yield record
    if at != len(data):
        raise _corrupt(f"{len(data) - at} bytes follow the last record of a batch")


def payload(buffer: Buffer, position: int, header: BatchHeader, max_size: int) -> bytes:
    """The records of a batch as they lie there, unpacked."""
    data = _packed(buffer, position, header)
    # Compaction leaves headers without records behind; there is nothing to unpack then.
    return decompress(header.codec, data, max_size) if len(data) else b""


def payload_view(buffer: Buffer, header: BatchHeader, max_size: int) -> Buffer:
    """The same, of the batch at the start of a buffer, without a copy."""
    data = _packed(buffer, 0, header)
    return unpack(header.codec, data, max_size) if len(data) else b""


def _packed(buffer: Buffer, position: int, header: BatchHeader) -> memoryview:
    end = position + header.size
    if end > len(buffer):
        raise _corrupt(f"a batch lacks its last {end - len(buffer)} bytes")
    if header.count < 0:
        raise _corrupt(f"a batch counts {header.count} records")
    return memoryview(buffer)[position + HEADER_SIZE : end]


def new_batch(
    records: Sequence[Record],
    *,
    base_offset: int = 0,
    codec: Codec = Codec.NONE,
    leader_epoch: int = 0,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = -1,
    base_sequence: int = NO_SEQUENCE,
    transactional: bool = False,
    control: bool = False,
) -> bytearray:
    """A batch of records whose offsets count up from `base_offset`."""
    if not records or any(r.offset != base_offset + i for i, r in enumerate(records)):
        raise ValueError(f"the offsets of a new batch must count up from {base_offset}")
    base_timestamp = records[0].timestamp
    header = BatchHeader(
        base_offset=base_offset,
        batch_length=0,
        leader_epoch=leader_epoch,
        magic=MAGIC,
        crc=0,
        attributes=codec | TRANSACTIONAL * transactional | CONTROL * control,
        last_offset_delta=len(records) - 1,
        base_timestamp=base_timestamp,
        max_timestamp=max(record.timestamp for record in records),
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        count=len(records),
    )
    data = encode_records(records, base_offset, base_timestamp)
    return assemble(header, compress(codec, data))


def assemble(header: BatchHeader, data: Buffer) -> bytearray:
    """A batch of this header and its records as they lie there: length and CRC are filled in."""
    batch = bytearray(HEADER_SIZE)
    batch += data
    header = header._replace(batch_length=len(batch) - LOG_OVERHEAD)
    _HEADER.pack_into(batch, 0, *header)
    write_crc(batch, 0, len(batch))
    return batch


def _corrupt(message: str) -> KafkaError:
    return KafkaError(ErrorCode.CORRUPT_MESSAGE, message)
