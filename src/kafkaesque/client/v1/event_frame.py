"""One record for one subscription: the binary frame of kafkaesque.v1, big-endian.

    kind u8 = 1 | subscription u32 | topic: length u16, UTF-8 | partition i32
    | offset i64 | timestamp i64, ms since 1970
    | key: length i32, -1 for null, bytes | value: length i32, -1 for null, bytes
    | header count u16, each: name: length u16, UTF-8 | value: length i32, -1 for null, bytes

No record that a producer can write may stop a stream: headers beyond the 65,535th, and what a name
has beyond 65,535 bytes, are left out. Bytes that are no event frame raise ValueError.
Pure. Above: gateway/fanout/encodings.py, subscriber.py. Below: event.py, records/record.py.
"""

from functools import lru_cache
from struct import Struct
from struct import error as StructError  # noqa: N812

from kafkaesque.event import Event, EventHeaders
from kafkaesque.records.record import Headers, Record

KIND = 1

_ENVELOPE = Struct(">BIH")
_PARTITION = Struct(">i")
_PLACE = Struct(">qqi")
_LENGTH = Struct(">i")
_COUNT = Struct(">H")
_MOST = 65_535
_NULL = _LENGTH.pack(-1)
_NO_HEADERS = _COUNT.pack(0)


def encode_event(subscription: int, topic: str, partition: int, record: Record) -> bytes:
    offset, timestamp, key, value, headers = record
    return b"".join(
        (
            _opening(subscription, topic, partition),
            _PLACE.pack(offset, timestamp, -1 if key is None else len(key)),
            key or b"",
            _NULL if value is None else _LENGTH.pack(len(value)),
            value or b"",
            _encode_headers(headers) if headers else _NO_HEADERS,
        )
    )


@lru_cache(maxsize=8192)
def _opening(subscription: int, topic: str, partition: int) -> bytes:
    name = topic.encode()
    return _ENVELOPE.pack(KIND, subscription, len(name)) + name + _PARTITION.pack(partition)


def _encode_headers(headers: Headers) -> bytes:
    headers = headers[:_MOST]
    encoded = bytearray(_COUNT.pack(len(headers)))
    for name, value in headers:
        data = name.encode(errors="surrogateescape")[:_MOST]
        encoded += _COUNT.pack(len(data))
        encoded += data
        encoded += _NULL if value is None else _LENGTH.pack(len(value))
        encoded += value or b""
    return bytes(encoded)


def decode_event(data: bytes) -> tuple[int, Event]:
    """The subscription that it is for, and the event with its key and value as bytes."""
    try:
        return _decode(data)
    except (IndexError, StructError, UnicodeDecodeError) as error:
        raise ValueError(f"these {len(data)} bytes are no event frame: {error}") from None


def _decode(data: bytes) -> tuple[int, Event]:
    kind, subscription, length = _ENVELOPE.unpack_from(data)
    if kind != KIND:
        raise IndexError(f"kind {kind} is unknown")
    at = _ENVELOPE.size + length
    topic = data[_ENVELOPE.size : at].decode()
    (partition,) = _PARTITION.unpack_from(data, at)
    offset, timestamp, length = _PLACE.unpack_from(data, at + 4)
    key, at = _bytes(data, at + 24, length)
    (length,) = _LENGTH.unpack_from(data, at)
    value, at = _bytes(data, at + 4, length)
    headers, at = _decode_headers(data, at)
    if at != len(data):
        raise IndexError(f"{len(data) - at} bytes follow its end")
    return subscription, Event(topic, partition, offset, timestamp, key, value, headers)


def _decode_headers(data: bytes, at: int) -> tuple[EventHeaders, int]:
    (count,) = _COUNT.unpack_from(data, at)
    at += 2
    headers: EventHeaders = []
    for _ in range(count):
        (length,) = _COUNT.unpack_from(data, at)
        name, at = _bytes(data, at + 2, length)
        (length,) = _LENGTH.unpack_from(data, at)
        value, at = _bytes(data, at + 4, length)
        headers.append(((name or b"").decode(errors="surrogateescape"), value))
    return headers, at


def _bytes(data: bytes, at: int, length: int) -> tuple[bytes | None, int]:
    if length < 0:
        return None, at
    end = at + length
    if end > len(data):
        raise IndexError(f"a field of {length} bytes where {len(data) - at} are left")
    return data[at:end], end
