"""The SQL that SQLite, PostgreSQL and CockroachDB have in common, and names in it.

Every name is quoted, so any name that a database can hold is only a name. Pure.
Above: sqlite.py, postgres.py. Below: rows.py, columns.py.
"""

from collections.abc import Mapping, Sequence

from kafkaesque.pipelines.tables.columns import ColumnType
from kafkaesque.pipelines.tables.rows import VERSION

DELETED = "kafka_deleted"
OWN: dict[str, ColumnType] = {
    DELETED: "boolean",
    "kafka_ts": "bigint",
    "kafka_partition": "bigint",
    "kafka_offset": "bigint",
}
"""Our own columns, and the types that they must have."""


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def listed(names: Sequence[str], before: str = "") -> str:
    return ", ".join(before + quoted(name) for name in names)


def create_table(table: str, key: str, sql_types: Mapping[str, str], ending: str = "") -> str:
    """With the key and our own columns; the others are added, as those of later batches are."""
    own = ", ".join(f"{quoted(name)} {sql_types[name]} NOT NULL" for name in OWN)
    key_column = f"{quoted(key)} {sql_types[key]} NOT NULL PRIMARY KEY"
    return f"CREATE TABLE IF NOT EXISTS {quoted(table)} ({key_column}, {own}){ending}"


def add_column(table: str, name: str, sql_type: str, *, unless_there: bool) -> str:
    condition = "IF NOT EXISTS " if unless_there else ""
    return f"ALTER TABLE {quoted(table)} ADD COLUMN {condition}{quoted(name)} {sql_type}"


def upsert(table: str, key: str, names: Sequence[str], source: str) -> str:
    """Rows of `source` (VALUES or SELECT) replace older ones of the same key, and no others."""
    settings = ", ".join(
        f"{quoted(name)} = excluded.{quoted(name)}" for name in names if name != key
    )
    return (
        f"INSERT INTO {quoted(table)} AS kept ({listed(names)}) {source} "
        f"ON CONFLICT ({quoted(key)}) DO UPDATE SET {settings} "
        f"WHERE ({listed(VERSION, 'kept.')}) < ({listed(VERSION, 'excluded.')})"
    )
