"""A table that keeps the newest event of each id.

Columns that the events bring and the table lacks are added first, in a transaction of their own: to
add one asks for a stronger lock than to write, and two writers that both held the weaker one would
wait for each other. The columns are read again in the transaction that writes, because a column
that another writer has added meanwhile has to be set as well, to NULL.

Above: handlers, pipelines. Below: batch.py, store.py and those who keep it.
"""

import functools
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import TypeVar
from urllib.parse import urlsplit

from kafkaesque.pipelines.tables.batch import Incoming
from kafkaesque.pipelines.tables.columns import COLUMN_TYPES, KEY_TYPES, ColumnType
from kafkaesque.pipelines.tables.errors import DatabaseAwayError, TableError
from kafkaesque.pipelines.tables.postgres import PostgresStore
from kafkaesque.pipelines.tables.rows import Row
from kafkaesque.pipelines.tables.sqlite import SqliteStore
from kafkaesque.pipelines.tables.statements import OWN
from kafkaesque.pipelines.tables.store import Store

T = TypeVar("T")
FIRST_PAUSE_S = 0.1
LONGEST_PAUSE_S = 2.0
_SCHEMES = ("sqlite:///FILE", "postgresql://HOST/DATABASE", "cockroachdb://HOST/DATABASE")


class Table:
    """May be used from several threads; they write one after the other."""

    def __init__(
        self,
        store: Store,
        name: str,
        key: str,
        columns: Mapping[str, ColumnType],
        patience_s: float,
    ) -> None:
        self.name = name
        self.key = key
        self._store = store
        self._declared = dict(columns)
        self._patience_s = patience_s
        self._lock = threading.Lock()

    @classmethod
    def open(
        cls,
        target: str,
        *,
        table: str,
        key: str = "id",
        columns: Mapping[str, ColumnType] | None = None,
        patience_s: float = 0.0,
    ) -> "Table":
        """`columns` are those whose types events should not decide; others come from the events.
        The table is made when the first row is written. A database that is away is waited for,
        `patience_s` long, here and for each batch."""
        declared = columns or {}
        _require_types(declared, key)
        store = _patiently(lambda: _store_of(target, table), patience_s)
        return cls(store, table, key, declared, patience_s)

    def compare_and_set(
        self, rows: Iterable[Row], hints: Mapping[str, ColumnType] | None = None
    ) -> int:
        """Each row replaces an older one of its id, and no newer one: all of them, or, when this
        raises, none. How many rows of the table changed. `hints` are columns to add if they are
        not there yet, of the types that a schema gives them."""
        given = list(rows)
        if not given:
            return 0
        incoming = Incoming(given, self.key)
        # A key of another type than these is told of when its rows are looked at.
        useful = {
            name: kind
            for name, kind in (hints or {}).items()
            if name != self.key or kind in KEY_TYPES
        }
        return _patiently(lambda: self._set(incoming, useful), self._patience_s)

    def close(self) -> None:
        with self._lock:
            self._store.close()

    def _set(self, incoming: Incoming, hints: Mapping[str, ColumnType]) -> int:
        with self._lock:
            while True:
                needed, changed = self._store.run(lambda: self._write(incoming, hints))
                if not needed:
                    return changed
                self._store.run(functools.partial(self._add, needed))

    def _write(
        self, incoming: Incoming, hints: Mapping[str, ColumnType]
    ) -> tuple[dict[str, ColumnType], int]:
        known = self._store.columns()
        if known:
            self._require_ours(known)
        wanted = {**hints, **self._declared, **known}
        needed = {name: wanted[name] for name in wanted if name not in known}
        needed |= incoming.lacking(wanted)
        # What does not fit is found before the table is touched.
        batch = incoming.batch({**wanted, **needed, **OWN})
        return (needed, 0) if needed else ({}, self._store.write(batch))

    def _add(self, needed: Mapping[str, ColumnType]) -> None:
        if self.key in needed:
            self._store.create(self.key, needed[self.key])
        for name, column_type in needed.items():
            if name != self.key:
                self._store.add(name, column_type)

    def _require_ours(self, known: Mapping[str, ColumnType]) -> None:
        missing = [name for name in (self.key, *OWN) if name not in known]
        if missing:
            raise TableError(
                f"{self._store.target}: table {self.name!r} is there and has no column "
                f"{', '.join(missing)}: name another table, or add the columns to it "
                f"(the key unique, {', '.join(f'{name} {kind}' for name, kind in OWN.items())})"
            )
        if known[self.key] not in KEY_TYPES:
            raise TableError(
                f"{self._store.target}: the key {self.key!r} of table {self.name!r} is of type "
                f"{known[self.key]}, and a key is of type {' or '.join(KEY_TYPES)}: name another"
            )
        for name, wanted in {**self._declared, **OWN}.items():
            if known.get(name, wanted) != wanted:
                raise TableError(
                    f"{self._store.target}: column {name!r} of table {self.name!r} is of type "
                    f"{known[name]}, not {wanted}: declare it as it is, or change the table"
                )

    def __enter__(self) -> "Table":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def _patiently(work: Callable[[], T], patience_s: float) -> T:
    """Again and again while the database is away, for so long."""
    give_up_at = time.monotonic() + patience_s
    pause_s = FIRST_PAUSE_S
    while True:
        try:
            return work()
        except DatabaseAwayError:
            if time.monotonic() + pause_s > give_up_at:
                raise
        time.sleep(pause_s)
        pause_s = min(2 * pause_s, LONGEST_PAUSE_S)


def _store_of(target: str, table: str) -> Store:
    scheme = urlsplit(target).scheme
    if scheme == "sqlite":
        return SqliteStore(target, table)
    if scheme in ("postgresql", "postgres", "cockroachdb"):
        return PostgresStore(target, table)
    raise TableError(f"{scheme or target!r} is no database that can be used: {', '.join(_SCHEMES)}")


def _require_types(columns: Mapping[str, ColumnType], key: str) -> None:
    for name, column_type in columns.items():
        if column_type not in COLUMN_TYPES:
            raise TableError(
                f"column {name!r}: there is no type {column_type!r}: {', '.join(COLUMN_TYPES)}"
            )
        if name in OWN:
            raise TableError(f"column {name!r} is made by itself: do not declare it")
    if key in OWN or columns.get(key, "text") not in KEY_TYPES:
        raise TableError(f"the key {key!r} must be a text or a bigint, and not {', '.join(OWN)}")
