"""Compaction: of each key the last record stays, at its offset. One pass over a log, as pure rules.

A pass reads a log's segments twice. `map_keys` goes through what is dirty and notes the last place
of every key. `clean` then goes through all of it, batch by batch:

    below the dirty part    a record goes if its key is in the map: there is a later one
    in the dirty part       a record stays if its place is in the map; no key is read again, and a
                            batch without such a place is not even opened
    beyond what is mapped   (the map was full) everything stays

- A tombstone stays until its batch's delete horizon: `delete_retention_ms` after the pass that
  first kept it, written as Kafka does, into the base timestamp. Where a record lies too far from
  that for a delta of 64 bits, the batch gets no horizon, and its tombstones stay.
- Records of aborted transactions go. A marker that nothing is left of gets a horizon, then goes.
- A batch keeps its first and last offset, sequence, codec and timestamps. One that loses nothing
  is kept byte for byte. One that loses everything stays as a header while a producer's state is
  read from it, and at the end of a segment: so that the log says where each segment ends.
- A batch that cannot be read is left alone, and counted.

Above: compact.py (segments in files), memory.py. Below: record_walk.py, compaction_transactions.py.
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from kafkaesque.errors import KafkaError
from kafkaesque.log.compaction_transactions import TransactionsPassed
from kafkaesque.log.record_walk import Latest, Span, note_keys, retimed, spans, timestamp
from kafkaesque.records.batch import (
    DELETE_HORIZON,
    HEADER_SIZE,
    NO_TIMESTAMP,
    BatchHeader,
    assemble,
    crc_matches,
)
from kafkaesque.records.compression import Codec, compress, decompress
from kafkaesque.records.control import Marker, read_marker
from kafkaesque.records.record import MAX_TIMESTAMP, MIN_TIMESTAMP
from kafkaesque.types import Buffer

BYTES_PER_KEY = 208
"""What the map takes for a key at most: an entry of the dict just after it has grown, the key or
its digest, the place, and a reference for the sorted places. 136 to 201 were measured."""

_CODEC = 0x07

Batch: TypeAlias = tuple[bytes, int, BatchHeader]
"""Where a batch lies: in these bytes, from this position on; and its header."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What one pass goes by. Offsets below `first_dirty` were compacted before."""

    first_dirty: int
    now_ms: int
    delete_retention_ms: int
    max_keys: int
    aborted: Sequence[bytes] = ()
    """The transactions that were, in the order of their markers: producer id, first offset and
    marker of each as i64, some to a part. There may be others that end before the segments, or
    begin after them.
    """
    producers: Mapping[int, bytes] = field(default_factory=dict)
    """The state of each (producer_state.py), by id. Where it is later than the segments, it is read
    from a header after them.
    """


@dataclass(slots=True)
class Figures:
    """What a pass has done."""

    keys: int = 0
    batches: int = 0
    batches_kept: int = 0
    records: int = 0
    records_kept: int = 0
    unreadable: int = 0


class Source(Protocol):
    """A segment to be read."""

    @property
    def base_offset(self) -> int: ...

    @property
    def next_offset(self) -> int: ...

    def batches(self) -> Iterator[Batch]: ...


