"""A table in PostgreSQL or CockroachDB, by psycopg 3, which is imported when one is opened.

A batch goes in as one upsert: out of arrays, one for each column; or, when it is large and the
database is PostgreSQL, out of a temporary table that a binary COPY has filled. CockroachDB, known
by its version(), has no use for the table and no LOCK TABLE. Rows are upserted in the order of
their ids, so that two writers do not wait for each other; should the database stop one of them
(40001, 40P01), its work is done again.

A connection that breaks is made anew once, at once: to write a batch twice is harmless. If that
fails too, the caller is told, and the next call connects again.

Keeps store.py. Above: table.py. Below: batch.py, statements.py.
"""

import random
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from kafkaesque.pipelines.tables.batch import Batch
from kafkaesque.pipelines.tables.columns import ColumnType
from kafkaesque.pipelines.tables.errors import DatabaseAwayError, TableError
from kafkaesque.pipelines.tables.statements import (
    OWN,
    add_column,
    create_table,
    listed,
    quoted,
    upsert,
)

if TYPE_CHECKING:
    import psycopg

T = TypeVar("T")
COPY_FROM_ROWS = 1000
"""Smaller batches are not worth a temporary table."""
ATTEMPTS = 12
LONGEST_NAME_BYTES = 63
DEFAULTS: Mapping[str, str] = {
    "connect_timeout": "10",
    "keepalives_idle": "10",
    "tcp_user_timeout": "30000",
    "application_name": "kafkaesque",
}

_SQL_TYPES: dict[ColumnType, str] = {
    "text": "text",
    "bigint": "bigint",
    "double": "double precision",
    "boolean": "boolean",
    "timestamp": "timestamp with time zone",
    "json": "json",
}
_TYPES: dict[str, ColumnType] = {name: kind for kind, name in _SQL_TYPES.items()}
_TYPES["jsonb"] = "json"
_STAGED = {**_SQL_TYPES, "json": "text"}
_STAGING = "pg_temp.kafkaesque_staging"
_COLUMNS = """
    SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute
    WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped ORDER BY attnum
"""


