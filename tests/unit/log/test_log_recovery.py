"""Opening a log that was not closed: the longest good part of it, and a word on every repair."""

import contextlib
from random import Random

import pytest
from tests.crash.forgetting import ForgettingFiles, PowerCut
from tests.unit.log.logs import (
    DIRECTORY,
    NOW,
    append,
    append_many,
    batch_of,
    checkpoint,
    content,
    flush,
    new_disk,
    open_log,
    path_of,
    read_all,
)

from kafkaesque.errors import KafkaError
from kafkaesque.log.log import LogConfig
from kafkaesque.records.batch import Record, new_batch, read_header

SMALL = LogConfig(segment_bytes=1000, index_interval_bytes=100)


def written(count: int = 40, config: LogConfig = SMALL) -> tuple[ForgettingFiles, list[bytes]]:
    files = new_disk()
    log = open_log(files, config)
    batches = append_many(log, count)
    flush(log)
    return files, batches


def test_an_untouched_directory_becomes_an_empty_log() -> None:
    log = open_log(new_disk())
    assert (log.log_start_offset, log.end_offset) == (0, 0)
    assert log.recovery.sentences == []


def test_a_directory_without_segments_begins_at_its_start_offset() -> None:
    files = new_disk()
    open_log(files).write_snapshot(90, b"of records that are gone")
    files.remove(path_of(0, ".log"))
    log = open_log(files, log_start_offset=70, recovery_point=60)
    assert (log.log_start_offset, log.end_offset) == (70, 70)
    append_many(log, 30)
    assert log.latest_snapshot() is None


def test_a_killed_process_loses_nothing_that_it_had_written() -> None:
    files, batches = written(40)
    log = open_log(files, SMALL)
    more = append_many(log, 5)
    log = open_log(files.kill(), SMALL)
    assert read_all(log) == b"".join(batches + more)
    assert log.flushed_offset == 45


def test_the_last_segment_cut_at_any_byte_reopens_to_its_longest_good_part() -> None:
    files, batches = written(10, LogConfig())
    whole = content(files, path_of(0, ".log"))
    keep = len(whole) - len(batches[-1]) - len(batches[-2])
    for size in range(keep, len(whole) + 1):
        machine = new_disk()
        machine.open(path_of(0, ".log"), create=True).pwrite(whole[:size], 0)
        log = open_log(machine)
        good = 8 + (size >= keep + len(batches[-2])) + (size == len(whole))
        assert log.end_offset == good
        assert read_all(log) == b"".join(batches[:good])
        assert log.recovery.cut_bytes == size - sum(map(len, batches[:good]))
        assert bool(log.recovery.sentences) == bool(log.recovery.cut_bytes)


def test_a_flipped_bit_ends_the_log_before_its_batch() -> None:
    files, batches = written(6, LogConfig())
    whole = content(files, path_of(0, ".log"))
    start = sum(map(len, batches[:4]))
    # Bytes 12 to 15 are the leader epoch, which no CRC covers and recovery has no use for.
    for at in [*range(12), *range(16, len(batches[4]))]:
        for bit in (0, 7):
            damaged = bytearray(whole)
            damaged[start + at] ^= 1 << bit
            machine = new_disk()
            machine.open(path_of(0, ".log"), create=True).pwrite(damaged, 0)
            log = open_log(machine)
            if at < 8 and read_header(damaged, start).base_offset > 4:
                continue  # a higher base offset alone looks like a gap
            assert log.end_offset == 4, f"byte {at}, bit {bit}"
            assert read_all(log) == b"".join(batches[:4])
            assert len(log.recovery.sentences) == 1


def test_what_was_cut_does_not_come_back() -> None:
    files, batches = written(10, LogConfig())
    files.open(path_of(0, ".log")).pwrite(b"rot", sum(map(len, batches[:7])) + 40)
    log = open_log(files)
    assert log.end_offset == 7
    assert files.size(path_of(0, ".log")) == log.size
    replacement = append(log, fill=200)
    flush(log)
    assert read_all(open_log(files.kill())) == b"".join([*batches[:7], replacement])


def test_segments_behind_a_damaged_one_are_dropped() -> None:
    files, batches = written(40)
    per_segment = 1000 // len(batches[0])
    files.open(path_of(per_segment, ".log")).pwrite(b"rot", 300)
    log = open_log(files, SMALL)
    good = per_segment + 300 // len(batches[0])
    assert read_all(log) == b"".join(batches[:good])
    assert sum("dropped" in sentence for sentence in log.recovery.sentences) == 2
    names = files.names(DIRECTORY)
    assert sorted(name for name in names if name.endswith(".log")) == [
        f"{0:020d}.log",
        f"{per_segment:020d}.log",
    ]


