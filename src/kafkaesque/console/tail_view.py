"""Which records of a live tail are shown, however fast they come. Pure, but for a lock.

    add (reader's thread) ──► filter ──► pending ──► changes (page, at most 10 a second) ──► shown
                        └──► recent

A browser gets at most `ROWS_PER_UPDATE` rows an update: what is too much is dropped from the view
and counted as skipped. The filter is a text, a condition (client/filters), or both. `recent` keeps
the last records whatever the filter, so that a new filter has something to look at. All of it is
bounded, in records and in bytes. With a reader of schemas both filters see what it decodes.
"""

import threading
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kafkaesque.client.filters import Predicate, Subject
from kafkaesque.client.record import Record
from kafkaesque.console.schema_reader import SchemaReader
from kafkaesque.records.record import Record as LoggedRecord

INTERVAL_S = 0.12
CAPACITY = 500
MAX_BYTES = 8 * 1024 * 1024
ROWS_PER_UPDATE = 100
NO_TIMESTAMP = -1


@dataclass(frozen=True, slots=True)
class Row:
    """A record by the number of its arrival."""

    number: int
    record: Record


@dataclass(frozen=True, slots=True)
class Counts:
    """`seen` = not matching the filter + shown at some time + `skipped`."""

    seen: int = 0
    matched: int = 0
    skipped: int = 0


@dataclass(frozen=True, slots=True)
class Changes:
    """New rows, the newest first, to put on top, or all there are; `kept` rows remain."""

    rows: list[Row]
    replace: bool
    kept: int
    counts: Counts


class Ring:
    """The last rows, so many and so many bytes at most."""

    def __init__(self, capacity: int, max_bytes: int) -> None:
        self.rows: deque[Row] = deque()
        self._capacity = capacity
        self._max_bytes = max_bytes
        self._bytes = 0

    def add(self, rows: Iterable[Row]) -> int:
        """How many old ones fell off."""
        fallen = 0
        for row in rows:
            self.rows.append(row)
            self._bytes += byte_size(row.record)
            # One record alone may be larger than the limit, and is shown all the same.
            while len(self.rows) > self._capacity or (
                self._bytes > self._max_bytes and len(self.rows) > 1
            ):
                self._bytes -= byte_size(self.rows.popleft().record)
                fallen += 1
        return fallen


class TailView:
    def __init__(
        self,
        capacity: int = CAPACITY,
        max_bytes: int = MAX_BYTES,
        rows_per_update: int = ROWS_PER_UPDATE,
        interval_s: float = INTERVAL_S,
        reader: SchemaReader | None = None,
    ) -> None:
        self._reader = reader
        self._limits = capacity, max_bytes
        self._per_update = rows_per_update
        self._interval_s = interval_s
        self._lock = threading.Lock()
        self._needle = ""
        self._predicate: Predicate | None = None
        self._recent, self._shown = self._ring(), self._ring()
        self._pending = self._pending_ring()
        self._seen = self._matched = self._skipped = 0
        self._changed = self._replace = False
        self._due_s = float("-inf")

    def add(self, records: Sequence[Record]) -> None:
        with self._lock:
            first = self._seen
            self._seen += len(records)
            rows = [Row(first + index, record) for index, record in enumerate(records)]
            matching = [row for row in rows if self._is_wanted(row.record)]
            self._recent.add(rows[-self._limits[0] :])
            self._matched += len(matching)
            shown = matching[-self._per_update :]
            self._skipped += len(matching) - len(shown) + self._pending.add(shown)
            self._changed = self._changed or bool(records)

    def skip(self, count: int) -> None:
        """So many that match were dropped before they came here."""
        with self._lock:
            self._seen += count
            self._matched += count
            self._skipped += count
            self._changed = True

    def filter(self, text: str) -> None:
        """Show only what contains the text from now on, and of what is still here."""
        with self._lock:
            self._needle = text.casefold()
            self._show_anew()

    def where(self, predicate: Predicate | None) -> None:
        """Show only what it is true of from now on, and of what is still here. None: of all."""
        with self._lock:
            self._predicate = predicate
            self._show_anew()

    def clear(self) -> None:
        with self._lock:
            self._recent, self._shown = self._ring(), self._ring()
            self._pending = self._pending_ring()
            self._seen = self._matched = self._skipped = 0
            self._changed = self._replace = True

    def changes(self, now_s: float) -> Changes | None:
        """What to draw now; None if nothing has changed, or it is too early."""
        with self._lock:
            if not self._changed or now_s < self._due_s:
                return None
            new = list(self._pending.rows)
            self._pending = self._pending_ring()
            self._shown.add(new)
            rows = list(self._shown.rows) if self._replace else new[-len(self._shown.rows) :]
            changes = Changes(rows[::-1], self._replace, len(self._shown.rows), self._counts())
            self._changed = self._replace = False
            self._due_s = now_s + self._interval_s
            return changes

    def find(self, number: int) -> Record | None:
        with self._lock:
            found = (row.record for row in self._shown.rows if row.number == number)
            return next(found, None)

    def _show_anew(self) -> None:
        known = {
            row.number: row
            for ring in (self._recent, self._shown, self._pending)
            for row in ring.rows
        }
        found = [row for _, row in sorted(known.items()) if self._is_wanted(row.record)]
        self._shown, self._pending = self._ring(), self._pending_ring()
        self._shown.add(found)
        self._changed = self._replace = True

    def _is_wanted(self, record: Record) -> bool:
        return matches(record, self._needle, self._reader) and (
            self._predicate is None or self._predicate.matches(subject_of(record, self._reader))
        )

    def _counts(self) -> Counts:
        return Counts(self._seen, self._matched, self._skipped)

    def _ring(self) -> Ring:
        return Ring(*self._limits)

    def _pending_ring(self) -> Ring:
        return Ring(self._per_update, self._limits[1])


def matches(record: Record, needle: str, reader: SchemaReader | None = None) -> bool:
    """Whether key or value contains the text, whatever its case. The needle is casefolded."""
    return not needle or any(
        part is not None and needle in _text(part, reader).casefold()
        for part in (record.key, record.value)
    )


def subject_of(record: Record, reader: SchemaReader | None = None) -> Subject:
    """The record as filters see it."""
    timestamp = NO_TIMESTAMP if record.timestamp_ms is None else record.timestamp_ms
    logged = LoggedRecord(record.offset, timestamp, record.key, record.value, record.headers)
    return Subject(record.topic, record.partition, logged, reader)


def _text(data: bytes, reader: SchemaReader | None) -> str:
    decoded = None if reader is None else reader.decoded(data)
    return data.decode(errors="replace") if decoded is None else decoded.line


def byte_size(record: Record) -> int:
    headers = sum(len(name) + len(value or b"") for name, value in record.headers)
    return len(record.key or b"") + len(record.value or b"") + headers
