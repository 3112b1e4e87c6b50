"""Compacted segments take the place of those they were made of: readers, removals, failures."""

import errno
import os
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest
from tests.crash.forgetting import ForgettingFiles
from tests.unit.log.compacting import all_batches, keyed, pairs, request, rules, swap_in
from tests.unit.log.logs import DIRECTORY, NOW, flush, new_disk, open_log

from kafkaesque.log.compact import Result, compact, run
from kafkaesque.log.disk import DiskSegments
from kafkaesque.log.files import OsFiles
from kafkaesque.log.log import Log, LogConfig
from kafkaesque.log.store import Segment
from kafkaesque.records.batch import batches

CONFIG = LogConfig(segment_bytes=600, index_interval_bytes=100)
LEFT = [(number, f"{number % 10}", f"{number}") for number in range(40, 50)]
"""What is left of `written`."""


def written(files: ForgettingFiles, count: int = 50) -> Log:
    """Ten keys, again and again, in sealed segments."""
    log = open_log(files, CONFIG)
    for number in range(count):
        keyed(log, (f"{number % 10}", f"{number}"), at=NOW + number)
    log.roll()
    flush(log)
    return log


def cleaned(log: Log, files: ForgettingFiles) -> Result:
    asked = request(log, rules(log), log.end_offset)
    assert asked is not None
    return run(compact(files, asked), lambda: None)


def made_of(log: Log, result: Result) -> list[Segment]:
    end = result.segments[0].next_offset
    return [segment for segment in log.sealed if segment.base_offset < end]


def leftovers(files: ForgettingFiles) -> list[str]:
    return [name for name in files.names(DIRECTORY) if name.endswith((".cleaned", ".swap"))]


def test_nothing_is_changed_until_the_swap() -> None:
    files = new_disk()
    log = written(files)
    result = cleaned(log, files)
    assert len(pairs(log)) == 50
    swap_in(log, result)
    assert pairs(log) == LEFT
    assert leftovers(files) == []


def test_a_swap_is_completed_at_a_start_beside_files_of_foreign_names() -> None:
    files = new_disk()
    log = written(files)
    result = cleaned(log, files)
    swap_names = [name for name in files.names(DIRECTORY) if name.endswith(".cleaned")]
    for name in swap_names:
        path = f"{DIRECTORY}/{name.removesuffix('.cleaned')}"
        files.rename(path + ".cleaned", path + ".swap")
    foreign = ["copy.log.swap", "copy.log.cleaned", "abcdefghijklmnopqrst.log"]
    for name in foreign:
        files.open(f"{DIRECTORY}/{name}", create=True)
    assert len(result.segments) == 1
    assert pairs(open_log(files.kill(), CONFIG)) == LEFT
    assert sorted(leftovers(files)) == sorted(foreign[:2])
    assert foreign[2] in files.names(DIRECTORY)


def test_a_read_that_was_planned_before_gets_the_bytes_of_then() -> None:
    files = new_disk()
    log = written(files)
    planned = [log.read(offset, 150, 50) for offset in range(50)]
    expected = [bytes(plan.read()) for plan in planned]
    before = [log.read(offset, 150, 50) for offset in range(50)]
    swap_in(log, cleaned(log, files))
    assert [bytes(plan.read()) for plan in before] == expected
    assert pairs(log) == LEFT


def test_a_walk_over_headers_goes_on_undisturbed() -> None:
    files = new_disk()
    log = written(files)
    walk = log.headers(0)
    first = [next(walk).base_offset for _ in range(7)]
    swap_in(log, cleaned(log, files))
    assert first + [header.base_offset for header in walk] == list(range(50))


def test_appends_rolls_and_flushes_go_on_between_a_pass_and_its_swap() -> None:
    files = new_disk()
    log = written(files)
    result = cleaned(log, files)
    keyed(log, ("new", "x"))
    log.roll()
    keyed(log, ("new", "y"))
    swap_in(log, result)
    flush(log)
    assert pairs(log) == [*LEFT, (50, "new", "x"), (51, "new", "y")]
    assert pairs(open_log(files.kill(), CONFIG)) == pairs(log)


def test_timestamps_are_found_in_compacted_segments() -> None:
    files = new_disk()
    log = written(files)
    swap_in(log, cleaned(log, files))
    assert log.offset_for_timestamp(NOW + 3, 50) == (40, NOW + 40)
    assert log.offset_for_timestamp(NOW + 44, 50) == (44, NOW + 44)
    assert log.offset_of_max_timestamp(50) == (49, NOW + 49)