@pytest.mark.parametrize("loss", ["missing", "short"])
def test_a_segment_that_does_not_follow_the_one_before_it_is_dropped(loss: str) -> None:
    files, batches = written(40)
    per_segment = 1000 // len(batches[0])
    good = per_segment
    if loss == "missing":
        files.remove(path_of(per_segment, ".log"))
    else:
        good = 2 * per_segment - 1
        files.open(path_of(per_segment, ".log")).truncate(len(batches[0]) * (per_segment - 1))
    log = open_log(files, SMALL)
    assert read_all(log) == b"".join(batches[:good])
    assert any("but the log ends at" in sentence for sentence in log.recovery.sentences)


@pytest.mark.parametrize("recovery_point", [None, 40])
@pytest.mark.parametrize("tail", ["a batch", "rubbish"])
def test_what_lies_behind_the_end_of_a_sealed_segment_is_cut(
    recovery_point: int | None, tail: str
) -> None:
    files, batches = written(40)
    checkpoint(open_log(files, SMALL))
    per_segment = 1000 // len(batches[0])
    stale = batch_of(per_segment, fill=77) if tail == "a batch" else b"rubbish"
    first = files.open(path_of(0, ".log"))
    size = first.size()
    first.pwrite(stale, size)
    log = open_log(files.kill(), SMALL, recovery_point=recovery_point)
    assert read_all(log) == b"".join(batches)
    assert first.size() == size
    assert any("cut by" in sentence for sentence in log.recovery.sentences)


def test_damage_below_the_recovery_point_is_told_and_left_alone() -> None:
    files, batches = written(40)
    checkpoint(open_log(files, SMALL))
    per_segment = 1000 // len(batches[0])
    files.open(path_of(per_segment, ".log")).truncate((per_segment - 1) * len(batches[0]) + 3)
    log = open_log(files.kill(), SMALL, recovery_point=40)
    assert log.end_offset == 40
    assert any("among records that were durable" in sentence for sentence in log.recovery.sentences)
    assert log.read(2 * per_segment, 1, 40).read() == batches[2 * per_segment]


def test_below_the_recovery_point_nothing_is_scanned() -> None:
    files, _ = written(40)
    log = open_log(files, SMALL)
    point = checkpoint(log)
    files.open(path_of(0, ".log")).pwrite(b"rot", 300)
    log = open_log(files.kill(), SMALL, recovery_point=point)
    assert log.end_offset == 40
    assert log.recovery.cut_bytes == 0


@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
@pytest.mark.parametrize("damage", ["missing", "empty", "short", "zeroed"])
@pytest.mark.parametrize("segment", ["sealed", "active"])
def test_a_damaged_index_is_built_anew(suffix: str, damage: str, segment: str) -> None:
    files, batches = written(38)
    log = open_log(files, SMALL)
    point = checkpoint(log)
    per_segment = 1000 // len(batches[0])
    path = path_of(per_segment if segment == "sealed" else 3 * per_segment, suffix)
    before = content(files, path)
    if damage == "missing":
        files.remove(path)
    elif damage == "empty":
        files.open(path).truncate(0)
    elif damage == "short":
        files.open(path).truncate(len(before) - 1)
    else:
        files.open(path).pwrite(bytes(len(before)), 0)
    log = open_log(files.kill(), SMALL, recovery_point=point)
    assert read_all(log) == b"".join(batches)
    assert log.offset_for_timestamp(NOW + 30, 38) == (30, NOW + 30)
    if segment == "sealed":
        assert content(files, path) == before
    if not (segment == "active" and damage == "empty"):
        assert log.recovery.rebuilt_indexes == 1
        assert any("built anew" in sentence for sentence in log.recovery.sentences)


def test_a_missing_index_is_built_anew_after_a_clean_stop_too() -> None:
    files, batches = written(38)
    log = open_log(files, SMALL)
    log.close(clean=True)
    per_segment = 1000 // len(batches[0])
    for base_offset in (per_segment, 3 * per_segment):
        files.remove(path_of(base_offset, ".index"))
    log = open_log(files, SMALL, recovery_point=38, clean=True)
    assert len(log.recovery.sentences) == 2
    assert log.recovery.scanned_bytes == 0
    assert read_all(log) == b"".join(batches)


def test_a_clean_stop_without_a_recovery_point_measures_the_log() -> None:
    files, batches = written(38)
    open_log(files, SMALL).close(clean=True)
    log = open_log(files, SMALL, clean=True)
    assert log.end_offset == 38
    assert read_all(log) == b"".join(batches)


def test_a_torn_log_behind_a_clean_marker_is_scanned() -> None:
    files, batches = written(38)
    open_log(files, SMALL).close(clean=True)
    per_segment = 1000 // len(batches[0])
    files.open(path_of(3 * per_segment, ".log")).truncate(2 * len(batches[0]) + 5)
    log = open_log(files, SMALL, clean=True)
    assert log.end_offset == 3 * per_segment + 2
    assert any("after a clean stop" in sentence for sentence in log.recovery.sentences)


