"""Shelves: where events go that fall off the old end of a bounded topic.

    x.csv      partition,offset,timestamp,key,value: one topic, or one file each with {topic} in the
               name. Text is quoted, numbers are not, nothing is nothing
    x.sqlite   table `stale`: topic, partition, offset, timestamp, key, value

Rows do not say whose they are when a topic was deleted and another has its name: offsets begin at
0 again, and clients may choose the same timestamps. What does, by the topic's id:

    x.csv.topic   JSON {topic_id, rows_before}: this topic's rows follow so many of older ones. It
                  is written before the first of them, and only if the log is on disk
    x.sqlite      table `shelved`: topic, partition, topic_id, next_offset; written with the rows

Files that were made before there were ids have neither. In these, a row that is the same in all
its columns is taken for the event's own.

A value is text or a number; lists, dicts and booleans are their JSON text. SQLite keeps bytes as a
blob; in CSV, bytes that are not UTF-8 are a `data:` URI, so that pandas reads every file. `add`
returns when the rows are written, on disk if the log is too; what is there already is not added
again: after a crash, or an error, the log may hold it still. Blocking: for a thread, and for one
at a time. Above: bounds.py.
"""

import json
import os
import re
import sqlite3
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Sequence, Set
from contextlib import closing
from io import FileIO
from itertools import dropwhile, islice
from pathlib import Path
from typing import Any, NamedTuple, Protocol
from uuid import UUID

from kafkaesque.event import Event
from kafkaesque.log.files import OsFiles, write_atomically

_COLUMNS = "partition,offset,timestamp,key,value\n"
_FIELD = re.compile(r'("[^"]*(?:""[^"]*)*"|[^",\r\n]*)(,|\r?\n)')
_DATA_URI = "data:;base64,"
_INT64 = range(-(1 << 63), 1 << 63)

_STALE = "(topic TEXT, partition INTEGER, offset INTEGER, timestamp INTEGER, key, value)"
_SHELVED = (
    "(topic TEXT, partition INTEGER, topic_id TEXT, next_offset INTEGER, "
    "PRIMARY KEY (topic, partition))"
)


class StaleEvent(NamedTuple):
    """A row of a shelf."""

    partition: int
    offset: int
    timestamp: int
    key: Any
    value: Any


class Shelf(Protocol):
    """The two kinds of shelf."""

    def check_topic(self, topic: str) -> None:
        """Raises ValueError if this topic's events have no place here."""

    def add(self, topic_id: UUID, events: Sequence[Event]) -> None:
        """Put events of one partition away, oldest first. Once it has some of a topic, it takes
        none of an older one of that name.
        """

    def rows(self, topic: str) -> list[StaleEvent]: ...


def open_shelf(path: Path, is_durable: bool) -> Shelf:
    """By the suffix: .csv, .sqlite or .db. `is_durable`: the log outlives the process."""
    if path.suffix == ".csv":
        return CsvShelf(path, is_durable)
    if path.suffix in (".sqlite", ".sqlite3", ".db"):
        return SqliteShelf(path, is_durable)
    raise ValueError(f"stale={str(path)!r}: name a file that ends in .csv or .sqlite")


def _earlier_run(path: Path) -> ValueError:
    return ValueError(
        f"{path} holds events of an earlier run, and offsets in memory begin at 0 again: move it "
        "away, or keep the log too, with Kafkaesque(directory, …)"
    )