class PostgresStore:
    def __init__(self, target: str, table: str) -> None:
        parts = urlsplit(target)
        place = parts.netloc.rpartition("@")[2]
        self.target = f"{parts.scheme}://{place}{parts.path}"
        self._url = "postgresql" + target[len(parts.scheme) :]
        self._table = table
        self._require_short(table)
        self._sql_types: dict[str, str] = {}
        self._staged = ""
        """The columns of the temporary table, if there is one."""
        self._connection = self._connected()
        self._is_cockroach = parts.scheme == "cockroachdb" or self._says_cockroach()

    def run(self, work: Callable[[], T]) -> T:
        import psycopg
        from psycopg import errors

        again = (
            errors.SerializationFailure,
            errors.DeadlockDetected,
            # Others make the same table at the same time, or drop it.
            errors.DuplicateObject,
            errors.DuplicateTable,
            errors.UndefinedTable,
        )
        may_connect = True
        for attempt in range(ATTEMPTS):
            try:
                if self._connection.closed:
                    may_connect = False
                    self._connection = self._connected()
                with self._connection.transaction():
                    return work()
            except psycopg.Error as error:
                last = error
                # Made in what is rolled back, or by a connection that is gone.
                self._staged = ""
                if isinstance(error, again) or error.diag.schema_name == "pg_catalog":
                    time.sleep(random.uniform(0.5, 1) * min(0.005 * 2**attempt, 1))
                    continue
                if not self._connection.closed:
                    raise TableError(
                        f"{self.target}: the database refuses: {_line(error)}"
                    ) from error
                if not may_connect:
                    raise self._away(error) from error
        raise DatabaseAwayError(
            f"{self.target}: given up after {ATTEMPTS} attempts, as others change the same table: "
            f"{_line(last)}: let fewer write at once, or write again later"
        ) from last

    def columns(self) -> dict[str, ColumnType]:
        name = quoted(self._table)
        execute = self._connection.execute
        if not self._is_cockroach:
            there = execute("SELECT to_regclass($1) IS NOT NULL", (name,)).fetchone()
            if there == (True,):
                # Nobody adds a column until we have written all those that we are about to see.
                execute(f"LOCK TABLE {name} IN ROW EXCLUSIVE MODE")
        self._sql_types = dict(execute(_COLUMNS, (name,)).fetchall())
        for column, sql_type in self._sql_types.items():
            if sql_type not in _TYPES:
                raise TableError(
                    f"{self.target}: column {column!r} of table {self._table!r} is of type "
                    f"{sql_type}, which cannot be written: {', '.join(_TYPES)} can"
                )
        return {column: _TYPES[sql_type] for column, sql_type in self._sql_types.items()}

    def create(self, key: str, key_type: ColumnType) -> None:
        self._require_short(key)
        types = {name: _SQL_TYPES[kind] for name, kind in {**OWN, key: key_type}.items()}
        self._connection.execute(create_table(self._table, key, types))

    def add(self, name: str, column_type: ColumnType) -> None:
        self._require_short(name)
        sql_type = _SQL_TYPES[column_type]
        self._connection.execute(add_column(self._table, name, sql_type, unless_there=True))

    def write(self, batch: Batch) -> int:
        if len(batch.rows) < COPY_FROM_ROWS or self._is_cockroach:
            arrays = (f"${i}::{_STAGED[kind]}[]" for i, kind in enumerate(batch.types, 1))
            source = f"unnest({', '.join(arrays)}) AS staged ({listed(batch.names)})"
            columns = [list(column) for column in zip(*batch.rows, strict=True)]
            return self._connection.execute(self._upsert(batch, source), columns).rowcount
        self._copy(batch)
        return self._connection.execute(self._upsert(batch, _STAGING)).rowcount

    def close(self) -> None:
        self._connection.close()

    def _copy(self, batch: Batch) -> None:
        """Into the temporary table, which is made anew only if its columns are others: a table for
        each batch would fill the database's catalogue with dead rows."""
        types = [_STAGED[kind] for kind in batch.types]
        columns = ", ".join(f"{quoted(n)} {t}" for n, t in zip(batch.names, types, strict=True))
        if self._staged != columns:
            self._connection.execute(f"DROP TABLE IF EXISTS {_STAGING}")
            create = f"CREATE TEMPORARY TABLE {_STAGING.removeprefix('pg_temp.')} ({columns})"
            self._connection.execute(f"{create} ON COMMIT DELETE ROWS")
            self._staged = columns
        statement = f"COPY {_STAGING} FROM STDIN (FORMAT BINARY)"
        with self._connection.cursor() as cursor, cursor.copy(statement) as copy:
            copy.set_types(["timestamptz" if "zone" in t else t for t in types])
            write_row = copy.write_row
            for row in batch.rows:
                write_row(row)

    def _upsert(self, batch: Batch, source: str) -> str:
        key, chosen = batch.names[0], []
        for name, kind in zip(batch.names, batch.types, strict=True):
            cast = f"::{self._sql_types[name]}" if kind == "json" else ""
            chosen.append(f"{quoted(name)}{cast}")
        select = f"SELECT {', '.join(chosen)} FROM {source} ORDER BY {quoted(key)}"
        return upsert(self._table, key, batch.names, select)

    def _connected(self) -> "psycopg.Connection[Any]":
        try:
            import psycopg
        except ImportError:
            raise TableError(
                f"{self.target}: psycopg is missing: pip install 'kafkaesque-broker[postgres]'"
            ) from None
        try:
            settings = {**DEFAULTS, **psycopg.conninfo.conninfo_to_dict(self._url)}
            return psycopg.connect(
                autocommit=True,
                cursor_factory=psycopg.RawCursor,
                **settings,  # type: ignore[arg-type]
            )
        except psycopg.OperationalError as error:
            raise self._away(error) from error
        except psycopg.Error as error:
            raise TableError(f"{self.target}: {_line(error)}: correct the address") from error

    def _says_cockroach(self) -> bool:
        row = self._connection.execute("SELECT version()").fetchone()
        return row is not None and "CockroachDB" in row[0]

    def _away(self, error: Exception) -> DatabaseAwayError:
        return DatabaseAwayError(
            f"{self.target}: the database cannot be reached: {_line(error)}: see that it runs "
            "there, and that user, password and database name are right; nothing is lost, the "
            "batch may be written again"
        )

    def _require_short(self, name: str) -> None:
        if len(name.encode(errors="replace")) > LONGEST_NAME_BYTES:
            raise TableError(
                f"{self.target}: the name {name!r} is longer than {LONGEST_NAME_BYTES} bytes, and "
                "PostgreSQL would cut it: give the field a shorter one before it is written"
            )


def _line(error: Exception) -> str:
    return " ".join(str(error).split())
