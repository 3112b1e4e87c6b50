"""The SQL text, with names that try to be more than names."""

import sqlite3

from kafkaesque.pipelines.tables.statements import OWN, create_table, quoted, upsert

VERSION = '"kafka_ts", {0}"kafka_partition", {0}"kafka_offset"'


def test_the_upsert_compares_whole_versions() -> None:
    statement = upsert("t", "id", ["id", "a", "kafka_ts"], "VALUES (?, ?, ?)")
    assert statement == (
        'INSERT INTO "t" AS kept ("id", "a", "kafka_ts") VALUES (?, ?, ?) '
        'ON CONFLICT ("id") DO UPDATE SET "a" = excluded."a", "kafka_ts" = excluded."kafka_ts" '
        'WHERE (kept."kafka_ts", kept."kafka_partition", kept."kafka_offset") < '
        '(excluded."kafka_ts", excluded."kafka_partition", excluded."kafka_offset")'
    )


def test_names_are_only_names() -> None:
    table, key = 't"; DROP TABLE other; --', 'id" text, "x'
    types = dict.fromkeys((key, *OWN), "text")
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE other (a)")
    connection.execute(create_table(table, key, types))
    names = connection.execute(f"SELECT name FROM pragma_table_info({quoted(table)})").fetchall()
    assert names == [(key,), *((own,) for own in OWN)]
    assert connection.execute("SELECT count(*) FROM other").fetchone() == (0,)
    connection.close()
