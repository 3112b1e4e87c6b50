"""Rows between the tasks that made them and the driver that sends them."""

from pathlib import Path

import pyarrow as pa
import pytest

from kafkaesque.pipelines.marks import MarkColumns
from kafkaesque.pipelines.sink.errors import SinkError
from kafkaesque.pipelines.sink.staging import (
    INLINE_BYTES,
    Job,
    clear,
    clear_others,
    stage,
    staged_rows,
)

MARKS = MarkColumns("offset", ("partition",))


def rows(first: int, count: int, size: int = 10) -> pa.RecordBatch:
    return pa.record_batch(
        {
            "value": [b"x" * size] * count,
            "partition": [0] * count,
            "offset": list(range(first, first + count)),
        }
    )


def job(directory: Path | None) -> Job:
    return Job("query", "run", None if directory is None else str(directory / "w" / "run" / "7"))


def test_few_rows_travel_in_the_answer_of_their_task() -> None:
    batches = [rows(5, 3), rows(8, 2)]
    staged = stage(iter([batches[0], rows(0, 0), batches[1]]), job(None), "0-0", MARKS)
    assert (staged.rows, staged.path) == (5, None)
    assert (staged.lowest, staged.highest) == ({"0": 5}, {"0": 9})
    assert pa.Table.from_batches(staged_rows(staged)) == pa.Table.from_batches(batches)


def test_no_rows_are_nothing() -> None:
    staged = stage(iter([rows(0, 0)]), job(None), "0-0", MARKS)
    assert (staged.rows, staged.data, list(staged_rows(staged))) == (0, b"", [])


def test_many_rows_go_to_a_file_that_is_removed_with_its_batch(tmp_path: Path) -> None:
    batches = [rows(number * 100, 100, INLINE_BYTES // 150) for number in range(4)]
    staged = stage(iter(batches), job(tmp_path), "0-0", MARKS)
    assert staged.path is not None
    assert Path(staged.path).parent == tmp_path / "w" / "run" / "7"
    assert (staged.rows, staged.data, staged.highest) == (400, b"", {"0": 399})
    assert pa.Table.from_batches(staged_rows(staged)) == pa.Table.from_batches(batches)
    clear(str(job(tmp_path).directory))
    clear(str(job(tmp_path).directory))
    assert list((tmp_path / "w").iterdir()) == []
    with pytest.raises(SinkError, match="driver and executors share"):
        list(staged_rows(staged))


def test_a_row_without_a_mark_moves_none() -> None:
    batch = pa.record_batch({"partition": [0, 0], "offset": pa.array([None, 4], pa.int64())})
    assert stage(iter([batch]), job(None), "0-0", MARKS).highest == {"0": 4}


def test_what_dead_runs_have_left_is_removed(tmp_path: Path) -> None:
    for run in ("dead", "run"):
        (tmp_path / "w" / run / "7").mkdir(parents=True)
        (tmp_path / "w" / run / "7" / "0-0.arrow").touch()
    clear_others(str(job(tmp_path).directory))
    assert [each.name for each in (tmp_path / "w").iterdir()] == ["run"]
    assert (tmp_path / "w" / "run" / "7" / "0-0.arrow").exists()
    clear_others(str(tmp_path / "none" / "run" / "7"))


def test_no_room_is_said_with_a_cure_and_leaves_nothing(tmp_path: Path) -> None:
    large = [rows(0, 100, INLINE_BYTES // 50)]
    (tmp_path / "file").touch()
    with pytest.raises(SinkError, match="give another stagingDir"):
        stage(iter(large), job(tmp_path / "file"), "0-0", None)
    with pytest.raises(SinkError, match="give checkpointLocation or stagingDir"):
        stage(iter(large), job(None), "0-0", None)
    with pytest.raises(SinkError, match="that pyarrow can reach"):
        stage(iter(large), Job("q", "r", "floppy://a/b"), "0-0", None)


def test_a_task_that_fails_half_way_leaves_no_file(tmp_path: Path) -> None:
    def failing() -> object:
        yield rows(0, 100, INLINE_BYTES // 50)
        raise ValueError("half way")

    with pytest.raises(ValueError, match="half way"):
        stage(failing(), job(tmp_path), "0-0", None)  # type: ignore[arg-type]
    assert list(tmp_path.rglob("*.arrow")) == []