def test_a_log_that_is_not_as_it_was_closed_is_refused_and_cannot_be_closed_clean() -> None:
    files, batches = written(38)
    open_log(files, SMALL).close(clean=True)
    per_segment = 1000 // len(batches[0])
    files.open(path_of(3 * per_segment, ".log")).truncate(2 * len(batches[0]))
    log = open_log(files, SMALL, recovery_point=38, clean=True)
    with pytest.raises(KafkaError, match="restart the broker"):
        append(log)
    with pytest.raises(KafkaError, match="must be scanned"):
        log.close(clean=True)
    assert open_log(files, SMALL, recovery_point=38).end_offset == 3 * per_segment + 2


def test_segments_below_the_log_start_are_what_an_interrupted_removal_left() -> None:
    files, batches = written(40)
    per_segment = 1000 // len(batches[0])
    log = open_log(files, SMALL, log_start_offset=per_segment + 2)
    assert log.log_start_offset == per_segment + 2
    assert read_all(log) == b"".join(batches[per_segment + 2 :])
    assert not files.exists(path_of(0, ".log"))
    assert not files.exists(path_of(0, ".index"))


def test_a_log_that_ends_below_its_start_begins_anew_at_its_start() -> None:
    files, _ = written(5)
    log = open_log(files, SMALL, log_start_offset=9)
    assert (log.log_start_offset, log.end_offset, log.size) == (9, 9, 0)
    assert any("begins anew" in sentence for sentence in log.recovery.sentences)
    batch = append(log)
    flush(log)
    assert read_all(open_log(files.kill(), SMALL, log_start_offset=9)) == batch


def test_index_files_without_a_log_and_half_written_files_are_cleared_away() -> None:
    files, _ = written(5)
    for name in (f"{77:020d}.index", f"{77:020d}.timeindex", f"{5:020d}.producers.tmp"):
        files.open(f"{DIRECTORY}/{name}", create=True)
    open_log(files, SMALL)
    names = files.names(DIRECTORY)
    assert not [name for name in names if "77" in name or name.endswith(".tmp")]


def test_a_snapshot_beyond_the_recovered_end_is_removed() -> None:
    files, batches = written(10, LogConfig())
    log = open_log(files)
    log.write_snapshot(6, b"six")
    log.write_snapshot(10, b"ten")
    files.open(path_of(0, ".log")).pwrite(b"rot", sum(map(len, batches[:8])) + 40)
    log = open_log(files.kill())
    append_many(log, 5)
    assert log.latest_snapshot() == (6, b"six")


def test_a_batch_larger_than_the_scan_window_is_scanned() -> None:
    files = new_disk()
    log = open_log(files)
    batches = [append(log, size=size) for size in (100, 3_000_000, 100, 1_100_000)]
    log = open_log(files.kill())
    assert log.recovery.sentences == []
    assert read_all(log) == b"".join(batches)
    files.open(path_of(0, ".log")).pwrite(b"rot", 2_000_000)
    assert open_log(files.kill()).end_offset == 1


def test_lost_records_below_the_recovery_point_are_told() -> None:
    files, batches = written(10, LogConfig())
    files.open(path_of(0, ".log")).truncate(3 * len(batches[0]) + 1)
    log = open_log(files, recovery_point=10)
    assert log.end_offset == 3
    assert any("are lost" in sentence for sentence in log.recovery.sentences)


def test_a_torn_write_holding_what_looks_like_a_batch_is_no_batch() -> None:
    files = new_disk()
    log = open_log(files)
    append(log)
    flush(log)
    # A value that is itself a batch: overwritten in part, it must not be found behind the new end.
    trap = batch_of(2, size=10)
    files.free_bytes = 400
    bait = new_batch([Record(1, NOW, None, bytes(7) + trap + bytes(500))], base_offset=1)
    with pytest.raises(KafkaError):
        log.append(bait, read_header(bait), NOW)
    files.free_bytes = None
    append(log, size=bait.find(trap) - len(batch_of(1, size=0)))
    log = open_log(files.kill())
    assert log.end_offset == 2


def test_a_start_removes_nothing_before_it_is_sure_of_what_follows() -> None:
    """Else a second crash could leave only the last segment, which a kill left half on disk."""
    for change in range(1, 15):
        for seed in range(20):
            files, _ = written(10, LogConfig(index_interval_bytes=100))
            log = open_log(files, SMALL)
            for _ in range(3):
                log.roll()
                append(log)
            machine = files.kill()
            machine.cut_at = change
            with contextlib.suppress(PowerCut):
                open_log(machine, SMALL, log_start_offset=10, recovery_point=10)
            again = open_log(machine.cut(Random(seed)), SMALL, log_start_offset=10)
            assert again.log_start_offset == 10
