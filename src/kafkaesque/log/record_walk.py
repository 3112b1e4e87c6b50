"""The records of a batch without decoding them: what compaction asks of each, and no more.

    length | attributes | timestamp delta | offset delta | key length, key | value length | …

Where each record lies, its key, and whether it is a tombstone: a value length of −1, the one byte
01. Millions of records come by here, so the loops are plain and in line, and numbers of one byte
take the short way. `note_keys` is the tightest: it alone sees every record of a log.

Offsets of a batch from which nothing was removed count up; only then are offset deltas skipped.
Keys stand for themselves up to 15 bytes, longer ones by a digest of 16: so none can be mistaken
for the other, and a key costs the same memory whatever its length.
What is no record raises KafkaError(CORRUPT_MESSAGE).
Above: compaction.py. Below: records/.
"""

from collections.abc import Iterator
from hashlib import blake2b
from typing import TypeAlias

from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.records.batch import BatchHeader
from kafkaesque.records.record import record_timestamp
from kafkaesque.records.varint import decode_varint, decode_varlong, encode_varint, encode_varlong

DIGEST_BYTES = 16

Latest: TypeAlias = dict[bytes, int]
"""Key -> place: twice the offset of its last record, and one more if that is a tombstone."""

Span: TypeAlias = tuple[int, int, int, bytes | None, bool]
"""Offset, where the record starts and ends, its key as in `Latest`, whether it is a tombstone."""


def note_keys(data: bytes, at: int, end: int, header: BatchHeader, latest: Latest) -> None:
    """Note the last place of each key in data[at:end]. Records without a key have none."""
    place = 2 * header.base_offset
    is_dense = header.count == header.last_offset_delta + 1
    try:
        for _ in range(header.count):
            length = data[at]
            if length < 0x80:
                following = at + 1 + (length >> 1)
                at += 2
            else:
                length, at = decode_varint(data, at)
                following = at + length
                at += 1
            while data[at] > 0x7F:  # the timestamp
                at += 1
            at += 1
            if is_dense:
                while data[at] > 0x7F:
                    at += 1
                at += 1
            else:
                delta, at = decode_varint(data, at)
                place = 2 * (header.base_offset + delta)
            size = data[at]
            if size < 0x80:
                at += 1
                size = (size >> 1) ^ -(size & 1)
            else:
                size, at = decode_varint(data, at)
            value_at = at + size
            if size >= 0:
                if value_at >= following:
                    raise _corrupt(f"a key of {size} bytes runs past the end of its record")
                key = data[at:value_at]
                if size >= DIGEST_BYTES:
                    key = blake2b(key, digest_size=DIGEST_BYTES).digest()
                latest[key] = place + (data[value_at] == 1)
            place += 2
            at = following
    except IndexError:
        raise _corrupt("the records of a batch are cut off") from None
    if at != end:
        raise _corrupt(f"the records of a batch end at byte {at}, the batch at {end}")


def spans(data: bytes, at: int, end: int, header: BatchHeader) -> Iterator[Span]:
    """Each record of data[at:end]."""
    offset = header.base_offset - 1
    is_dense = header.count == header.last_offset_delta + 1
    try:
        for _ in range(header.count):
            start = at
            length, at = decode_varint(data, at)
            following = at + length
            at += 1
            while data[at] > 0x7F:  # the timestamp
                at += 1
            delta, at = decode_varint(data, at + 1)
            offset = offset + 1 if is_dense else header.base_offset + delta
            size, at = decode_varint(data, at)
            value_at = at + max(size, 0)
            if value_at >= following:
                raise _corrupt(f"a key of {size} bytes runs past the end of its record")
            key = None if size < 0 else data[at:value_at]
            if size >= DIGEST_BYTES:
                key = blake2b(data[at:value_at], digest_size=DIGEST_BYTES).digest()
            yield offset, start, following, key, data[value_at] == 1
            at = following
    except IndexError:
        raise _corrupt("the records of a batch are cut off") from None
    if at != end:
        raise _corrupt(f"the records of a batch end at byte {at}, the batch at {end}")


def timestamp(data: bytes, start: int, base_timestamp: int) -> int:
    """Of the record that starts there."""
    _, at = decode_varint(data, start)
    return record_timestamp(base_timestamp, decode_varlong(data, at + 1)[0])


def retimed(data: bytes, start: int, end: int, delta: int) -> bytes:
    """The record data[start:end] with another timestamp delta."""
    _, at = decode_varint(data, start)
    _, rest = decode_varlong(data, at + 1)
    body = data[at : at + 1] + encode_varlong(delta) + data[rest:end]
    return encode_varint(len(body)) + body


def _corrupt(message: str) -> KafkaError:
    return KafkaError(ErrorCode.CORRUPT_MESSAGE, message)
