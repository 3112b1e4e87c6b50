"""Record batches to columns: offset, timestamp, key, value, headers.

    offset int64 | timestamp int64, ms | key binary | value binary
    | headers list of (name string, value binary)

Where each record begins is known only from the length of the one before: that is a loop, and all
it does. Where several in a row have one length, the places of more such are reckoned, and it is
checked that each says this length. What is inside the records is decoded for all of them at once.
`columns_of` gives the records that `Fetched.records()` gives. Whatever looks wrong, or unusual,
goes through that: it has the words for it. Names of headers that are not UTF-8 get U+FFFD for what
is not. A process that decodes millions has all this done by a compiled loop (compiled.py).
Above: the users of the package. Below: cursor.py, compiled.py, client/fetched.py, records/.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from kafkaesque.client.columns import compiled
from kafkaesque.client.columns.cursor import PART_ROWS, ZONE_BYTES, Bytes, Cursor, Longs, Mask, Text
from kafkaesque.client.columns.errors import Fault
from kafkaesque.client.columns.headers import HEADERS, header_column, readable
from kafkaesque.client.columns.scalars import array_of, cut
from kafkaesque.client.fetched import Batches, Fetched, whole_batches
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.records.batch import HEADER_SIZE, BatchHeader, payload
from kafkaesque.records.compression import MAX_UNCOMPRESSED_BYTES
from kafkaesque.records.record import Record
from kafkaesque.records.varint import decode_unsigned_varint
from kafkaesque.types import TopicPartition

SCHEMA = pa.schema(
    [
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("timestamp", pa.int64(), nullable=False),
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field("headers", HEADERS, nullable=False),
    ]
)

_CODEC = 0x07
_LOG_APPEND_TIME = 0x08
_CONTROL = 0x20
_MAX_BYTES = 2**31 - 1 - ZONE_BYTES
_FAR = 2**62
_SPAN = range(32)
"""So many records one by one, before it is looked whether they are alike."""


def records_columns(
    data: bytes, *, offset: int = 0, aborted: Sequence[tuple[int, int]] = ()
) -> pa.RecordBatch:
    """The records of whole batches, from `offset` on; one batch that is cut off ends them."""
    found = whole_batches(data)
    return columns_of(
        Fetched(TopicPartition("", 0), offset, 0, data, -1, -1, tuple(aborted), batches=found)
    )


def columns_of(fetched: Fetched, walk: compiled.Walk | None = None) -> pa.RecordBatch:
    """By the compiled loop, if one is given or this process has it.

    Raises KafkaError(CORRUPT_MESSAGE) where `Fetched.records()` does.
    """
    chosen = fetched.committed_batches() if fetched.aborted else fetched.batches
    batches = [each for each in chosen if not each[1].attributes & _CONTROL]
    if (loop := walk or compiled.loaded()) is not None:
        arrays = compiled.arrays_of(loop, fetched.data, batches, fetched.offset)
        if arrays is None:
            return _one_by_one(fetched.records())
        return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)
    parts: list[pa.RecordBatch] = []
    for group in _groups(batches):
        layout = _layout(fetched.data, group)
        columns = None if layout is None else _columns(layout, fetched.offset)
        if columns is None:
            return _one_by_one(fetched.records())
        parts.append(columns)
    if sum(part.nbytes for part in parts) > _MAX_BYTES:
        raise ValueError("more than 2 GiB of records at once: fetch less")
    return parts[0] if len(parts) == 1 else pa.concat_batches(parts)


def _groups(batches: Batches) -> Iterator[Batches]:
    """Batches of some PART_ROWS records together; at least one group, if only an empty one."""
    first = rows = 0
    for place, (_, header) in enumerate(batches, 1):
        rows += header.count
        if rows >= PART_ROWS:
            yield batches[first:place]
            first, rows = place, 0
    if first < len(batches) or not batches:
        yield batches[first:]


@dataclass(frozen=True, slots=True)
class _Layout:
    """Batches laid end to end, without their headers, and where in that each record begins."""

    raw: Bytes
    begin: Longs
    end: Longs
    headers: list[BatchHeader]
    counts: Longs


def _layout(data: bytes, batches: Batches) -> _Layout | None:
    """None if a batch is not what its header says."""
    parts: list[bytes | memoryview] = []
    begins: list[Longs] = []
    counts: list[int] = []
    base = 0
    for position, header in batches:
        if header.attributes & _CODEC or header.count < 0:
            part: bytes | memoryview = payload(data, position, header, MAX_UNCOMPRESSED_BYTES)
        else:
            part = memoryview(data)[position + HEADER_SIZE : position + header.size]
        found = _begins(part, header.count)
        if found is None:
            return None
        parts.append(part)
        begins.append(found + base)
        counts.append(len(found))
        base += len(part)
        if base > _MAX_BYTES:
            raise ValueError("more than 2 GiB of records at once: fetch less")
    none = np.zeros(0, np.int64)
    if not sum(counts):
        return _Layout(np.zeros(0, np.uint8), none, none, [], none)
    begin = np.concatenate(begins)
    raw = np.frombuffer(b"".join(parts), np.uint8)
    kept = [header for (_, header), count in zip(batches, counts, strict=True) if count]
    # A record ends where the next begins, across batches too: they lie end to end.
    end = np.append(begin[1:], base)
    return _Layout(raw, begin, end, kept, np.array([count for count in counts if count]))


def _begins(data: bytes | memoryview, count: int) -> Longs | None:
    """Where each record begins; None if they do not fill the batch."""
    size = len(data)
    parts: list[Longs] = []
    begins: list[int] = []
    append = begins.append
    at = 0
    try:
        while at < size:
            for _ in _SPAN:
                append(at)
                length = data[at]
                if length < 0x80:
                    at += 1 + (length >> 1)
                elif (more := data[at + 1]) < 0x80:
                    at += 2 + ((length & 0x7F | more << 7) >> 1)
                else:
                    length, at = decode_unsigned_varint(data, at)
                    at += length >> 1
                if at >= size:
                    break
            else:
                each = at - begins[-1]
                if at - begins[-8] == 8 * each:
                    run = _run(data, at, each)
                    parts += (np.array(begins, np.int64), run)
                    begins.clear()
                    at += len(run) * each
    except (IndexError, KafkaError):
        return None
    found = np.concatenate([*parts, np.array(begins, np.int64)])
    return found if at == size and len(found) == count else None


def _run(data: bytes | memoryview, at: int, each: int) -> Longs:
    """Where the records from `at` on begin that are as long as the one before, `each` bytes."""
    mark = bytes(data[at - each : at - each + 5])
    after = decode_unsigned_varint(mark + b"\0", 0)[1]
    count = (len(data) - at) // each
    rows = np.frombuffer(data, np.uint8, count * each, at).reshape(count, each)
    alike = (rows[:, :after] == np.frombuffer(mark, np.uint8, after)).all(axis=1)
    length = count if alike.all() else int(alike.argmin())
    return np.arange(length) * each + at


class _RecordCursor(Cursor):
    """Kafka's numbers have 32 bits, in 5 bytes at most; only the time's has 64."""

    __slots__ = ()

    def number(self) -> Longs:
        before = self.at
        found = super().number()
        wrong = (self.at - before > 5) | (found != found.astype(np.int32))
        if wrong.any():
            self.fail(wrong, Fault.NUMBER)
            found[wrong] = 0
        return found

    def long_number(self) -> Longs:
        return super().number()


def _columns(layout: _Layout, offset: int) -> pa.RecordBatch | None:
    """None if anything is wrong in a record, or too much for a loop over headers."""
    text = Text(layout.raw, len(layout.begin))
    cursor = _RecordCursor(
        text, layout.begin.copy(), layout.end.copy(), np.arange(len(layout.begin))
    )
    length = cursor.number()
    body = cursor.at
    cursor.move(1)
    time_delta, offset_delta = cursor.long_number(), cursor.number()
    keys = cursor.nullable_lengths()
    values = cursor.nullable_lengths()
    headers = header_column(cursor)
    sound = (length > 0) & (body + length == layout.end) & (cursor.at == layout.end)
    if headers is None or text.faults.any() or not sound.all() or _is_far(time_delta):
        return None
    offsets = _per_record(layout, [each.base_offset for each in layout.headers]) + offset_delta
    if not _rising(layout, offsets):
        return None
    times = _per_record(layout, [each.base_timestamp for each in layout.headers]) + time_delta
    stamped = [bool(each.attributes & _LOG_APPEND_TIME) for each in layout.headers]
    if any(stamped):
        stamps = _per_record(layout, [each.max_timestamp for each in layout.headers])
        times = np.where(np.repeat(stamped, layout.counts), stamps, times)
    columns = [
        array_of(pa.int64(), offsets),
        array_of(pa.int64(), times),
        _binary(text, *keys),
        _binary(text, *values),
        headers,
    ]
    found = pa.RecordBatch.from_arrays(columns, schema=SCHEMA)
    early = int(np.count_nonzero(offsets < offset))
    return found.slice(early) if early else found


def _binary(text: Text, start: Longs, size: Longs) -> pa.Array:
    missing: Mask = size < 0
    if missing.any():
        return cut(text, start, np.maximum(size, 0), pa.binary(), missing)
    return cut(text, start, size, pa.binary())


def _per_record(layout: _Layout, numbers: list[int]) -> Longs:
    found: Longs = np.repeat(np.array(numbers, np.int64), layout.counts)
    return found


def _is_far(delta: Longs) -> bool:
    return bool(((delta > _FAR) | (delta < -_FAR)).any())


def _rising(layout: _Layout, offsets: Longs) -> bool:
    """Offsets rise, and stay within their batch; and batches follow one another."""
    last = _per_record(layout, [each.last_offset for each in layout.headers])
    first = _per_record(layout, [each.base_offset for each in layout.headers])
    within = (offsets >= first) & (offsets <= last)
    return bool(within.all() and (offsets[1:] > offsets[:-1]).all())


def _one_by_one(records: Iterable[Record]) -> pa.RecordBatch:
    found = list(records)
    rows = [
        (offset, time, key, value, readable(headers)) for offset, time, key, value, headers in found
    ]
    columns = zip(*rows, strict=True) if rows else [()] * len(SCHEMA)
    try:
        arrays = [pa.array(each, kind) for each, kind in zip(columns, SCHEMA.types, strict=True)]
    except (OverflowError, pa.ArrowInvalid) as error:
        raise KafkaError(
            ErrorCode.CORRUPT_MESSAGE, f"a batch holds a number beyond 64 bits: {error}"
        ) from None
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)
