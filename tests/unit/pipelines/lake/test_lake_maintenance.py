"""Maintenance changes files, never rows or marks."""

import json
import os
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet
from tests.lake_rows import NAME, Lake, foreign_rows, foreign_table, places, ticks
from typer.testing import CliRunner

from kafkaesque.cli.lake.app import app
from kafkaesque.cli.lake.sizes import parse_size, size_text
from kafkaesque.pipelines.lake import files
from kafkaesque.pipelines.lake.committing import written_of
from kafkaesque.pipelines.lake.maintenance import Report, Upkeep, maintain

pytestmark = pytest.mark.slow

ALL = Upkeep(keep_snapshots=1, snapshots_older_ms=0, orphans_older_ms=3_600_000)


def filled(place: Path, batches: int = 6) -> Lake:
    """Two partitions in turn, a column that came later."""
    lake = Lake(place)
    for batch in range(batches):
        rows = ticks(batch * 5, batch * 5 + 5, partition=batch % 2)
        if batch >= batches // 2:
            rows = rows.append_column("late", pa.array([batch] * 5))
        lake.write(rows, "q", batch)
    return lake


def kept(lake: Lake, upkeep: Upkeep = ALL) -> Report:
    return maintain(lake.options.warehouse, NAME, upkeep, lambda _: None)


def invoked(place: Path, *arguments: str) -> tuple[int, Any]:
    command, *rest = arguments
    told = [command, "--warehouse", str(place), "--format", "json", *rest]
    result = CliRunner().invoke(app, told)
    return result.exit_code, json.loads(result.stdout)


def test_many_small_files_become_one(tmp_path: Path) -> None:
    lake = filled(tmp_path)
    rows, marks = foreign_rows(tmp_path), written_of(foreign_table(tmp_path))
    report = kept(lake)
    assert (report.before.files, report.after.files, report.merged) == (6, 1, 6)
    assert (report.after.manifests, report.after.snapshots) == (1, 1)
    assert report.after.rows == 30
    assert foreign_rows(tmp_path) == rows
    assert written_of(foreign_table(tmp_path)) == marks
    (file,) = lake.data
    read = parquet.read_table(file).select(["partition", "offset"]).to_pylist()
    assert read == sorted(read, key=lambda row: (row["partition"], row["offset"]))
    assert kept(lake).merged == 0, "there is nothing left to do"


def test_files_are_only_merged_up_to_the_target(tmp_path: Path) -> None:
    lake = filled(tmp_path)
    size_bytes = min(path.stat().st_size for path in lake.data)
    report = kept(lake, Upkeep(target_bytes=size_bytes * 2))
    assert report.after.files == 3
    assert kept(lake, Upkeep(target_bytes=10)).merged == 0
    assert len(places(tmp_path)) == 30


def test_writing_goes_on_after_it_and_replays_are_still_known(tmp_path: Path) -> None:
    lake = filled(tmp_path)
    kept(lake)
    assert lake.write(ticks(20, 27), "another", 0) == 2
    assert lake.write(ticks(25, 30, partition=1), "q", 5) == 0
    assert places(tmp_path) == sorted(
        [(batch % 2, batch * 5 + each) for batch in range(6) for each in range(5)]
        + [(0, 25), (0, 26)]
    )


def test_rows_that_are_appended_meanwhile_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = filled(tmp_path)
    write = files.write

    def forestalled(rows: Any, place: Any) -> Any:
        monkeypatch.undo()
        lake.write(ticks(100, 105), "q", 100)
        return write(rows, place)

    monkeypatch.setattr(files, "write", forestalled)
    assert kept(lake).merged == 6
    assert places(tmp_path)[-20:-15] == [(0, each) for each in range(100, 105)]
    assert len(places(tmp_path)) == 35


def test_of_two_maintainers_the_second_gives_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = filled(tmp_path)
    rows = foreign_rows(tmp_path)
    write = files.write

    def forestalled(pieces: Any, place: Any) -> Any:
        monkeypatch.undo()
        kept(lake, Upkeep())
        return write(pieces, place)

    monkeypatch.setattr(files, "write", forestalled)
    assert kept(lake).merged == 0
    assert foreign_rows(tmp_path) == rows
    assert len(lake.data) == 1