class Compaction:
    """A pass: `map_keys` to its end, then `clean` for each of `to_clean`, in order."""

    def __init__(self, rules: Rules, sources: Sequence[Source]) -> None:
        self.figures = Figures()
        self.mapped_end = max(rules.first_dirty, sources[-1].next_offset)
        """Up to here the pass has brought the log; valid once the keys are mapped."""
        self.is_changed = False
        """After `clean`: whether any batch is gone or written differently."""
        self.ended_aborts: list[int] = []
        """Offsets of the markers of aborted transactions that are gone now."""
        self._rules = rules
        self._sources = sources
        self._latest: Latest = {}
        self._places: list[int] = []
        self._unreadable: set[int] = set()
        self._gone: BatchHeader | None = None
        self._transactions = TransactionsPassed(rules.producers)

    def map_keys(self) -> Iterator[None]:
        """Note the last place of each key. Yields after each batch, for whoever shares its time."""
        for aborted in self._rules.aborted:
            self._transactions.know(aborted)
            yield
        first_dirty, full_at = self._rules.first_dirty, None
        is_first = True
        for source in self._sources:
            if source.next_offset <= first_dirty:
                continue
            for data, at, header in source.batches():
                if len(self._latest) >= self._rules.max_keys:
                    full_at = header.base_offset if is_first else source.base_offset
                    break
                if header.last_offset >= first_dirty:
                    self._map(data, at, header)
                yield
            if full_at is not None:
                self.mapped_end = full_at
                break
            is_first = False
        self._places = sorted(self._latest.values())
        self.figures.keys = len(self._latest)

    def _map(self, data: bytes, at: int, header: BatchHeader) -> None:
        if not header.count or header.is_control or self._transactions.is_aborted(header):
            return
        opened = _opened(data, at, header)
        # Not into the map at once: a batch that turns out unreadable must supersede nothing.
        latest: Latest = {}
        try:
            if opened is None:
                self._unreadable.add(header.base_offset)
            else:
                note_keys(*opened, header, latest)
                self._latest.update(latest)
        except KafkaError:
            self._unreadable.add(header.base_offset)

    @property
    def to_clean(self) -> list[Source]:
        return [source for source in self._sources if source.base_offset < self.mapped_end]

    def clean(self, source: Source) -> Iterator[Buffer | None]:
        """For each batch of a segment what is left of it; None: nothing."""
        self._gone, self.is_changed = None, False
        for data, at, header in source.batches():
            # An empty batch at the end comes back as the end mark: that alone is no change.
            self.is_changed |= self._gone is not None
            kept = self._cleaned(data, at, header)
            self._gone = header if kept is None else None
            self.is_changed |= kept is None and header.count > 0
            self.figures.batches += 1
            self.figures.records += header.count
            self.figures.batches_kept += kept is not None
            yield kept

    @property
    def end_mark(self) -> bytes | None:
        """After `clean`: the header to end the segment with, if its last batch is gone."""
        return None if self._gone is None else bytes(_empty(self._gone))

    def _cleaned(self, data: bytes, at: int, header: BatchHeader) -> Buffer | None:
        is_over = header.is_control and self._transactions.ended(header)
        if not header.is_control:
            self._transactions.passed(header)
        if header.base_offset >= self.mapped_end:
            return self._whole(data, at, header)
        is_needed = self._transactions.is_needed(header)
        if not header.count:
            return self._whole(data, at, header) if is_needed else None
        try:
            kept = self._left_of(data, at, header, is_over and not is_needed)
        except KafkaError:
            kept = self._left_alone(data, at, header)
        if kept is None and is_needed:
            self.is_changed = True
            return _empty(header)
        return kept

    def _left_of(self, data: bytes, at: int, header: BatchHeader, may_go: bool) -> Buffer | None:
        """What is left of a batch that has records; `may_go` is about markers."""
        if header.is_control:
            return self._marker(data, at, header, may_go)
        if self._transactions.is_aborted(header):
            return None
        if header.last_offset < self._rules.first_dirty:
            return self._without_superseded(data, at, header)
        return self._last_places(data, at, header)

    def _whole(self, data: bytes, at: int, header: BatchHeader) -> Buffer:
        self.figures.records_kept += header.count
        return memoryview(data)[at : at + header.size]

    def _marker(self, data: bytes, at: int, header: BatchHeader, may_go: bool) -> Buffer | None:
        """`may_go`: nothing is left of the transaction that it ends, and nobody needs it."""
        marker = read_marker(data, at) if crc_matches(data, at, header) else None
        if not may_go or marker is None:
            return self._whole(data, at, header)
        if not header.has_delete_horizon:
            _, start, end = _plain(data, at, header)
            return self._with_horizon(data, at, header, data, [(start, end)])
        if not self._is_past_horizon(header):
            return self._whole(data, at, header)
        if marker is Marker.ABORT:
            self.ended_aborts.append(header.base_offset)
        return None

    def _is_past_horizon(self, header: BatchHeader) -> bool:
        return header.has_delete_horizon and header.base_timestamp <= self._rules.now_ms

    def _without_superseded(self, data: bytes, at: int, header: BatchHeader) -> Buffer | None:
        """What is left of a batch that was compacted before."""
        opened = _opened(data, at, header)
        if opened is None:
            return self._left_alone(data, at, header)
        latest, drops_tombstones = self._latest, self._is_past_horizon(header)
        kept = [
            span
            for span in spans(*opened, header)
            if span[3] is not None and span[3] not in latest and not (drops_tombstones and span[4])
        ]
        return self._reduced(data, at, header, opened[0], kept)

    def _last_places(self, data: bytes, at: int, header: BatchHeader) -> Buffer | None:
        """What is left of a batch whose keys were mapped."""
        if header.base_offset in self._unreadable:
            return self._left_alone(data, at, header)
        places = self._places
        first = bisect_left(places, 2 * header.base_offset)
        end = bisect_left(places, 2 * header.next_offset, first)
        if first == end:
            return None
        wanted = set(places[first:end])
        has_tombstones = any(place & 1 for place in wanted)
        if len(wanted) == header.count and not has_tombstones:
            return self._whole(data, at, header)
        opened = _opened(data, at, header)
        assert opened is not None
        drops_tombstones = self._is_past_horizon(header)
        kept = [
            span
            for span in spans(*opened, header)
            if 2 * span[0] + span[4] in wanted and not (drops_tombstones and span[4])
        ]
        return self._reduced(data, at, header, opened[0], kept)

    def _left_alone(self, data: bytes, at: int, header: BatchHeader) -> Buffer:
        self.figures.unreadable += 1
        return self._whole(data, at, header)

    def _reduced(
        self, data: bytes, at: int, header: BatchHeader, unpacked: bytes, kept: list[Span]
    ) -> Buffer | None:
        """A batch with no more than these records."""
        if not kept:
            return None
        places = [(span[1], span[2]) for span in kept]
        if not header.has_delete_horizon and any(span[4] for span in kept):
            return self._with_horizon(data, at, header, unpacked, places)
        if len(kept) == header.count:
            return self._whole(data, at, header)
        return self._rewritten(header, unpacked, places, _times(header, unpacked, places))

    def _with_horizon(
        self,
        data: bytes,
        at: int,
        header: BatchHeader,
        unpacked: bytes,
        places: Sequence[tuple[int, int]],
    ) -> Buffer:
        """A batch of the records at these places, and from when on its tombstones may go."""
        horizon = min(self._rules.now_ms + self._rules.delete_retention_ms, MAX_TIMESTAMP)
        times = _times(header, unpacked, places)
        if all(MIN_TIMESTAMP <= time - horizon <= MAX_TIMESTAMP for time in times):
            return self._rewritten(header, unpacked, places, times, horizon)
        if len(places) == header.count:
            return self._whole(data, at, header)
        return self._rewritten(header, unpacked, places, times)

    def _rewritten(
        self,
        header: BatchHeader,
        data: bytes,
        places: Sequence[tuple[int, int]],
        times: Sequence[int],
        horizon: int | None = None,
    ) -> bytearray:
        """A batch of some of its records, or with a delete horizon, in its own codec."""
        records = [data[start:end] for start, end in places]
        changes = {"count": len(places)}
        if times:
            changes["max_timestamp"] = max(times)
        if horizon is not None:
            changes["base_timestamp"] = horizon
            changes["attributes"] = header.attributes | DELETE_HORIZON
            if times:
                records = [
                    retimed(data, start, end, time - horizon)
                    for (start, end), time in zip(places, times, strict=True)
                ]
        batch = assemble(header._replace(**changes), compress(header.codec, b"".join(records)))
        self.is_changed = True
        self.figures.records_kept += len(places)
        return batch


