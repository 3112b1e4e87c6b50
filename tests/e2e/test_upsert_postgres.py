"""Tables in a real PostgreSQL: servers that die, writers that collide, what is refused and why."""

import random
import threading
import time
from collections.abc import Iterator
from itertools import chain, cycle, takewhile
from typing import Any

import psycopg
import pytest
from tests.broker_process import free_port
from tests.postgres_process import PostgresProcess
from tests.table_contents import in_postgres, model

from kafkaesque.pipelines.tables import DatabaseAwayError, Row, RowError, Table, TableError

pytestmark = pytest.mark.slow

SERIALIZABLE = "?options=-c%20default_transaction_isolation%3Dserializable"
LOGGED = "?options=-c%20log_statement%3Dall"


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresProcess]:
    with PostgresProcess() as process:
        yield process


def row(key: Any, offset: int, **fields: Any) -> Row:
    return Row(key, fields, 1_000, 0, offset)


def history(seed: int, count: int) -> list[Row]:
    chance = random.Random(seed)
    return [
        Row(
            f"k{chance.randrange(400)}",
            None if chance.random() < 0.1 else {"n": offset, "s": "x" * chance.randrange(9)},
            chance.randrange(50),
            offset % 3,
            offset,
        )
        for offset in range(count)
    ]


def test_a_server_that_is_killed_in_the_middle_loses_nothing(server: PostgresProcess) -> None:
    rows = history(1, 60_000)
    batches = [rows[begin : begin + 2_000] for begin in range(0, len(rows), 2_000)]
    written = 0
    killed, done = threading.Event(), threading.Event()

    def write() -> None:
        nonlocal written
        # A writer that is quicker than whoever kills begins again: that changes nothing.
        again = takewhile(lambda _: not killed.is_set(), cycle(batches))
        with Table.open(server.url, table="killed", patience_s=60) as table:
            for batch in chain(batches, again):
                table.compare_and_set(batch)
                written += 1
        done.set()

    writer = threading.Thread(target=write)
    writer.start()
    for count in (3, 9):
        while written < count:
            assert writer.is_alive()
            time.sleep(0.005)
        server.kill()
        assert not done.is_set()
        server.start()
    killed.set()
    writer.join(60)
    assert done.is_set()
    assert in_postgres(server.url, "killed") == model(rows)
    with Table.open(server.url, table="killed") as table:
        for begin in reversed(range(0, len(rows), 20_000)):
            assert table.compare_and_set(rows[begin : begin + 20_000]) == 0
    assert in_postgres(server.url, "killed") == model(rows)


def test_a_server_that_is_away_is_told_of_and_found_again(server: PostgresProcess) -> None:
    with Table.open(server.url, table="away") as table:
        table.compare_and_set([row("a", 1, n=1)])
        server.kill()
        try:
            with pytest.raises(DatabaseAwayError, match=r"cannot be reached: .*nothing is lost"):
                table.compare_and_set([row("a", 2, n=2)])
            with pytest.raises(DatabaseAwayError):
                Table.open(server.url, table="away", patience_s=0.2)
        finally:
            server.start()
        assert table.compare_and_set([row("a", 2, n=2)]) == 1


def test_a_transaction_that_cannot_be_serialized_is_done_again(server: PostgresProcess) -> None:
    with (
        Table.open(server.url + SERIALIZABLE, table="serial") as table,
        psycopg.connect(server.url) as other,
    ):
        table.compare_and_set([row("a", 1, n=1)])
        other.execute("UPDATE serial SET n = 5, kafka_offset = 2 WHERE id = 'a'")
        writer = threading.Thread(target=table.compare_and_set, args=([row("a", 3, n=3)],))
        writer.start()
        waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted"
        while server.rows(waiting) == [(0,)]:
            assert writer.is_alive()
            time.sleep(0.02)
        other.commit()
        writer.join(60)
    assert "could not serialize access due to concurrent update" in server.log
    assert in_postgres(server.url, "serial") == {"a": ((1_000, 0, 3), {"n": 3})}