class CsvShelf:
    """One file per topic."""

    def __init__(self, path: Path, is_durable: bool) -> None:
        self._path = path
        self._is_durable = is_durable
        self._topics: dict[Path, str] = {}
        self._next_offsets: dict[tuple[UUID, int], int] = {}
        self._left_by_crash: dict[tuple[UUID, int], Set[str]] = {}

    def check_topic(self, topic: str) -> None:
        path = self._file(topic)
        if path not in self._topics:
            if path.exists():
                self._mend(path)
                if not self._is_durable and any(True for _ in _rows(path)):
                    raise _earlier_run(path)
            self._topics[path] = topic
        if self._topics[path] != topic:
            raise ValueError(
                f"{path} holds the events of {self._topics[path]}, {topic} needs another file: "
                f"say stale='{path.stem}-{{topic}}.csv' for one each, or 'x.sqlite' for one in all"
            )

    def add(self, topic_id: UUID, events: Sequence[Event]) -> None:
        if not events:
            return
        path = self._file(events[0].topic)
        partition = (topic_id, events[0].partition)
        with path.open("ab", buffering=0) as file:
            lines = self._lacking(path, topic_id, events)
            if self._is_durable and not file.tell():
                # Who has moved the rows away has not changed the note.
                self._rows_before(path, topic_id)
            self._append(file, lines)
        if lines:
            # A crash leaves the oldest: after one that was lacking, all were.
            self._left_by_crash[partition] = frozenset()
            self._next_offsets[partition] = events[-1].offset + 1

    def _append(self, file: FileIO, lines: list[str]) -> None:
        size = file.tell()
        text = "".join(lines if size else [_COLUMNS, *lines])
        try:
            _write(file, text.encode())
            if self._is_durable:
                os.fsync(file.fileno())
        except OSError:
            file.truncate(size)  # The events stay in the log, and come again.
            raise

    def rows(self, topic: str) -> list[StaleEvent]:
        path = self._file(topic)
        if self._topics.get(path) != topic or not path.exists():
            return []
        return list(_rows(path))

    def _file(self, topic: str) -> Path:
        return Path(str(self._path).replace("{topic}", topic))

    def _lacking(self, path: Path, topic_id: UUID, events: Sequence[Event]) -> list[str]:
        """The lines of events that are not there."""
        partition = (topic_id, events[0].partition)
        if partition not in self._left_by_crash:
            self._left_by_crash[partition] = self._shelved(path, topic_id, events[0])
        start = self._next_offsets.get(partition, events[0].offset)
        lines = [_line(_cells(event)) for event in events if event.offset >= start]
        return list(dropwhile(self._left_by_crash[partition].__contains__, lines))

    def _shelved(self, path: Path, topic_id: UUID, first: Event) -> Set[str]:
        """The lines of what a crash may have left both here and in the log."""
        if not self._is_durable:
            return frozenset()
        rows = islice(_rows(path), self._rows_before(path, topic_id), None)
        return {
            _line(row)
            for row in rows
            if row.partition == first.partition and row.offset >= first.offset
        }

    def _rows_before(self, path: Path, topic_id: UUID) -> int:
        """How many rows there are of older topics; noted if it is not yet."""
        note = path.with_name(path.name + ".topic").absolute()
        noted = json.loads(note.read_bytes()) if note.exists() else None
        # Who has moved the rows away may have left the note.
        if noted and noted["topic_id"] == str(topic_id) and path.stat().st_size:
            return int(noted["rows_before"])
        # Without a note there was no id: any row may be of this topic.
        count = sum(1 for _ in _rows(path)) if noted else 0
        text = json.dumps({"topic_id": str(topic_id), "rows_before": count})
        # It makes durable, too, that the file of the rows is there.
        write_atomically(OsFiles(), str(note), text.encode())
        return count

    def _mend(self, path: Path) -> None:
        """Cut off a row that a crash left unfinished: its event is still in the log."""
        text = _text(path)
        end = 0
        for match in _fields(text):
            if match[2] != ",":
                end = match.end()
        if end < len(text):
            size = len(text[:end].encode(errors="surrogateescape"))
            os.truncate(path, size)


class SqliteShelf:
    """One table for all topics."""

    def __init__(self, path: Path, is_durable: bool) -> None:
        self._path = path
        self._is_durable = is_durable
        self._checked = False

    def check_topic(self, topic: str) -> None:
        if self._checked:
            return
        with closing(sqlite3.connect(self._path)) as database, database:
            database.execute(f"CREATE TABLE IF NOT EXISTS stale {_STALE}")
            database.execute(f"CREATE TABLE IF NOT EXISTS shelved {_SHELVED}")
            if not self._is_durable and database.execute("SELECT 1 FROM stale").fetchone():
                raise _earlier_run(self._path)
        self._checked = True

    def add(self, topic_id: UUID, events: Sequence[Event]) -> None:
        if not events:
            return
        with closing(sqlite3.connect(self._path)) as database, database:
            _drop_primary_key(database)
            database.execute(
                "CREATE INDEX IF NOT EXISTS stale_by_offset ON stale (topic, partition, offset)"
            )
            database.execute("BEGIN IMMEDIATE")
            start, known = self._shelved(database, topic_id, events)
            cells = [_cells(event) for event in events if event.offset >= start]
            lacking = list(dropwhile(known.__contains__, cells))
            if lacking:
                self._insert(database, topic_id, events[-1], lacking)

    def _insert(
        self,
        database: sqlite3.Connection,
        topic_id: UUID,
        last: Event,
        cells: Iterable[tuple[Any, ...]],
    ) -> None:
        rows = [(last.topic, *row) for row in cells]
        database.executemany("INSERT INTO stale VALUES (?, ?, ?, ?, ?, ?)", rows)
        database.execute(
            "INSERT OR REPLACE INTO shelved VALUES (?, ?, ?, ?)",
            (last.topic, last.partition, str(topic_id), last.offset + 1),
        )

    def _shelved(
        self, database: sqlite3.Connection, topic_id: UUID, events: Sequence[Event]
    ) -> tuple[int, Set[tuple[Any, ...]]]:
        """The offset that comes next, and what of the rest is there already."""
        name = (events[0].topic, events[0].partition)
        first = events[0].offset
        noted = database.execute(
            "SELECT topic_id, next_offset FROM shelved WHERE topic = ? AND partition = ?", name
        ).fetchone()
        if noted:
            return noted[1] if noted[0] == str(topic_id) else first, frozenset()
        # Without a note there was no id: any row may be of this topic.
        rows = database.execute(
            "SELECT partition, offset, timestamp, key, value FROM stale "
            "WHERE topic = ? AND partition = ? AND offset BETWEEN ? AND ?",
            (*name, first, events[-1].offset),
        )
        return first, set(rows)

    def rows(self, topic: str) -> list[StaleEvent]:
        query = (
            "SELECT partition, offset, timestamp, key, value FROM stale WHERE topic = ? "
            "ORDER BY rowid"
        )
        if not self._checked:
            return []
        with closing(sqlite3.connect(self._path)) as database:
            return [StaleEvent(*row) for row in database.execute(query, (topic,))]