def _times(header: BatchHeader, data: bytes, places: Sequence[tuple[int, int]]) -> list[int]:
    """None where the broker's own time stands in the header: there, deltas mean nothing."""
    if header.is_log_append_time:
        return []
    return [timestamp(data, start, header.base_timestamp) for start, _ in places]


def _opened(data: bytes, at: int, header: BatchHeader) -> tuple[bytes, int, int] | None:
    """The records of a batch, unpacked: these bytes, from here to there. None: unreadable."""
    if not crc_matches(data, at, header):
        return None
    if header.attributes & _CODEC == Codec.NONE:
        return _plain(data, at, header)
    try:
        payload = memoryview(data)[at + HEADER_SIZE : at + header.size]
        unpacked = decompress(header.codec, payload)
    except KafkaError:
        return None
    return unpacked, 0, len(unpacked)


def _plain(data: bytes, at: int, header: BatchHeader) -> tuple[bytes, int, int]:
    return data, at + HEADER_SIZE, at + header.size


def _empty(header: BatchHeader) -> bytearray:
    """A batch without records: offsets, sequence, time and kind are those it had."""
    attributes = header.attributes & ~(DELETE_HORIZON | _CODEC)
    empty = header._replace(count=0, base_timestamp=NO_TIMESTAMP, attributes=attributes)
    return assemble(empty, b"")
