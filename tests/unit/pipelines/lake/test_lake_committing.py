"""Files become rows once, whoever commits, however often."""

import shutil
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pytest
from tests.lake_rows import NAME, OFFSETS, Lake, foreign_rows, foreign_table, places, ticks

from kafkaesque.pipelines.lake import warehouse
from kafkaesque.pipelines.lake.committing import written_of
from kafkaesque.pipelines.lake.errors import LakeError
from kafkaesque.pipelines.marks import Written


def span(first: int, stop: int, partition: int = 0) -> list[tuple[int, int]]:
    return [(partition, each) for each in range(first, stop)]


def test_rows_and_marks_are_one_commit(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    assert lake.write(ticks(0, 5)) == 5
    table = foreign_table(tmp_path)
    assert foreign_rows(tmp_path)[4] == {"partition": 0, "offset": 4, "value": b"4"}
    assert written_of(table) == Written("q", 0, {"0": 4})
    (snapshot,) = table.snapshots()
    assert snapshot.summary is not None
    assert snapshot.summary["kafkaesque.batch"] == "0"
    assert "commit.retry.num-retries" not in table.properties


def test_a_batch_that_comes_again_is_thrown_away(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    lake.write(ticks(0, 5), batch=3)
    assert lake.write(ticks(0, 5), batch=3) == 0
    assert places(tmp_path) == span(0, 5)
    assert len(lake.data) == 1


def test_of_a_batch_that_comes_again_larger_the_new_rows_are_taken(tmp_path: Path) -> None:
    """A power cut can take back what Spark knew of it."""
    lake = Lake(tmp_path)
    lake.write(ticks(0, 5), batch=3)
    assert lake.write(ticks(0, 6), batch=3) == 1
    assert places(tmp_path) == span(0, 6)


def test_after_a_lost_checkpoint_only_new_rows_are_taken(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    lake.write(ticks(0, 5))
    lake.write(ticks(0, 2, partition=1), batch=1)
    again = [lake.stage(ticks(0, 3)), lake.stage(ticks(3, 8)), lake.stage(ticks(0, 4, partition=1))]
    assert lake.commit(again, ticks(0, 1).schema, "another", 0) == 5
    assert places(tmp_path) == span(0, 8) + span(0, 4, partition=1)
    assert len(lake.data) == 4, "the files with rows that were known are gone"
    assert written_of(foreign_table(tmp_path)).marks == {"0": 7, "1": 3}


def test_of_two_that_write_the_same_rows_each_row_is_there_once(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    lake.write(ticks(0, 1), "first", 0)
    threads = [
        threading.Thread(target=_write_all, args=(Lake(tmp_path), query)) for query in ("a", "b")
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert places(tmp_path) == span(0, 61)


def _write_all(lake: Lake, query: str) -> None:
    for batch in range(6):
        lake.write(ticks(batch * 10 + 1, batch * 10 + 11), query, batch)


def test_a_commit_that_somebody_forestalled_looks_at_the_marks_again(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    lake.write(ticks(0, 2), "a", 0)
    staged = lake.stage(ticks(2, 6))
    loaded = lake.options.warehouse.table
    calls = 0

    class Forestalled(type(lake.options.warehouse)):  # type: ignore[misc]
        """Lets another writer commit between our look and our commit."""

        def table(self, name: str) -> object:
            nonlocal calls
            found = loaded(name)
            calls += 1
            if calls == 1:
                Lake(tmp_path).write(ticks(2, 4), "b", 0)
            return found

    lake.options = type(lake.options)(Forestalled(str(tmp_path)), NAME, OFFSETS)
    assert lake.commit([staged], ticks(0, 1).schema, "a", 1) == 2
    assert calls == 2
    assert places(tmp_path) == span(0, 6)


def test_a_table_takes_on_new_and_wider_columns_with_the_rows(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    old = pa.struct([("a", pa.int32())])
    new = pa.struct([("a", pa.int64()), ("b", pa.string())])
    lake.write(ticks(0, 1, body=pa.array([{"a": 1}], old)))
    lake.write(
        ticks(1, 2, body=pa.array([{"a": 2**40, "b": "x"}], new), more=pa.array([1.5])), "q", 1
    )
    lake.write(ticks(2, 3, body=pa.array([{"a": 3}], old)), "q", 2)
    rows = foreign_rows(tmp_path)
    assert [row["body"] for row in rows] == [
        {"a": 1, "b": None},
        {"a": 2**40, "b": "x"},
        {"a": 3, "b": None},
    ]
    assert [row["more"] for row in rows] == [None, 1.5, None]


def test_a_type_that_does_not_fit_is_named_and_nothing_is_written(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    lake.write(ticks(0, 1, price=pa.array([1.5])))
    with pytest.raises(LakeError, match=r"price is double in the table, and string here.*Bring"):
        lake.write(ticks(1, 2, price=pa.array(["1.5"])), batch=1)
    assert lake.write(ticks(1, 2, price=pa.array([2.5])), batch=1) == 1
    assert places(tmp_path) == span(0, 2)


def test_columns_that_changed_under_a_batch_stop_it(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    lake.write(ticks(0, 1))
    rows = ticks(1, 2, mine=pa.array([1]))
    staged = lake.stage(rows)
    lake.write(ticks(0, 1, partition=7, other=pa.array(["x"])), "b", 0)
    with pytest.raises(LakeError, match="were changed while a batch was written"):
        lake.commit([staged], rows.schema, "q", 9)
    assert lake.write(rows, "q", 9) == 1


def test_a_table_that_was_dropped_is_named(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    lake.write(ticks(0, 1))
    staged = lake.stage(ticks(1, 2))
    lake.options.warehouse.catalog().drop_table(NAME)
    with pytest.raises(LakeError, match=r"there is no such table\. If it was dropped"):
        lake.commit([staged], ticks(0, 1).schema, "q", 1)


def test_a_lake_that_was_deleted_is_made_anew(tmp_path: Path) -> None:
    lake = Lake(tmp_path / "lake")
    lake.write(ticks(0, 3))
    shutil.rmtree(tmp_path / "lake")
    assert lake.write(ticks(0, 5)) == 5
    assert places(tmp_path / "lake") == span(0, 5)


def test_a_catalog_that_somebody_holds_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(warehouse, "_WAIT_S", 0)
    lake = Lake(tmp_path)
    lake.write(ticks(0, 1))
    staged = lake.stage(ticks(1, 2))
    with closing(sqlite3.connect(tmp_path / "catalog.db")) as holder:
        holder.execute("BEGIN EXCLUSIVE")
        with pytest.raises(LakeError, match=r"database is locked.*another process holds it"):
            lake.commit([staged], ticks(0, 1).schema, "q", 1)
    assert lake.commit([staged], ticks(0, 1).schema, "q", 1) == 1
    assert places(tmp_path) == span(0, 2)
