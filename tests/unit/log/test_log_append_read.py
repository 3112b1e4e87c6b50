"""Appending, rolling and reading, on disk and in memory."""

import os
import struct
from pathlib import Path

import pytest
from tests.unit.log.conftest import NewLog
from tests.unit.log.logs import (
    NOW,
    append,
    append_many,
    batch_of,
    content,
    flush,
    new_disk,
    open_log,
    path_of,
    read,
    read_all,
)

from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.log.disk import DiskSegments
from kafkaesque.log.files import OsFiles
from kafkaesque.log.log import Log, LogConfig
from kafkaesque.log.segment_files import OpenFiles
from kafkaesque.records.batch import batches as batches_of
from kafkaesque.records.batch import read_header

SMALL = LogConfig(segment_bytes=1000, index_interval_bytes=100)


def test_an_empty_log_has_nothing_to_read(new_log: NewLog) -> None:
    log = new_log(SMALL)
    assert (log.log_start_offset, log.end_offset, log.flushed_offset, log.size) == (0, 0, 0, 0)
    assert log.read(0, 1000, 0).size == 0
    assert read(log, 0) == b""


def test_what_is_appended_is_read_byte_for_byte(new_log: NewLog) -> None:
    log = new_log(SMALL)
    batches = append_many(log, 50)
    assert log.end_offset == 50
    assert log.size == sum(map(len, batches))
    assert read_all(log) == b"".join(batches)


@pytest.mark.parametrize("offset", [0, 1, 2])
def test_a_read_in_the_middle_of_a_batch_returns_the_whole_batch(
    new_log: NewLog, offset: int
) -> None:
    log = new_log(SMALL)
    batch = append(log, (NOW, NOW, NOW))
    append(log)
    assert read(log, offset, max_bytes=len(batch)) == batch


def test_the_first_batch_is_returned_even_if_it_is_too_large(new_log: NewLog) -> None:
    log = new_log(SMALL)
    first, second = append(log, size=500), append(log, size=200)
    assert read(log, 0, max_bytes=1) == first
    assert read(log, 1, max_bytes=0) == second
    alone = log.read(0, len(first) - 1, 2, min_one=False).read_nowait()
    assert alone is not None
    assert bytes(alone) == b""


def test_a_read_ends_before_the_batch_that_would_exceed_its_size(new_log: NewLog) -> None:
    log = new_log(LogConfig(index_interval_bytes=100))
    batches = append_many(log, 20)
    size = len(batches[0])
    assert read(log, 3, max_bytes=4 * size) == b"".join(batches[3:7])
    assert read(log, 3, max_bytes=5 * size - 1) == b"".join(batches[3:7])


def test_a_read_ends_at_its_limit(new_log: NewLog) -> None:
    log = new_log(LogConfig(index_interval_bytes=100))
    batches = append_many(log, 20)
    for limit in range(20):
        expected = b"".join(batches[4:limit])
        assert read(log, 4, limit=limit) == expected
        assert (log.read(4, 1 << 20, limit).size == 0) == (limit <= 4)


def test_a_read_stays_within_a_segment_and_the_next_one_goes_on(new_log: NewLog) -> None:
    log = new_log(SMALL)
    batches = append_many(log, 30)
    per_segment = 1000 // len(batches[0])
    assert read(log, per_segment - 2) == b"".join(batches[per_segment - 2 : per_segment])
    assert read(log, per_segment) == b"".join(batches[per_segment : 2 * per_segment])


@pytest.mark.parametrize("offset", [-1, 6])
def test_offsets_outside_the_log_are_refused(new_log: NewLog, offset: int) -> None:
    log = new_log(SMALL)
    append_many(log, 5)
    with pytest.raises(KafkaError) as refused:
        log.read(offset, 1000, 5)
    assert refused.value.code is ErrorCode.OFFSET_OUT_OF_RANGE
    assert read(log, 5) == b""


def test_an_offset_above_the_limit_has_nothing_to_read_yet(new_log: NewLog) -> None:
    log = new_log(SMALL)
    append_many(log, 5)
    assert log.read(4, 1000, 3).size == 0


def test_a_gap_between_offsets_is_read_over(new_log: NewLog) -> None:
    log = new_log(SMALL)
    append(log)
    for base_offset in (10, 20):
        batch = batch_of(base_offset)
        log.append(batch, read_header(batch), NOW)
        log.roll()
    assert read(log, 1) == batch_of(10)
    assert read(log, 11) == batch_of(20), "nothing is left above 11 in its segment"


def test_a_tail_read_is_one_read_of_exactly_the_new_bytes() -> None:
    log = open_log(new_disk())
    append_many(log, 100)
    flush(log)
    batch = append(log)
    flush(log)
    log.config = SMALL
    piece = log.read(100, 1 << 20, log.flushed_offset)
    assert piece.size == len(batch)
    assert piece.read_nowait() == batch


