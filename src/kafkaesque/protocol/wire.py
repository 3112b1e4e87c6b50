"""The few steps that generated codecs call rather than spell out: long varints, tagged fields, ids.

A varint of one byte, by far the most common, is dealt with inline by the generated code (of
decoder.py and encoder.py); only the rest comes here. Running off the end is an IndexError, which
that code turns into a DecodeError.
"""

from functools import lru_cache
from typing import Final
from uuid import UUID

from kafkaesque.errors import DecodeError
from kafkaesque.types import Buffer

_MAX_TAGS: Final = 1000
"""No struct has a tenth of it in any version: at two bytes each, tagged fields would be a cheap way
to keep a broker busy.
"""

_SHORT: Final = [bytes((value,)) for value in range(128)]


def encode_uvarint(value: int) -> bytes:
    if value < 1 << 7:
        return _SHORT[value]
    if value < 1 << 14:
        return bytes((value & 127 | 128, value >> 7))
    if value < 1 << 21:
        return bytes((value & 127 | 128, value >> 7 & 127 | 128, value >> 14))
    return bytes((value & 127 | 128,)) + encode_uvarint(value >> 7)


def decode_uvarint(data: Buffer, position: int) -> tuple[int, int]:
    """The value and the position after it."""
    first = data[position]
    return (first, position + 1) if first < 128 else long_uvarint(data, position + 1, first)


def long_uvarint(data: Buffer, position: int, first: int) -> tuple[int, int]:
    """The rest of a varint whose first byte was read, and has its high bit set."""
    value = first & 127
    for shift in (7, 14, 21, 28):
        byte = data[position]
        position += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, position
    raise DecodeError("a varint of more than five bytes")


def tag_count(data: Buffer, position: int, first: int) -> tuple[int, int]:
    """The number of tagged fields, whose first byte was read, and has its high bit set."""
    count, position = long_uvarint(data, position, first)
    if count > _MAX_TAGS:
        raise DecodeError(f"{count} tagged fields, where {_MAX_TAGS} are allowed")
    return count, position


def skip_tags(data: Buffer, position: int, count: int) -> int:
    """Step over tagged fields of which none is known; `count` is the first byte of their number."""
    if count > 127:
        count, position = tag_count(data, position, count)
    for _ in range(count):
        _, position, stop = next_tag(data, position)
        position = stop
    return position


def next_tag(data: Buffer, position: int) -> tuple[int, int, int]:
    """A tag, where its value starts and where it stops."""
    tag, position = decode_uvarint(data, position)
    size, position = decode_uvarint(data, position)
    stop = position + size
    if stop > len(data):
        raise DecodeError(f"tagged field {tag}: {size} bytes do not fit the frame")
    return tag, position, stop


@lru_cache(maxsize=4096)
def uuid_from_bytes(raw: bytes) -> UUID:
    """Cached, because building a UUID takes longer than decoding the rest of a partition."""
    return UUID(bytes=raw)
