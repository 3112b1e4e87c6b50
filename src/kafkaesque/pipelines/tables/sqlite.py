"""A table in a file of SQLite.

The file is in WAL mode, so that readers and the writer do not wait for each other, and each commit
is synced: an offset may be committed to the cluster right after it, and must not be ahead of the
table after a power cut. Times are kept as ISO 8601 text in UTC, JSON as text.

Keeps store.py. Above: table.py. Below: batch.py, statements.py.
"""

import sqlite3
from collections.abc import Callable, Sequence
from datetime import datetime
from operator import itemgetter
from typing import Any, TypeVar

from kafkaesque.pipelines.tables.batch import Batch
from kafkaesque.pipelines.tables.columns import ColumnType
from kafkaesque.pipelines.tables.errors import DatabaseAwayError, TableError
from kafkaesque.pipelines.tables.statements import OWN, add_column, create_table, quoted, upsert

T = TypeVar("T")
BUSY_TIMEOUT_S = 30.0

# The word TEXT gives a column the affinity of one: nothing in it turns into a number.
_SQL_TYPES: dict[ColumnType, str] = {
    "text": "TEXT",
    "bigint": "BIGINT",
    "double": "DOUBLE",
    "boolean": "BOOLEAN",
    "timestamp": "TIMESTAMP TEXT",
    "json": "JSON TEXT",
}
_TYPES: dict[str, ColumnType] = {name: kind for kind, name in _SQL_TYPES.items()}
_TYPES |= {"INT": "bigint", "INTEGER": "bigint", "REAL": "double"}


class SqliteStore:
    def __init__(self, target: str, table: str) -> None:
        path = target.removeprefix("sqlite:///")
        if path == target or not path:
            raise TableError(
                f"{target!r} names no file: sqlite:///here.db, or sqlite:////tmp/there.db"
            )
        self.target = target
        self._table = table
        try:
            # table.py lets in one thread at a time.
            self._connection = sqlite3.connect(
                path, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False
            )
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = FULL")
        except sqlite3.Error as error:
            raise self._said(error) from error

    def run(self, work: Callable[[], T]) -> T:
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            done = work()
            self._connection.execute("COMMIT")
            return done
        except sqlite3.Error as error:
            raise self._said(error) from error
        finally:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")

    def columns(self) -> dict[str, ColumnType]:
        known: dict[str, ColumnType] = {}
        rows = self._connection.execute(f"PRAGMA table_info({quoted(self._table)})")
        for _, name, sql_type, *_ in rows:
            if sql_type.upper() not in _TYPES:
                raise TableError(
                    f"{self.target}: column {name!r} of table {self._table!r} is of type "
                    f"{sql_type or 'nothing'}, which cannot be written: {', '.join(_TYPES)} can"
                )
            known[name] = _TYPES[sql_type.upper()]
        return known

    def create(self, key: str, key_type: ColumnType) -> None:
        types = {name: _SQL_TYPES[kind] for name, kind in {**OWN, key: key_type}.items()}
        self._connection.execute(create_table(self._table, key, types, " WITHOUT ROWID"))

    def add(self, name: str, column_type: ColumnType) -> None:
        for there in self.columns():
            if there == name:
                return
            if there.lower() == name.lower():
                raise TableError(
                    f"{self.target}: the fields {name!r} and {there!r} differ in case alone, which "
                    "is one column to SQLite: give one of them another name before it is written"
                )
        sql_type = _SQL_TYPES[column_type]
        self._connection.execute(add_column(self._table, name, sql_type, unless_there=False))

    def write(self, batch: Batch) -> int:
        marks = ", ".join("?" * len(batch.names))
        statement = upsert(self._table, batch.names[0], batch.names, f"VALUES ({marks})")
        # In the order of the key, neighbours go to the same page of the file.
        rows = sorted(batch.rows, key=itemgetter(0))
        times = [place for place, kind in enumerate(batch.types) if kind == "timestamp"]
        stored = (_with_texts(row, times) for row in rows) if times else rows
        return self._connection.executemany(statement, stored).rowcount

    def close(self) -> None:
        self._connection.close()

    def _said(self, error: sqlite3.Error) -> TableError:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
        if isinstance(error, sqlite3.OperationalError) and code != sqlite3.SQLITE_ERROR:
            return DatabaseAwayError(
                f"{self.target}: {error}: see that the directory is there and may be written to, "
                "that the disk has room, and that no other program holds the file"
            )
        return TableError(f"{self.target}: SQLite refuses: {error}")


def _with_texts(row: tuple[Any, ...], times: Sequence[int]) -> list[Any]:
    values = list(row)
    for place in times:
        values[place] = _time_text(values[place])
    return values


def _time_text(time: datetime | None) -> str | None:
    """With microseconds always, so that the texts sort as the times do."""
    return None if time is None else time.isoformat(timespec="microseconds")
