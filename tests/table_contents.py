"""What a table of kafkaesque.pipelines.tables holds, and what it should: a plain dict's view.

Of each id its version, and its fields that are not NULL; None for an id that is deleted.
"""

import json
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, TypeAlias

import psycopg

from kafkaesque.pipelines.tables import Row

Contents: TypeAlias = dict[Any, tuple[tuple[int, int, int], dict[str, Any] | None]]
_OWN = ("kafka_deleted", "kafka_ts", "kafka_partition", "kafka_offset")


def model(rows: Iterable[Row]) -> Contents:
    kept: Contents = {}
    for row in sorted(rows, key=lambda row: row[2:]):
        fields = row.fields
        if fields is not None:
            fields = {name: v for name, v in fields.items() if v is not None and name != "id"}
        kept[row.id] = (row[2:], fields)
    return kept


def in_sqlite(path: Path, table: str, *, json_fields: Sequence[str] = ()) -> Contents:
    with closing(sqlite3.connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        rows = [dict(row) for row in connection.execute(f'SELECT * FROM "{table}"')]
    for row in rows:
        row.update({name: json.loads(row[name]) for name in json_fields if row.get(name)})
    return _contents(rows)


def in_postgres(url: str, table: str) -> Contents:
    with psycopg.connect(url, row_factory=psycopg.rows.dict_row) as connection:
        return _contents(connection.execute(f'SELECT * FROM "{table}"').fetchall())


def _contents(rows: Iterable[dict[str, Any]]) -> Contents:
    kept: Contents = {}
    for row in rows:
        key, (deleted, ts, partition, offset) = row.pop("id"), (row.pop(name) for name in _OWN)
        fields = {name: value for name, value in row.items() if value is not None}
        assert not (deleted and fields), f"{key} is deleted and has {fields}"
        kept[key] = ((ts, partition, offset), None if deleted else fields)
    return kept
