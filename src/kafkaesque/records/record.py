"""One record: its fields, and its bytes inside a batch.

    record   length varint | attributes i8 | timestamp delta varlong | offset delta varint
             | key | value | header count varint | (header key, header value)*
    a key or value is: length varint, -1 for null | bytes

Deltas count from the batch's base offset and base timestamp; a timestamp is added up in 64 bits, as
in Java. Malformed bytes raise KafkaError(CORRUPT_MESSAGE) and nothing else; lengths are checked
against the record around them. How many headers a record has is for its producer to say: of a few
kilobytes that unpack to megabytes, a whole record may take seconds to decode. Whoever must not wait
for that asks for its head, and has the rest checked in steps.
Above: batch.py. Below: varint.py.
"""

from collections.abc import Generator, Iterable
from typing import Final, NamedTuple, TypeAlias

from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.records.varint import decode_varint, decode_varlong, encode_varint, encode_varlong
from kafkaesque.types import Buffer

Headers: TypeAlias = tuple[tuple[str, bytes | None], ...]

MIN_TIMESTAMP, MAX_TIMESTAMP = -(2**63), 2**63 - 1

_NULL = encode_varint(-1)
_KEYLESS_HEADER = "a header has no key"
_LEAST_AFTER_KEY = 2
"""The size of a value, and how many headers there are."""
HEADERS_IN_A_STEP: Final = 200
"""A few hundred microseconds."""


class Record(NamedTuple):
    """Header keys that are not UTF-8 hold lone surrogates: written back, the same bytes."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Headers = ()


class Head(NamedTuple):
    """What a record begins with, for who asks for no more: it costs the same whatever follows."""

    offset: int
    timestamp: int
    has_key: bool
    tail: int
    """Where its value begins, after the key."""
    end: int


def encode_records(records: Iterable[Record], base_offset: int, base_timestamp: int) -> bytearray:
    encoded = bytearray()
    for record in records:
        body = _encode_body(record, base_offset, base_timestamp)
        encoded += encode_varint(len(body))
        encoded += body
    return encoded


def _encode_body(record: Record, base_offset: int, base_timestamp: int) -> bytearray:
    body = bytearray(1)
    body += encode_varlong(record.timestamp - base_timestamp)
    body += encode_varint(record.offset - base_offset)
    body += _encode_bytes(record.key)
    body += _encode_bytes(record.value)
    body += encode_varint(len(record.headers))
    for key, value in record.headers:
        body += _encode_bytes(key.encode(errors="surrogateescape"))
        body += _encode_bytes(value)
    return body


def _encode_bytes(data: bytes | None) -> bytes:
    return _NULL if data is None else encode_varint(len(data)) + data


def decode_record(
    data: bytes, at: int, base_offset: int, base_timestamp: int
) -> tuple[Record, int]:
    """The record that starts at `at`, and where the next one starts."""
    timestamp_delta, offset_delta, at, end = _decode_deltas(data, at)
    key, at = _decode_bytes(data, at, end)
    value, at = _decode_bytes(data, at, end)
    headers, at = decode_headers(data, at, end)
    _check_end(at, end)
    timestamp = record_timestamp(base_timestamp, timestamp_delta)
    return Record(base_offset + offset_delta, timestamp, key, value, headers), end


def decode_head(data: Buffer, at: int, base_offset: int, base_timestamp: int) -> tuple[Head, int]:
    """The same, of its head: of what follows, only where it ends."""
    timestamp_delta, offset_delta, at, end = _decode_deltas(data, at)
    key_size, at = _skip_bytes(data, at, end - _LEAST_AFTER_KEY)
    timestamp = record_timestamp(base_timestamp, timestamp_delta)
    return Head(base_offset + offset_delta, timestamp, key_size >= 0, at, end), end


def check_tail(data: Buffer, at: int, end: int) -> Generator[None, None, int]:
    """That what follows the key is a value and headers, up to the end. In steps of so many headers,
    of which nothing is kept; how many there are beyond the last step.
    """
    _, at = _skip_bytes(data, at, end)
    count, at = _header_count(data, at)
    for number in range(count):
        if number % HEADERS_IN_A_STEP == HEADERS_IN_A_STEP - 1:
            yield
        key_size, at = _skip_bytes(data, at, end)
        if key_size < 0:
            raise _corrupt(_KEYLESS_HEADER)
        _, at = _skip_bytes(data, at, end)
    _check_end(at, end)
    return count % HEADERS_IN_A_STEP


def _decode_deltas(data: Buffer, at: int) -> tuple[int, int, int, int]:
    """Of timestamp and offset; where the key comes, and where the record ends."""
    length, at = decode_varint(data, at)
    end = at + length
    if length < 1 or end > len(data):
        raise _corrupt(f"a record of {length} bytes where {len(data) - at} are left")
    timestamp_delta, at = decode_varlong(data, at + 1)
    offset_delta, at = decode_varint(data, at)
    return timestamp_delta, offset_delta, at, end


def record_timestamp(base_timestamp: int, delta: int) -> int:
    timestamp = base_timestamp + delta
    if MIN_TIMESTAMP <= timestamp <= MAX_TIMESTAMP:
        return timestamp
    return (timestamp - MIN_TIMESTAMP) % 2**64 + MIN_TIMESTAMP


def _decode_bytes(data: bytes, at: int, end: int) -> tuple[bytes | None, int]:
    length, at = decode_varint(data, at)
    if length < 0:
        return None, at
    if at + length > end:
        raise _corrupt(f"a field of {length} bytes runs past the end of its record")
    return data[at : at + length], at + length


def _skip_bytes(data: Buffer, at: int, end: int) -> tuple[int, int]:
    """Their length, negative where there are none, and where they end."""
    length, at = decode_varint(data, at)
    after = at + length if length > 0 else at
    if after > end:
        raise _corrupt(f"a field of {length} bytes runs past the end of its record")
    return length, after


def decode_headers(data: bytes, at: int, end: int) -> tuple[Headers, int]:
    count, at = _header_count(data, at)
    if count == 0:
        return (), at
    headers = []
    for _ in range(count):
        key, at = _decode_bytes(data, at, end)
        if key is None:
            raise _corrupt(_KEYLESS_HEADER)
        value, at = _decode_bytes(data, at, end)
        headers.append((str(key, "utf-8", "surrogateescape"), value))
    return tuple(headers), at


def _header_count(data: Buffer, at: int) -> tuple[int, int]:
    count, at = decode_varint(data, at)
    if count < 0:
        raise _corrupt(f"a record counts {count} headers")
    return count, at


def _check_end(at: int, end: int) -> None:
    if at != end:
        raise _corrupt(f"a record's length and its fields differ by {end - at} bytes")


def _corrupt(message: str) -> KafkaError:
    return KafkaError(ErrorCode.CORRUPT_MESSAGE, message)
