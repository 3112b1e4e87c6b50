"""Rows to files, and what is left when that fails."""

import subprocess
import sys
import textwrap
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet
from tests.lake_rows import OFFSETS, ticks

from kafkaesque.pipelines.lake import files
from kafkaesque.pipelines.lake.errors import LakeError
from kafkaesque.pipelines.lake.files import Place


def test_a_file_ends_at_the_size_that_was_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "GROUP_ROWS", 100)
    place = Place(ticks(0, 1).schema, f"file://{tmp_path}", 1000, OFFSETS)
    staged = files.write(ticks(0, 1000).to_batches(max_chunksize=50), place)
    assert len(staged) > 1
    assert sum(each.rows for each in staged) == 1000
    assert staged[0].lowest == {"0": 0}
    assert staged[-1].highest == {"0": 999}
    for each in staged:
        path = Path(each.path.removeprefix("file://"))
        assert path.stat().st_size == each.size_bytes
        found = parquet.read_table(path)["offset"].to_pylist()
        assert (found[0], found[-1]) == (each.lowest["0"], each.highest["0"])


def test_no_rows_are_no_file(tmp_path: Path) -> None:
    place = Place(ticks(0, 1).schema, f"file://{tmp_path}/data")
    assert files.write([ticks(0, 0)], place) == []
    assert not (tmp_path / "data").exists()


def test_a_failure_in_the_middle_leaves_nothing_behind(tmp_path: Path) -> None:
    def batches() -> object:
        yield ticks(0, 10)
        raise KeyboardInterrupt

    place = Place(ticks(0, 1).schema, f"file://{tmp_path}", 1)
    with pytest.raises(KeyboardInterrupt):
        files.write(batches(), place)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_takes_no_more_is_named(tmp_path: Path) -> None:
    """In a process of its own, for which files end after 20 kB."""
    program = f"""
        import os, resource
        import pyarrow as pa
        from kafkaesque.pipelines.lake import files
        from kafkaesque.pipelines.lake.errors import LakeError

        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
        rows = pa.table({{"value": pa.array([os.urandom(100) for _ in range(1000)])}})
        try:
            files.write([rows], files.Place(rows.schema, "file://{tmp_path}"))
        except LakeError as error:
            print(error)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=True
    )
    assert "File too large" in done.stdout
    assert "nothing is lost: what was not committed is written again" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_says_what_to_do(tmp_path: Path) -> None:
    directory = tmp_path / "data"
    directory.mkdir()
    rows = pa.table({"a": [1]})

    class Full:
        def __iter__(self) -> object:
            raise OSError(28, "No space left on device", str(directory))

    with pytest.raises(LakeError, match=r"No space left on device: .*make room there"):
        files.write(Full(), Place(rows.schema, f"file://{directory}"))  # type: ignore[arg-type]
