"""The keys and values of many batches, and nothing else of their records: for replaying state.

A replay reads millions of records, in batches of a few, and wants neither offsets nor timestamps
nor headers of them. So plain batches (not compressed, of no transaction, no control batches) that
follow each other are a *run*, and are read in one go; any other batch is a run of its own.

    length | attributes | timestamp delta | offset delta | key length, key | value length, value | 0

`gather` is made for speed: it files records by keys that end with a number, as those of committed
offsets do. Nearly all of them have one of a few *shapes*: the length of the key, and how much of
the record is left from there on, say where everything else must be. One unpack has it all, and what
it finds is checked. A record without a shape (it has headers, a length of three bytes, or no such
key) goes the long way, through record.py.
Bytes that make no record raise KafkaError(CORRUPT_MESSAGE). CRCs are not looked at.
Above: broker/state_log.py, groups/replay.py. Below: batch.py, record.py.
"""

import struct
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.records.batch import HEADER_SIZE, LOG_OVERHEAD, BatchHeader, read_header, records
from kafkaesque.records.record import decode_record
from kafkaesque.records.varint import encode_varint
from kafkaesque.types import Buffer

Shelf: TypeAlias = dict[int, bytes]
"""Values by number, of keys that are the same up to the number."""

_NUMBER = struct.Struct(">i")
_KIND = struct.Struct(">8xi9xh")  # batch length, attributes
_COUNT = struct.Struct(">8xi45xi")  # batch length, count
_MIN_LENGTH = HEADER_SIZE - LOG_OVERHEAD
_SPECIAL = 0x07 | 0x10 | 0x20  # codec, transactional, control
_TWO_BYTES = 0x3FFE  # the bits of a zigzag varint of one byte or two, that is not negative


class Run(NamedTuple):
    """Batches from `position` to `end` of a buffer: the header of the first, and what follows."""

    header: BatchHeader
    position: int
    end: int
    next_offset: int

    @property
    def is_plain(self) -> bool:
        return not self.header.attributes & _SPECIAL


def runs(data: bytes) -> Iterator[Run]:
    """What a buffer of whole batches consists of."""
    end = 0
    while end < len(data):
        position = last = end
        header = read_header(data, position)
        end += header.size
        if not header.attributes & _SPECIAL:
            while end + HEADER_SIZE <= len(data):
                length, attributes = _KIND.unpack_from(data, end)
                if attributes & _SPECIAL or length < _MIN_LENGTH:
                    break
                last = end
                end += length + LOG_OVERHEAD
        yield Run(header, position, end, read_header(data, last).next_offset)


def entries(data: bytes, run: Run) -> Iterator[tuple[bytes, bytes | None]]:
    """Key and value of each record; a null value is a tombstone, a null key as good as empty."""
    position = run.position
    while position < run.end:
        for record in records(data, position):
            yield record.key or b"", record.value
        position += read_header(data, position).size


def gather(
    data: bytes,
    run: Run,
    shelves: dict[bytes, Shelf],
    shelf_for: Callable[[bytes, bytes | None], Shelf],
) -> None:
    """File the records of a plain run: shelves[key up to its number][number] = value.

    A null value takes away what is there. Where no shelf is known, `shelf_for` is asked for one,
    with the whole key and the value.
    """
    at = run.position
    try:
        while at < run.end:
            length, count = _COUNT.unpack_from(data, at)
            batch_end = at + length + LOG_OVERHEAD
            at = _gather_batch(data, at + HEADER_SIZE, count, shelves, shelf_for)
            if at != batch_end:
                raise _corrupt(f"the records of a batch end at byte {at}, the batch at {batch_end}")
    except (IndexError, struct.error):
        raise _corrupt("a batch is cut off") from None


def _gather_batch(
    data: bytes,
    at: int,
    count: int,
    shelves: dict[bytes, Shelf],
    shelf_for: Callable[[bytes, bytes | None], Shelf],
) -> int:
    """Sizes are varints: read as if they had one byte, or two if the first says "go on"."""
    for _ in range(count):
        start = at
        length = data[at]
        if length > 0x7F:
            at += 1
            length += data[at] - 1 << 7
        following = at + 1 + (length >> 1)
        at += 2
        while data[at] > 0x7F:
            at += 1
        at += 1
        while data[at] > 0x7F:
            at += 1
        key_size = data[at + 1]
        at += 2
        if key_size > 0x7F:
            key_size += data[at] - 1 << 7
            at += 1
        shape = _NO_SHAPE if length & ~_TWO_BYTES else _shape(key_size, following - at)
        head, number, value_size, value, headers = shape[0](data, at)
        if value_size != shape[1] or headers:
            record, at = decode_record(data, start, 0, 0)
            _file(record.key or b"", record.value, shelves, shelf_for)
            continue
        shelf = shelves.get(head)
        if shelf is None:
            shelf = shelf_for(head + _NUMBER.pack(number), value or None)
        if value:
            shelf[number] = value
        else:
            shelf.pop(number, None)
        at = following
    return at


def _file(
    key: bytes,
    value: bytes | None,
    shelves: dict[bytes, Shelf],
    shelf_for: Callable[[bytes, bytes | None], Shelf],
) -> None:
    shelf = shelves.get(key[: -_NUMBER.size])
    if shelf is None:
        shelf = shelf_for(key, value)
    number = int.from_bytes(key[-_NUMBER.size :], "big", signed=True)
    if value is None:
        shelf.pop(number, None)
    else:
        shelf[number] = value


_Unpack: TypeAlias = Callable[[Buffer, int], tuple[Any, ...]]
_NO_SHAPE: tuple[_Unpack, int] = (struct.Struct(">0s0sB0sB").unpack_from, -1)


@lru_cache(maxsize=4096)
def _shape(key_size: int, room: int) -> tuple[_Unpack, int]:
    """How to unpack a record from its key on, given the room it has there, and the size of its
    value as it must stand in it: key, number, that size, value, and how many headers.

    A shape without a value is that of a tombstone: its size says null.
    """
    key_length = key_size >> 1
    value_length = room - key_length - 2
    if value_length > 0x3F:
        value_length -= 1
    size = encode_varint(value_length or -1)
    is_filled = key_length + len(size) + value_length + 1 == room
    if key_size & 1 or key_length < _NUMBER.size or len(size) > 2 or not is_filled:
        return _NO_SHAPE
    layout = f">{key_length - _NUMBER.size}si{'BH'[len(size) - 1]}{value_length}sB"
    return struct.Struct(layout).unpack_from, int.from_bytes(size, "big")


def _corrupt(message: str) -> KafkaError:
    return KafkaError(ErrorCode.CORRUPT_MESSAGE, message)
