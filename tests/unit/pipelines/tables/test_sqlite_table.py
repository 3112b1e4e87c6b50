"""A table in a file: what is written, what is refused, and that a refused batch leaves nothing."""

import resource
import sqlite3
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.table_contents import in_sqlite, model

from kafkaesque.pipelines.tables import DatabaseAwayError, Row, RowError, Table, TableError
from kafkaesque.pipelines.tables.statements import OWN


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "t.db"


@pytest.fixture
def table(path: Path) -> Iterator[Table]:
    with Table.open(f"sqlite:///{path}", table="t") as opened:
        yield opened


def row(key: Any, offset: int, **fields: Any) -> Row:
    return Row(key, fields, 1_000, 0, offset)


def types(path: Path) -> dict[str, str]:
    with closing(sqlite3.connect(path)) as connection:
        return dict(connection.execute("SELECT name, type FROM pragma_table_info('t')"))


def test_it_says_how_many_rows_changed(table: Table) -> None:
    rows = [row("a", 1, n=1), row("b", 2, n=1), row("a", 3, n=2)]
    assert table.compare_and_set(rows) == 2
    assert table.compare_and_set(rows) == 0
    assert table.compare_and_set([row("a", 2, n=9), row("b", 4, n=3)]) == 1
    assert table.compare_and_set([]) == 0


def test_a_delete_keeps_its_version_so_that_a_replay_brings_nothing_back(
    table: Table, path: Path
) -> None:
    history = [row("a", 1, n=1), Row("a", None, 1_000, 0, 2)]
    for rows in (history, history[:1], history[::-1]):
        table.compare_and_set(rows)
        assert in_sqlite(path, "t") == {"a": ((1_000, 0, 2), None)}


def test_a_delete_finds_a_number_that_its_key_spells(table: Table, path: Path) -> None:
    table.compare_and_set([Row("7", None, 1_000, 0, 2), row(7, 1, n=1), row(8, 3, n=1)])
    assert in_sqlite(path, "t") == {7: ((1_000, 0, 2), None), 8: ((1_000, 0, 3), {"n": 1})}


def test_columns_come_with_the_fields(table: Table, path: Path) -> None:
    table.compare_and_set([row("a", 1, n=1, nothing=None)])
    assert list(types(path)) == ["id", *OWN, "n"]
    later = [row("a", 2, price=1.5, tags=["x"], open=True, nothing="now")]
    table.compare_and_set(later)
    assert types(path) | {"price": "DOUBLE", "tags": "JSON TEXT", "open": "BOOLEAN"} == types(path)
    assert in_sqlite(path, "t", json_fields=["tags"]) == model(later)


def test_fields_of_replaced_rows_bring_their_columns_too(table: Table, path: Path) -> None:
    table.compare_and_set([row("a", 1, old=1), row("a", 2, new=1)])
    assert {"old", "new"} <= types(path).keys()


def test_another_writers_column_is_emptied_as_well(table: Table, path: Path) -> None:
    table.compare_and_set([row("a", 1, n=1)])
    with Table.open(f"sqlite:///{path}", table="t") as other:
        other.compare_and_set([row("a", 2, n=2, theirs="x")])
    table.compare_and_set([row("a", 3, n=3)])
    assert in_sqlite(path, "t") == {"a": ((1_000, 0, 3), {"n": 3})}


def test_declared_columns_decide(path: Path) -> None:
    columns: Any = {"id": "text", "price": "double", "at": "timestamp"}
    with Table.open(f"sqlite:///{path}", table="t", columns=columns) as table:
        table.compare_and_set([row("a", 1, price=3)])
        table.compare_and_set([row("a", 2, price=3.5, at="2026-01-02T03:04:05+02:00")])
    fields = {"price": 3.5, "at": "2026-01-02T01:04:05.000000+00:00"}
    assert in_sqlite(path, "t") == {"a": ((1_000, 0, 2), fields)}


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (row("x", 9, n="many"), "row 'x' (partition 0, offset 9): field 'n': str 'many'"),
        (row(7, 9, n=1), "field 'id': int 7 does not fit a column of type text"),
        (row(None, 9, n=1), "has no 'id'"),
        (row("x", 9, raw=b"x"), "field 'raw': no column can hold bytes"),
        (row("x", 9, kafka_ts=1), "'kafka_ts' has the name of a column that says"),
        (row("x", 9, **{"": 1}), "cannot be the name of a column"),
        (Row("x", {"n": 1}, None, 0, 9), "has no kafka_ts"),  # type: ignore[arg-type]
        (row("x", 9, N=1), "differ in case alone"),
    ],
)
def test_a_row_that_does_not_fit_is_named_and_nothing_is_written(
    table: Table, path: Path, bad: Row, said: str
) -> None:
    table.compare_and_set([row("a", 1, n=1)])
    before = types(path)
    with pytest.raises(TableError) as raised:
        table.compare_and_set([row("a", 2, n=2, more=1), bad])
    assert said in str(raised.value)
    assert types(path) == before
    assert in_sqlite(path, "t") == {"a": ((1_000, 0, 1), {"n": 1})}