def test_writers_that_collide_end_in_the_same_table(server: PostgresProcess) -> None:
    rows = history(2, 8_000)
    url = server.url + SERIALIZABLE

    def write(given: list[Row], size: int) -> None:
        with Table.open(url, table="collide", patience_s=30) as table:
            for begin in range(0, len(given), size):
                table.compare_and_set(given[begin : begin + size])

    ways = ((rows[::-1], 500), (rows, 2_500), (random.Random(3).sample(rows, len(rows)), 400))
    writers = [threading.Thread(target=write, args=way) for way in ways]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
    assert in_postgres(server.url, "collide") == model(rows)


def test_the_dialect_of_cockroachdb_locks_no_table_and_makes_no_temporary_one(
    server: PostgresProcess,
) -> None:
    rows = history(4, 3_000)
    url = server.url.replace("postgresql", "cockroachdb") + LOGGED
    with Table.open(url, table="roach") as table:
        table.compare_and_set(rows)
    statements = [line for line in server.log.splitlines() if "roach" in line]
    assert any("unnest(" in line for line in statements)
    assert not [line for line in statements if "LOCK TABLE" in line or "TEMPORARY" in line]
    assert in_postgres(server.url, "roach") == model(rows)


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (row("x", 9, n="many"), "row 'x' (partition 0, offset 9): field 'n': str 'many'"),
        (row("x", 9, s="a\0b"), "field 's': str 'a\\x00b'"),
        (row("x", 9, **{"n" * 64: 1}), "longer than 63 bytes"),
    ],
)
def test_a_row_that_does_not_fit_is_named_and_the_batch_is_left_out(
    server: PostgresProcess, bad: Row, said: str
) -> None:
    with Table.open(server.url, table="fit") as table:
        table.compare_and_set([row("a", 1, n=1, s="")])
        with pytest.raises(TableError) as raised:
            table.compare_and_set([row("a", 2, n=2), bad])
    assert said in str(raised.value)
    assert in_postgres(server.url, "fit") == {"a": ((1_000, 0, 1), {"n": 1, "s": ""})}


def test_a_table_that_is_not_ours_is_left_alone(server: PostgresProcess) -> None:
    server.rows("CREATE TABLE theirs (id text PRIMARY KEY)")
    with (
        Table.open(server.url, table="theirs") as table,
        pytest.raises(TableError, match="'theirs' is there and has no column kafka_deleted"),
    ):
        table.compare_and_set([row("a", 1, n=1)])
    with Table.open(server.url, table="ours") as table:
        table.compare_and_set([row("a", 1, n=1)])
    server.rows("CREATE TABLE keyless (LIKE ours)")
    with (
        Table.open(server.url, table="keyless") as table,
        pytest.raises(TableError, match=r"the database refuses: .*ON CONFLICT"),
    ):
        table.compare_and_set([row("a", 1, n=1)])


def test_what_cannot_be_opened_says_why(server: PostgresProcess) -> None:
    nowhere = f"postgresql://ada:secret@127.0.0.1:{free_port()}/shop"
    with pytest.raises(DatabaseAwayError, match="see that it runs there") as raised:
        Table.open(nowhere, table="t")
    assert "secret" not in str(raised.value)
    with pytest.raises(TableError, match='database "none" does not exist'):
        Table.open(server.url.removesuffix("postgres") + "none", table="t")
    with pytest.raises(TableError, match="correct the address"):
        Table.open(server.url + "?no_such_option=1", table="t")


def test_a_key_of_another_type_is_named(server: PostgresProcess) -> None:
    with Table.open(server.url, table="keys") as table:
        table.compare_and_set([row(7, 1, n=1), Row("7", None, 1_000, 0, 2)])
        with pytest.raises(RowError, match="field 'id': str 'x' does not fit a column of type big"):
            table.compare_and_set([row("x", 3, n=1)])
    assert in_postgres(server.url, "keys") == {7: ((1_000, 0, 2), None)}
