"""Shelves: where events go that fall off the old end of a bounded topic.

    x.csv      partition,offset,timestamp,key,value: one topic, or one file each with {topic} in the
               name. Text is quoted, numbers are not, nothing is nothing
    x.sqlite   table `stale`: topic, partition, offset, timestamp, key, value

A value is text or a number; lists, dicts and booleans are their JSON text. SQLite keeps bytes as a
blob; in CSV, bytes that are not UTF-8 are a `data:` URI, so that pandas reads every file. `add`
returns when the rows are written, on disk if the log is too; what is there already is not added
again: after a crash the log may hold it still. Blocking: for a thread. Above: bounds.py.
"""

import json
import os
import re
import sqlite3
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from io import RawIOBase
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from kafkaesque.event import Event

_COLUMNS = "partition,offset,timestamp,key,value\n"
_FIELD = re.compile(r'("[^"]*(?:""[^"]*)*"|[^",\r\n]*)(,|\r?\n)')
_DATA_URI = "data:;base64,"
_INT64 = range(-(1 << 63), 1 << 63)


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

    def add(self, events: Sequence[Event]) -> None:
        """Put events of one partition away, oldest first."""

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
        self._seen: set[tuple[str, int]] = set()

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

    def add(self, events: Sequence[Event]) -> None:
        if not events:
            return
        path = self._file(events[0].topic)
        known = self._known(path, events[0])
        lines = [
            ",".join(map(_csv_cell, _cells(event))) + "\n"
            for event in events
            if (event.offset, event.timestamp) not in known
        ]
        with path.open("ab", buffering=0) as file:
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

    def _known(self, path: Path, first: Event) -> set[tuple[int, int]]:
        """What a crash may have left both here and in the log: asked once for each partition."""
        if not self._is_durable or (first.topic, first.partition) in self._seen:
            return set()
        self._seen.add((first.topic, first.partition))
        rows = _rows(path) if path.exists() else ()
        return {
            (row.offset, row.timestamp)
            for row in rows
            if row.partition == first.partition and row.offset >= first.offset
        }

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
            database.execute(
                "CREATE TABLE IF NOT EXISTS stale (topic TEXT, partition INTEGER, offset INTEGER, "
                "timestamp INTEGER, key, value, PRIMARY KEY (topic, partition, offset, timestamp))"
            )
            if not self._is_durable and database.execute("SELECT 1 FROM stale").fetchone():
                raise _earlier_run(self._path)
        self._checked = True

    def add(self, events: Sequence[Event]) -> None:
        rows = [(event.topic, *_cells(event)) for event in events]
        with closing(sqlite3.connect(self._path)) as database, database:
            database.executemany("INSERT OR IGNORE INTO stale VALUES (?, ?, ?, ?, ?, ?)", rows)

    def rows(self, topic: str) -> list[StaleEvent]:
        query = (
            "SELECT partition, offset, timestamp, key, value FROM stale WHERE topic = ? "
            "ORDER BY rowid"
        )
        if not self._checked:
            return []
        with closing(sqlite3.connect(self._path)) as database:
            return [StaleEvent(*row) for row in database.execute(query, (topic,))]


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


def _write(file: RawIOBase, data: bytes) -> None:
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