def _drop_primary_key(database: sqlite3.Connection) -> None:
    """Of a table that was made when topic, partition, offset and timestamp were a key."""
    key = [name for _, name, *_, place in database.execute("PRAGMA table_info(stale)") if place]
    if not key:
        return
    # Else a view of the table would keep the new one from taking its name.
    database.execute("PRAGMA legacy_alter_table = ON")
    database.execute("BEGIN IMMEDIATE")
    database.execute(f"CREATE TABLE keyless {_STALE}")
    database.execute("INSERT INTO keyless SELECT * FROM stale ORDER BY rowid")
    database.execute("DROP TABLE stale")
    database.execute("ALTER TABLE keyless RENAME TO stale")
    database.commit()


def _line(cells: Iterable[Any]) -> str:
    return ",".join(map(_csv_cell, cells)) + "\n"


def _cells(event: Event) -> tuple[Any, ...]:
    return (
        event.partition,
        event.offset,
        event.timestamp,
        _cell(event.key),
        _cell(event.value),
    )


def _cell(value: Any) -> Any:
    """A number, text, bytes or nothing."""
    if value is None or isinstance(value, float | bytes):
        return value
    if isinstance(value, int) and not isinstance(value, bool) and value in _INT64:
        return value
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    # Another client's JSON may spell half a surrogate pair, which no file can hold.
    return text if _is_writable(text) else json.dumps(value)


def _is_writable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _csv_cell(cell: str | bytes | float | None) -> str:
    if cell is None:
        return ""
    if not isinstance(cell, str | bytes):
        return json.dumps(cell)
    return '"' + _csv_text(cell).replace('"', '""') + '"'


def _csv_text(cell: str | bytes) -> str:
    text = _text_or_bytes(cell) if isinstance(cell, bytes) else cell
    if isinstance(text, bytes):
        return _data_uri(text)
    # pandas stops at a NUL; and a URI of ours is unmistakable.
    is_plain = "\0" not in text and not text.startswith(_DATA_URI)
    return text if is_plain else _data_uri(text.encode())


def _data_uri(data: bytes) -> str:
    return _DATA_URI + b64encode(data).decode()


def _rows(path: Path) -> Iterator[StaleEvent]:
    text = _text(path)
    row: list[Any] = []
    for match in _fields(text, text.find("\n") + 1):
        row.append(_parsed(match[1]))
        if match[2] != ",":
            yield StaleEvent(*row)
            row = []


def _text(path: Path) -> str:
    """The bytes as they are: a row that is just being written may end within a character."""
    return path.read_bytes().decode(errors="surrogateescape")


def _write(file: FileIO, data: bytes) -> None:
    """All of it: a raw write may take less than it is given."""
    rest = memoryview(data)
    while rest:
        rest = rest[file.write(rest) or 0 :]


def _fields(text: str, start: int = 0) -> Iterable[re.Match[str]]:
    while match := _FIELD.match(text, start):
        yield match
        start = match.end()


def _parsed(field: str) -> Any:
    if not field:
        return None
    if not field.startswith('"'):
        return json.loads(field)
    text = field[1:-1].replace('""', '"')
    if not text.startswith(_DATA_URI):
        return text
    data = b64decode(text.removeprefix(_DATA_URI))
    return _text_or_bytes(data)


def _text_or_bytes(data: bytes) -> str | bytes:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data