def test_cold_bytes_are_left_to_a_thread() -> None:
    files = new_disk()
    log = open_log(files, SMALL)
    batches = append_many(log, 30)
    files.is_cold = True
    for offset in (0, 5, 25, 29):
        piece = log.read(offset, len(batches[0]), 30)
        assert piece.read_nowait() is None
        assert bytes(piece.read()) == batches[offset]


def test_a_reader_from_the_disk_gets_pieces_and_stays_off_the_loop_meanwhile() -> None:
    files = new_disk()
    log = open_log(files)
    batches = append_many(log, 8, size=200_000)
    files.is_cold = True
    piece = log.read(0, 1 << 30, 8)
    assert piece.read_nowait() is None
    assert bytes(piece.read()) == b"".join(batches[:2]), "half a megabyte, in whole batches"
    files.is_cold = False
    following = log.read(2, 1 << 30, 8)
    assert following.read_nowait() is None, "the loop does not ask the disk for a cold reader"
    assert bytes(following.read()) == b"".join(batches[2:4])
    assert read(log, 4) == b"".join(batches[4:]), "what was cached again is read on the loop"


def test_a_batch_larger_than_a_piece_from_the_disk_comes_whole() -> None:
    files = new_disk()
    log = open_log(files)
    batches = append_many(log, 2, size=700_000)
    files.is_cold = True
    for offset in (0, 1):
        assert bytes(log.read(offset, 1 << 30, 2).read()) == batches[offset]


@pytest.mark.parametrize(
    ("config", "sizes"),
    [
        (LogConfig(segment_bytes=400), [4, 4, 4]),
        (LogConfig(segment_ms=5), [6, 6]),
        (LogConfig(segment_index_bytes=48, index_interval_bytes=90), [7, 5]),
    ],
    ids=["size", "time", "index"],
)
def test_a_segment_is_rolled_by(config: LogConfig, sizes: list[int]) -> None:
    files = new_disk()
    log = open_log(files, config)
    append_many(log, 12)
    bases = [sum(sizes[:i]) for i in range(len(sizes))]
    names = sorted(name for name in files.names("/data/orders-0") if name.endswith(".log"))
    assert names == [f"{base:020d}.log" for base in bases]


def test_records_without_timestamps_are_rolled_by_the_wall_clock(new_log: NewLog) -> None:
    log = new_log(LogConfig(segment_ms=1000))
    first = append(log, (-1,), now_ms=NOW)
    append(log, (-1,), now_ms=NOW + 1000)
    append(log, (-1,), now_ms=NOW + 1001)
    assert len(read(log, 0)) == 2 * len(first)


def test_a_segment_is_rolled_before_a_relative_offset_overflows() -> None:
    files = new_disk()
    log = open_log(files)
    append(log)
    for base_offset in (2**31 - 1, 2**31, 2**33):
        batch = batch_of(base_offset)
        log.append(batch, read_header(batch), NOW)
    names = sorted(name for name in files.names("/data/orders-0") if name.endswith(".log"))
    assert names == [f"{base:020d}.log" for base in (0, 2**31, 2**33)]
    assert read(log, 5) == batch_of(2**31 - 1)
    assert read(log, 2**31 + 1) == batch_of(2**33)


def test_a_config_takes_effect_with_the_next_append(new_log: NewLog) -> None:
    log = new_log(LogConfig())
    batches = append_many(log, 10)
    log.config = LogConfig(segment_bytes=100)
    append(log)
    assert read(log, 0) == b"".join(batches)


def test_a_failed_append_leaves_the_log_as_it_was() -> None:
    files = new_disk()
    log = open_log(files, SMALL)
    batches = append_many(log, 3)
    for free_bytes in (0, 1, 50):
        files.free_bytes = free_bytes
        with pytest.raises(KafkaError, match="No space left") as failed:
            append(log, size=300, fill=9)
        assert failed.value.code is ErrorCode.KAFKA_STORAGE_ERROR
        assert log.end_offset == 3
        assert read_all(log) == b"".join(batches)
    files.free_bytes = None
    batches.append(append(log, fill=7))
    assert read_all(log) == b"".join(batches)
    assert files.size(path_of(0, ".log")) == log.size, "nothing of the failed batch is left behind"


def test_a_failed_roll_leaves_the_log_as_it_was() -> None:
    files = new_disk()
    log = open_log(files, LogConfig(segment_bytes=200, index_interval_bytes=50))
    batches = append_many(log, 2)
    files.free_bytes = 0
    with pytest.raises(KafkaError, match="No space left"):
        append(log)
    assert read_all(log) == b"".join(batches)
    files.free_bytes = None
    batches.append(append(log, fill=5))
    assert read_all(log) == b"".join(batches)