def test_only_old_files_that_nobody_needs_are_swept_away(tmp_path: Path) -> None:
    lake = filled(tmp_path)
    old, young = lake.data[0].with_name("old.parquet"), lake.data[0].with_name("young.parquet")
    for path in (old, young):
        path.write_bytes(b"of a task that was killed")
    os.utime(old, (time.time() - 7200,) * 2)
    for path in lake.data:
        if path not in (old, young):
            os.utime(path, (time.time() - 7200,) * 2)
    report = kept(lake, Upkeep(orphans_older_ms=3_600_000, target_bytes=10))
    assert report.removed == 1
    assert young in lake.data
    assert old not in lake.data
    assert len(places(tmp_path)) == 30


def test_a_dry_run_does_nothing(tmp_path: Path) -> None:
    lake = filled(tmp_path)
    before = [path for path in tmp_path.rglob("*") if path.is_file()]
    report = kept(lake, Upkeep(keep_snapshots=2, snapshots_older_ms=0, dry_run=True))
    assert (report.merged, report.expired, report.after.files) == (6, 4, 1)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == before


def test_the_command_maintains_every_table(tmp_path: Path) -> None:
    filled(tmp_path)
    options = ["--keep-snapshots", "1", "--older-than", "0s", "--target-size", "1MiB"]
    code, (report,) = invoked(tmp_path, "maintain", *options)
    assert code == 0
    assert (report["table"], report["before"]["files"], report["after"]["files"]) == (NAME, 6, 1)
    code, reports = invoked(tmp_path, "maintain", "lake.nothing", NAME)
    assert (code, [each["table"] for each in reports]) == (1, [NAME])
    table = CliRunner().invoke(app, ["maintain", "--warehouse", str(tmp_path)])
    assert table.stdout.splitlines()[1].split()[:4] == [NAME, "1", "→", "1"]


def test_tables_are_listed_and_described(tmp_path: Path) -> None:
    filled(tmp_path)
    assert invoked(tmp_path, "list") == (
        0,
        [
            {
                "table": NAME,
                "topic": None,
                "rows": 30,
                "files": 6,
                "bytes": foreign_size(tmp_path),
                "manifests": 6,
                "snapshots": 6,
            }
        ],
    )
    code, found = invoked(tmp_path, "describe", NAME)
    assert (code, found["last_offsets"]) == (0, {"0": 24, "1": 29})
    assert [each["name"] for each in found["columns"]] == ["partition", "offset", "value", "late"]
    told = CliRunner().invoke(app, ["describe", NAME, "--warehouse", str(tmp_path)])
    assert "PARTITION  LAST-OFFSET\n0          24\n" in told.stdout


def foreign_size(place: Path) -> int:
    return sum(path.stat().st_size for path in Lake(place).data)


def test_a_place_without_a_lake_is_not_made_one(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["list", "--warehouse", str(tmp_path / "none")])
    assert "there is no lake at" in str(result.exception)
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    ("text", "size_bytes"), [("4096", 4096), ("512KiB", 524288), ("1.5GB", 1_500_000_000)]
)
def test_sizes_are_read_as_people_write_them(text: str, size_bytes: int) -> None:
    assert parse_size(text) == size_bytes


def test_sizes_are_printed_in_units() -> None:
    assert [size_text(each) for each in (12, 2048, 5 << 40)] == ["12 B", "2.0 KiB", "5.0 TiB"]


def test_null_and_empty_lists_stay_what_they_are(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    kind = pa.list_(pa.field("element", pa.struct([("key", pa.string()), ("value", pa.binary())])))
    lists = [None, [], [{"key": "a", "value": None}]]
    for batch in range(2):
        rows = ticks(batch * 3, batch * 3 + 3, headers=pa.array(lists, kind))
        lake.write(rows, "q", batch)
    kept(lake)
    (file,) = lake.data
    assert parquet.read_table(file)["headers"].to_pylist() == lists * 2


def test_a_column_that_was_renamed_is_found_in_older_files(tmp_path: Path) -> None:
    lake = filled(tmp_path, batches=2)
    table = foreign_table(tmp_path)
    with table.update_schema() as update:
        update.rename_column("value", "payload")
        update.rename_column("late", "value")
    before = foreign_rows(tmp_path)
    assert before[0]["payload"] == b"0"
    assert kept(lake).merged == 2
    assert foreign_rows(tmp_path) == before