def test_compacted_segments_are_removed_from_the_start_of_the_log() -> None:
    files = new_disk()
    log = written(files)
    swap_in(log, cleaned(log, files))
    log.remove_segments(log.delete_before(50))
    assert [name for name in files.names(DIRECTORY) if name.endswith(".log")] == [f"{50:020d}.log"]
    assert log.size == 0


def test_what_was_appended_counts_whatever_was_removed() -> None:
    files = new_disk()
    log = written(files)
    appended = log.appended_size
    assert log.size == appended
    swap_in(log, cleaned(log, files))
    assert log.size < appended
    assert log.appended_size == appended
    log.delete_before(45)
    assert log.appended_size == appended


def test_segments_that_are_not_all_there_any_more_are_not_swapped() -> None:
    files = new_disk()
    log = written(files)
    result = cleaned(log, files)
    old = made_of(log, result)
    log.remove_segments(log.delete_before(old[0].next_offset))
    assert log.swap(old, result.segments[0]) is None
    log.remove_cleaned()
    assert leftovers(files) == []


def test_segments_that_go_during_the_swap_do_not_take_the_new_one_with_them() -> None:
    files = new_disk()
    log = written(files)
    result = cleaned(log, files)
    swap = log.swap(made_of(log, result), result.segments[0])
    assert swap is not None
    swap.run()
    removed = log.delete_before(20)
    log.end_swap(swap)
    log.remove_segments(removed)
    assert pairs(log) == LEFT
    assert log.size == sum(len(batch) for batch, _ in all_batches(log))
    again = open_log(files.kill(), CONFIG, log_start_offset=20)
    assert pairs(again) == LEFT


class FailingFiles(ForgettingFiles):
    """Fails at the nth of a kind of operation on names."""

    fails_at: tuple[str, int] = ("", 0)
    fails_for_good: tuple[str, int] = ("", 0)

    def _count(self, what: str) -> None:
        operation, left = self.fails_for_good
        if operation and (left <= 0 or what == operation):
            self.fails_for_good = (operation, left - 1)
            if left <= 1:
                raise OSError(errno.EIO, os.strerror(errno.EIO))
        if self.fails_at[0] == what:
            self.fails_at = (what, self.fails_at[1] - 1)
            if self.fails_at[1] == 0:
                raise OSError(errno.EIO, os.strerror(errno.EIO))

    def rename(self, old: str, new: str) -> None:
        self._count("rename")
        super().rename(old, new)

    def remove(self, path: str) -> None:
        self._count("remove")
        super().remove(path)

    def sync_directory(self, path: str) -> None:
        self._count("sync")
        super().sync_directory(path)


def failing_disk() -> FailingFiles:
    files = FailingFiles()
    for path, parent in (("/data", "/"), (DIRECTORY, "/data")):
        files.make_directory(path)
        files.sync_directory(parent)
    return files


FAILURES = [
    *(("rename", number) for number in range(1, 7)),
    *(("sync", number) for number in range(1, 4)),
    *(("remove", number) for number in range(1, 4)),
]
UNDONE = [("rename", 1), ("rename", 2), ("rename", 3), ("sync", 1), ("sync", 2)]
"""Before it was decided."""


@pytest.mark.parametrize("failure", FAILURES)
def test_a_swap_that_fails_leaves_a_log_that_reads_on_and_a_start_finds_all_of_it(
    failure: tuple[str, int],
) -> None:
    files = failing_disk()
    log = written(files)
    result = cleaned(log, files)
    before = pairs(log)
    swap = log.swap(made_of(log, result), result.segments[0])
    assert swap is not None
    files.fails_at = failure
    with pytest.raises(OSError, match="Input/output error"):
        swap.run()
    files.fails_at = ("", 0)
    assert pairs(log) == before
    assert swap.is_undone == (failure in UNDONE)
    if swap.is_undone:
        assert leftovers(files) == []
        swap_in(log, cleaned(log, files))
        assert pairs(log) == LEFT
    keyed(log, ("new", "x"))
    flush(log)
    log.remove_segments(log.delete_before(30))
    assert pairs(log)[-1] == (50, "new", "x")
    again = open_log(files.kill(), CONFIG, log_start_offset=30)
    assert {key: value for _, key, value in pairs(again)} == {
        **{key: value for _, key, value in LEFT},
        "new": "x",
    }
    assert leftovers(files) == []


