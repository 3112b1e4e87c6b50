"""`python -m benchmarks.upserts`: events into a database table, compare-and-set, events a second.

Ours beside what one would write by hand: the same statement for each event, by `executemany`, and
(of a sample) a transaction for each event; for SQLite also `executemany` after the newest event of
each id is found. All get the same events, in which an id comes about four times, and begin with an
empty table; they take turns, and the best of the rounds is told. Every commit is synced.
"""

import argparse
import random
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
from tests.postgres_process import PostgresProcess

from kafkaesque.pipelines.tables import Row, Table
from kafkaesque.pipelines.tables.statements import upsert

EVENTS, KEYS, SAMPLE = 200_000, 49_000, 2_000
FIELDS = ("id", "number", "price", "city")
NAMES = (*FIELDS, "kafka_deleted", "kafka_ts", "kafka_partition", "kafka_offset")


def events(count: int, keys: int) -> list[Row]:
    chance = random.Random(1)
    made = []
    for offset in range(count):
        key = f"id{chance.randrange(keys)}"
        fields = dict(zip(FIELDS, (key, offset, chance.random(), "Dublin"), strict=True))
        made.append(Row(key, fields, 1_700_000_000_000 + offset // 7, offset % 3, offset))
    return made


def flat(row: Row) -> tuple[Any, ...]:
    fields = row.fields or {}
    return (*(fields.get(name) for name in FIELDS), row.fields is None, *row[2:])


def newest(rows: Iterable[Row]) -> list[Row]:
    kept: dict[Any, Row] = {}
    for row in rows:
        there = kept.get(row.id)
        if there is None or there[2:] < row[2:]:
            kept[row.id] = row
    return list(kept.values())


def statement(mark: str) -> str:
    return upsert("t", "id", NAMES, f"VALUES ({', '.join([mark] * len(NAMES))})")


class Sqlite:
    name = "SQLite"

    def __init__(self, directory: Path) -> None:
        self._path = directory / "t.db"
        self.url = f"sqlite:///{self._path}"

    def clear(self) -> None:
        for path in self._path.parent.glob("t.db*"):
            path.unlink()

    def executemany(self, rows: Sequence[Row]) -> None:
        with closing(self._connected()) as connection, connection:
            connection.executemany(statement("?"), map(flat, rows))

    def one_by_one(self, rows: Sequence[Row]) -> None:
        with closing(self._connected()) as connection:
            for row in rows:
                with connection:
                    connection.execute(statement("?"), flat(row))

    def _connected(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        return connection


class Postgres:
    name = "PostgreSQL"

    def __init__(self, server: PostgresProcess) -> None:
        self._server = server
        self.url = server.url

    def clear(self) -> None:
        self._server.rows("DROP TABLE IF EXISTS t")

    def executemany(self, rows: Sequence[Row]) -> None:
        with psycopg.connect(self.url) as connection, connection.cursor() as cursor:
            cursor.executemany(statement("%s"), map(flat, rows))

    def one_by_one(self, rows: Sequence[Row]) -> None:
        with psycopg.connect(self.url, autocommit=True) as connection:
            for row in rows:
                connection.execute(statement("%s"), flat(row))


def measure(database: Sqlite | Postgres, rows: list[Row], rounds: int) -> None:
    def ours(given: list[Row]) -> None:
        with Table.open(database.url, table="t") as table:
            table.compare_and_set(given)

    ways: dict[str, Callable[[list[Row]], None]] = {
        "compare_and_set": ours,
        "executemany": database.executemany,
        "newest, executemany": lambda given: database.executemany(newest(given)),
        "one by one": database.one_by_one,
    }
    best = dict.fromkeys(ways, 0.0)
    for _ in range(rounds):
        for name, way in ways.items():
            database.clear()
            # Makes the table, so that all find an empty one.
            ours([Row("none", dict.fromkeys(FIELDS, None) | rows[0].fields, 0, 0, 0)])  # type: ignore[operator]
            given = rows[:SAMPLE] if name == "one by one" else rows
            start_s = time.perf_counter()
            way(given)
            best[name] = max(best[name], len(given) / (time.perf_counter() - start_s))
    print(f"\n{database.name:24} events/s   ours is")
    for name, rate in best.items():
        print(f"{name:22} {rate:10,.0f}   {best['compare_and_set'] / rate:6.2f} x")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=EVENTS)
    parser.add_argument("--keys", type=int, default=KEYS)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    rows = events(given.events, given.keys)
    print(f"{len(rows):,} events, {len(newest(rows)):,} ids, best of {given.rounds} rounds")
    with tempfile.TemporaryDirectory() as directory, PostgresProcess() as server:
        measure(Sqlite(Path(directory)), rows, given.rounds)
        measure(Postgres(server), rows, given.rounds)


if __name__ == "__main__":
    main()
