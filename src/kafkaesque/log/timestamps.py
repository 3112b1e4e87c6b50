"""Looking records up by their timestamps: what ListOffsets asks of a log.

The time index narrows the search to an index interval, headers to one batch, and only that batch is
opened. May wait for the disk. Batches whose headers promise what their records do not hold make it
long: a search goes in steps, a header or the head of a record each, and can be given up between
them.
Above: log.py. Below: the segments of store.py.
"""

from collections.abc import Generator, Iterator, Sequence
from typing import TypeAlias

from kafkaesque.log.store import Segment
from kafkaesque.records.batch import (
    NO_TIMESTAMP,
    BatchHeader,
    Head,
    heads_in,
    payload_view,
    read_header,
)
from kafkaesque.records.compression import TooLargeError

Search: TypeAlias = Generator[bool, None, tuple[int, int] | None]
"""(offset, timestamp) of a record, in the end. Between its steps, whether no batch is open."""

MAX_UNPACKED_BYTES = 64 << 20
"""What a batch may unpack to (`most`): one that comes to more raises TooLargeError."""


def first_at_or_after(
    segments: Sequence[Segment], timestamp: int, start: int, limit: int, most: int
) -> Search:
    """(offset, timestamp) of the first record in [start, limit) not older than `timestamp`."""
    for segment in segments:
        if segment.next_offset <= start or segment.latest()[0] < timestamp:
            continue
        found = yield from _first_in(segment, timestamp, start, limit, most)
        if found is not None:
            return found
    return None


def _first_in(segment: Segment, timestamp: int, start: int, limit: int, most: int) -> Search:
    from_offset = max(start, segment.older_than(timestamp))
    for position, header in _below(segment.headers(from_offset), limit):
        yield True
        if header.max_timestamp < timestamp:
            continue
        heads = _heads(segment, position, header, most)
        found = yield from _first_of(heads, timestamp, start, limit)
        if found is not None:
            return found
    return None


def _first_of(heads: Iterator[Head], timestamp: int, start: int, limit: int) -> Search:
    for head in heads:
        yield False
        if head.timestamp >= timestamp and start <= head.offset < limit:
            return head.offset, head.timestamp
    return None


def latest(segments: Sequence[Segment], start: int, limit: int, most: int) -> Search:
    """(offset, timestamp) of the first of the newest records in [start, limit)."""
    times: list[tuple[int, Segment]] = []
    for segment in segments:
        newest = yield from _latest_in(segment, start, limit, most)
        times.append((newest, segment))
    while times and (best := max(times, key=lambda time: time[0]))[0] > NO_TIMESTAMP:
        timestamp, segment = best
        found = yield from _first_in(segment, timestamp, start, limit, most)
        if found is not None:
            return found
        # A batch that compaction has emptied keeps its time: look for one that has records.
        times.remove(best)
        timestamp = yield from _latest_with_records(segment, timestamp, start, limit, most)
        times.append((timestamp, segment))
    return None


def _latest_with_records(
    segment: Segment, below: int, start: int, limit: int, most: int
) -> Generator[bool, None, int]:
    newest = NO_TIMESTAMP
    for position, header in _below(segment.headers(start), limit):
        yield True
        if header.count and header.max_timestamp < below:
            latest_of = yield from _latest_of(segment, position, header, start, most)
            newest = max(newest, latest_of)
    return newest


def _latest_in(segment: Segment, start: int, limit: int, most: int) -> Generator[bool, None, int]:
    timestamp, offset = segment.latest()
    from_offset = start
    if start <= segment.base_offset:
        if offset < limit:
            return timestamp if segment.size else NO_TIMESTAMP
        # Mostly the newest record is the last one, and not flushed yet: look only behind the index.
        timestamp, from_offset = segment.latest_before(limit)
    else:
        timestamp = NO_TIMESTAMP
    for position, header in _below(segment.headers(from_offset), limit):
        yield True
        if header.max_timestamp > timestamp:
            latest_of = yield from _latest_of(segment, position, header, start, most)
            timestamp = max(timestamp, latest_of)
    return timestamp


def _latest_of(
    segment: Segment, position: int, header: BatchHeader, start: int, most: int
) -> Generator[bool, None, int]:
    """Deleted records may share a batch with the first that is not: they do not count."""
    if header.base_offset >= start:
        return header.max_timestamp
    newest = NO_TIMESTAMP
    for head in _heads(segment, position, header, most):
        yield False
        if head.offset >= start:
            newest = max(newest, head.timestamp)
    return newest


def _heads(segment: Segment, position: int, header: BatchHeader, most: int) -> Iterator[Head]:
    if header.size > most < MAX_UNPACKED_BYTES:
        # Nor may it be read. What is not packed may be larger than what unpacks.
        raise TooLargeError(f"a batch of {header.size} bytes")
    batch = segment.batch(position, header.size)
    data = payload_view(batch, read_header(batch), most)
    return heads_in(data, header)


def _below(
    headers: Iterator[tuple[int, BatchHeader]], limit: int
) -> Iterator[tuple[int, BatchHeader]]:
    for position, header in headers:
        if header.base_offset >= limit:
            return
        yield position, header