def test_a_key_that_is_neither_text_nor_number(table: Table) -> None:
    for hints in (None, {"id": "double"}):
        with pytest.raises(RowError, match="a key is a text or a whole number"):
            table.compare_and_set([row(1.5, 1)], hints)  # type: ignore[arg-type]


def test_threads_share_a_table(table: Table, path: Path) -> None:
    rows = [row(f"k{n % 7}", n, n=n) for n in range(400)]
    threads = [
        threading.Thread(
            target=lambda part: [table.compare_and_set([r]) for r in part], args=(rows[i::4],)
        )
        for i in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert in_sqlite(path, "t") == model(rows)


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("CREATE TABLE t (id TEXT PRIMARY KEY, n BIGINT)", "has no column kafka_deleted"),
        ("CREATE TABLE t (id TEXT PRIMARY KEY, n BLOB)", "'n' of table 't' is of type BLOB"),
        (
            "CREATE TABLE t (id REAL PRIMARY KEY, kafka_deleted BOOLEAN, kafka_ts BIGINT, "
            "kafka_partition BIGINT, kafka_offset BIGINT)",
            "the key 'id' of table 't' is of type double",
        ),
    ],
)
def test_a_table_that_is_not_ours_is_left_alone(
    table: Table, path: Path, statement: str, said: str
) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(statement)
    with pytest.raises(TableError, match=said):
        table.compare_and_set([row("a", 1, n=1)])


def test_what_cannot_be_opened(tmp_path: Path) -> None:
    no_database = tmp_path / "text.db"
    no_database.write_text("not a database, but a text of some length\n" * 40)
    for target, said in {
        f"sqlite:///{tmp_path}/none/t.db": "see that the directory is there",
        f"sqlite:///{no_database}": "not a database",
        "sqlite://": "names no file",
        "mysql://h/d": "'mysql' is no database that can be used",
        "orders.db": "sqlite:///FILE",
    }.items():
        with pytest.raises(TableError, match=said):
            Table.open(target, table="t")


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"a": "int"}, "there is no type 'int'"),
        ({"kafka_ts": "bigint"}, "by itself"),
        ({"id": "double"}, "must be a text or a bigint"),
    ],
)
def test_columns_that_cannot_be_declared(columns: Any, said: str, path: Path) -> None:
    with pytest.raises(TableError, match=said):
        Table.open(f"sqlite:///{path}", table="t", columns=columns)


def test_declared_otherwise_than_it_is(table: Table, path: Path) -> None:
    table.compare_and_set([row("a", 1, n=1)])
    with (
        Table.open(f"sqlite:///{path}", table="t", columns={"n": "text"}) as other,
        pytest.raises(TableError, match="is of type bigint, not text"),
    ):
        other.compare_and_set([row("a", 2, n="2")])


def test_a_file_that_another_holds(
    table: Table, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kafkaesque.pipelines.tables.sqlite.BUSY_TIMEOUT_S", 0.01)
    with (
        closing(sqlite3.connect(path, isolation_level=None)) as holder,
        Table.open(f"sqlite:///{path}", table="t") as other,
    ):
        holder.execute("BEGIN IMMEDIATE")
        with pytest.raises(DatabaseAwayError, match=r"locked: .* no other program holds the file"):
            other.compare_and_set([row("a", 1, n=1)])
        holder.execute("ROLLBACK")
        assert other.compare_and_set([row("a", 1, n=1)]) == 1


def test_a_disk_that_is_full_loses_nothing(table: Table, path: Path) -> None:
    """As the limit of a file's size makes it look."""
    first = [row(f"k{n}", n, s="x" * 100) for n in range(50)]
    table.compare_and_set(first)
    more = [row(f"k{n}", 50 + n, s="y" * 200) for n in range(2000)]
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
    try:
        with pytest.raises(DatabaseAwayError, match="that the disk has room"):
            table.compare_and_set(more)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert in_sqlite(path, "t") == model(first)
    assert table.compare_and_set(more) == 2000
    assert in_sqlite(path, "t") == model([*first, *more])


def test_a_file_that_cannot_be_written_yet_is_waited_for(tmp_path: Path) -> None:
    directory = tmp_path / "later"
    threading.Timer(0.2, directory.mkdir).start()
    with Table.open(f"sqlite:///{directory}/t.db", table="t", patience_s=30) as table:
        assert table.compare_and_set([row("a", 1, n=1)]) == 1


def test_hints_are_columns_that_are_made_and_never_change_one(table: Table, path: Path) -> None:
    table.compare_and_set([row("a", 1, n=1.5)])
    table.compare_and_set([row("a", 2, n=2)], {"n": "bigint", "later": "text"})
    assert types(path) | {"n": "DOUBLE", "later": "TEXT"} == types(path)


def test_psycopg_is_loaded_for_its_database_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(TableError, match=r"pip install 'kafkaesque-broker\[postgres\]'"):
        Table.open("postgresql://ada:secret@127.0.0.1:1/d", table="t")