def test_a_file_that_cannot_be_read_is_a_storage_error() -> None:
    files = new_disk()
    log = open_log(files)
    append_many(log, 3)
    files.open(path_of(0, ".log")).truncate(100)
    with pytest.raises(KafkaError, match="cannot be read") as failed:
        log.read(0, 1000, 3).read_nowait()
    assert failed.value.code is ErrorCode.KAFKA_STORAGE_ERROR


def test_headers_are_walked_from_the_batch_with_an_offset(new_log: NewLog) -> None:
    log = new_log(SMALL)
    for _ in range(20):
        append(log, (NOW, NOW), size=70)
    assert [header.base_offset for header in log.headers(0)] == list(range(0, 40, 2))
    assert [header.base_offset for header in log.headers(17)] == list(range(16, 40, 2))
    assert list(log.headers(40)) == []


def test_a_large_batch_is_walked_over(new_log: NewLog) -> None:
    log = new_log(LogConfig())
    batches = [append(log, size=size) for size in (10, 200_000, 10, 70_000, 10)]
    assert [header.size for header in log.headers(0)] == [len(batch) for batch in batches]
    assert read(log, 2, limit=3) == batches[2]


@pytest.mark.parametrize("offset", [0, 1, 7, 20, 29, 30])
def test_truncating_drops_the_batch_with_the_offset_and_all_after_it(
    new_log: NewLog, offset: int
) -> None:
    log = new_log(SMALL)
    batches = append_many(log, 30)
    log.truncate(offset)
    assert log.end_offset == offset
    assert log.flushed_offset <= offset
    assert log.size == sum(map(len, batches[:offset]))
    assert read_all(log) == b"".join(batches[:offset])
    more = [append(log, fill=99) for _ in range(15)]
    assert read_all(log) == b"".join([*batches[:offset], *more])


def test_truncating_within_a_batch_drops_it_whole(new_log: NewLog) -> None:
    log = new_log(SMALL)
    first = append(log)
    append(log, (NOW, NOW, NOW))
    log.truncate(2)
    assert log.end_offset == 1
    assert read_all(log) == first


def test_truncating_below_the_start_of_what_is_left_keeps_the_start(new_log: NewLog) -> None:
    log = new_log(SMALL)
    append(log, (NOW, NOW, NOW))
    log.delete_before(2)
    log.truncate(2)
    assert (log.log_start_offset, log.end_offset) == (2, 2)
    batch = append(log)
    assert read_all(log) == batch


def test_hints_from_before_a_truncation_are_forgotten(new_log: NewLog) -> None:
    log = new_log(LogConfig())
    append_many(log, 10)
    read(log, 0, max_bytes=300)
    log.truncate(1)
    batches = [append(log, size=size, fill=3) for size in (100, 50, 10, 200)]
    for number, batch in enumerate(batches):
        assert read(log, number + 1, max_bytes=1) == batch


def test_a_reader_at_the_head_reads_nothing_but_what_is_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "orders-0").mkdir()
    log = Log.open(DiskSegments(OsFiles(), str(tmp_path / "orders-0")), LogConfig())
    reads = []

    def preadv(descriptor: int, buffers: list[bytearray], *more: int) -> int:
        reads.append(len(buffers[0]))
        return original(descriptor, buffers, *more)

    original = os.preadv
    monkeypatch.setattr(os, "preadv", preadv)
    for number in range(20):
        batch = append(log, size=100 + number)
        assert read(log, number) == batch
        assert reads.pop() == len(batch)
    assert reads == []


def test_sealed_files_are_held_open_in_a_capped_number() -> None:
    files = new_disk()
    pool = OpenFiles(capacity=3)
    log = Log.open(DiskSegments(files, "/data/orders-0", pool), LogConfig(segment_bytes=100))
    batches = append_many(log, 20)
    assert read_all(log) == b"".join(batches)
    assert len(pool) <= 3


def test_index_entries_point_where_kafkas_dump_tool_looks_for_them() -> None:
    files = new_disk()
    log = open_log(files, LogConfig(segment_bytes=3000, index_interval_bytes=250))
    for number in range(120):
        append(log, (NOW + number * 7 % 50, NOW), size=number % 5 * 40)
    log.close(clean=True)
    for name in files.names("/data/orders-0"):
        base = int(name.split(".")[0])
        if name.endswith(".log") or base == log.end_offset:
            continue
        found = {
            header.last_offset: (position, header)
            for position, header in batches_of(content(files, path_of(base, ".log")))
        }
        data = content(files, path_of(base, name[20:]))
        assert data
        if name.endswith(".index"):
            for relative, position in struct.iter_unpack(">ii", data):
                assert found[base + relative][0] == position
        else:
            for timestamp, relative in struct.iter_unpack(">qi", data):
                assert found[base + relative][1].max_timestamp == timestamp