@pytest.mark.parametrize("again", [*FAILURES, ("", 0)])
@pytest.mark.parametrize("failure", [each for each in FAILURES if each not in UNDONE])
def test_a_swap_that_was_decided_is_finished_from_wherever_it_failed(
    failure: tuple[str, int], again: tuple[str, int]
) -> None:
    files = failing_disk()
    log = written(files)
    result = cleaned(log, files)
    swap = log.swap(made_of(log, result), result.segments[0])
    assert swap is not None
    files.fails_at = failure
    with pytest.raises(OSError, match="Input/output error"):
        swap.run()
    assert log.unfinished_swap is swap
    assert log.swap(swap.old, result.segments[0]) is None
    files.fails_at = again
    with suppress(OSError):
        swap.finish()
    for seed in range(3):
        assert pairs(open_log(files.cut(Random(seed)), CONFIG, recovery_point=50)) == LEFT
    files.fails_at = ("", 0)
    swap.finish()
    log.end_swap(swap)
    assert log.unfinished_swap is None
    swap.forget_old()
    assert pairs(log) == LEFT
    assert leftovers(files) == []
    assert pairs(open_log(files.kill(), CONFIG)) == LEFT


def test_a_log_that_begins_anew_has_no_use_for_an_unfinished_swap() -> None:
    files = failing_disk()
    log = written(files)
    result = cleaned(log, files)
    swap = log.swap(made_of(log, result), result.segments[0])
    assert swap is not None
    files.fails_at = ("remove", 1)
    with pytest.raises(OSError, match="Input/output error"):
        swap.run()
    files.fails_at = ("", 0)
    keyed(log, ("new", "x"))
    log.delete_before(log.end_offset)
    log.recover_from_failed_flush()
    assert log.unfinished_swap is None
    assert leftovers(files) == []
    assert log.log_start_offset == log.end_offset == 51


@pytest.mark.parametrize("renames", [1, 2, 3])
def test_a_swap_whose_undoing_fails_too_is_undone_later_or_by_the_next_start(renames: int) -> None:
    files = failing_disk()
    log = written(files)
    result = cleaned(log, files)
    swap = log.swap(made_of(log, result), result.segments[0])
    assert swap is not None
    files.fails_for_good = ("rename", renames)
    with pytest.raises(OSError, match="Input/output error"):
        swap.run()
    files.fails_for_good = ("", 0)
    assert not swap.is_undone
    assert len(pairs(log)) == 50
    for seed in range(10):
        assert pairs(open_log(files.cut(Random(seed)), CONFIG, recovery_point=50))[-10:] == LEFT
    assert log.unfinished_swap is swap
    swap.finish()
    assert swap.is_undone
    assert log.unfinished_swap is None
    assert leftovers(files) == []
    swap_in(log, cleaned(log, files))
    assert pairs(log) == LEFT


def test_old_files_are_closed_when_the_last_reader_has_gone(tmp_path: Path) -> None:
    directory = str(tmp_path)
    files = OsFiles()
    log = Log.open(DiskSegments(files, directory), CONFIG)
    for number in range(50):
        keyed(log, (f"{number % 10}", f"{number}"))
    log.roll()
    flush(log)
    planned = log.read(3, 10, 50)
    asked = request(log, rules(log), log.end_offset, directory)
    assert asked is not None
    result = run(compact(files, asked), lambda: None)
    swap_in(log, result)
    assert any("(deleted)" in name for name in _open_files(directory))
    assert [header.base_offset for _, header in batches(planned.read())] == [3]
    del planned
    assert not any("(deleted)" in name for name in _open_files(directory))


def _open_files(directory: str) -> list[str]:
    names = map(_target, Path("/proc/self/fd").iterdir())
    return [name for name in names if directory in name]


def _target(path: Path) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""


def test_a_start_removes_what_was_not_decided_and_completes_what_was() -> None:
    files = new_disk()
    log = written(files)
    cleaned(log, files)
    assert leftovers(files)
    again = open_log(files.kill(), CONFIG)
    assert leftovers(files) == []
    assert len(pairs(again)) == 50
    cleaned(again, files)
    base = f"{DIRECTORY}/{0:020d}"
    for suffix in (".index", ".timeindex", ".log"):
        files.rename(f"{base}{suffix}.cleaned", f"{base}{suffix}.swap")
    for clean in (True, False):
        assert pairs(open_log(files.kill(), CONFIG, recovery_point=50, clean=clean)) == LEFT
    assert leftovers(files) == []
