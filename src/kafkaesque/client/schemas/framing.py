"""How a record says which schema it was written with: Confluent's framing, and nothing around it.

    0 (u8) │ schema id (u32, big-endian) │ payload
    0 (u8) │ schema id (u32, big-endian) │ message indexes │ payload           Protobuf

The message indexes are the way to a message in its file: [2, 0] is the first message inside the
third. They are a count and that many indexes, all zigzag varints; [0], which is nearly all of them,
is the single byte 0. Pure. Above: registry_serde.py, decoder.py, protobuf.py. Below: nothing.
"""

from collections.abc import Sequence
from struct import Struct

MAGIC = 0
HEADER_BYTES = 5

_HEADER = Struct(">BI")
_MAX_INDEXES = 100
_MAX_SHIFT = 63


class NotFramedError(ValueError):
    """Bytes that do not begin with a schema's id."""


def header(schema_id: int) -> bytes:
    return _HEADER.pack(MAGIC, schema_id)


def frame(schema_id: int, payload: bytes) -> bytes:
    return _HEADER.pack(MAGIC, schema_id) + payload


def unframe(data: bytes) -> tuple[int, bytes]:
    """The schema's id and the payload. Raises NotFramedError."""
    return schema_id_of(data), data[HEADER_BYTES:]


def schema_id_of(data: bytes) -> int:
    """Raises NotFramedError."""
    if len(data) < HEADER_BYTES:
        raise NotFramedError(f"{len(data)} bytes are too few for a schema id, which takes 5")
    magic, schema_id = _HEADER.unpack_from(data)
    if magic != MAGIC:
        raise NotFramedError(f"it begins with byte {magic}, not 0: no schema id is in front of it")
    return int(schema_id)


def write_indexes(indexes: Sequence[int]) -> bytes:
    if list(indexes) == [0]:
        return b"\0"
    return b"".join(map(_varint, (len(indexes), *indexes)))


def read_indexes(data: bytes) -> tuple[list[int], int]:
    """The indexes, and where they end in `data`. Raises NotFramedError."""
    count, position = _read_varint(data, 0)
    if count == 0:
        return [0], position
    if not 0 < count <= _MAX_INDEXES:
        raise NotFramedError(f"{count} message indexes: this is no framed Protobuf message")
    indexes = []
    for _ in range(count):
        index, position = _read_varint(data, position)
        indexes.append(index)
    return indexes, position


def _varint(value: int) -> bytes:
    rest, out = value << 1 if value >= 0 else ~(value << 1), bytearray()
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)


def _read_varint(data: bytes, position: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, _MAX_SHIFT + 1, 7):
        if position >= len(data):
            break
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value >> 1 ^ -(value & 1), position
    raise NotFramedError("its message indexes have no end: this is no framed Protobuf message")
