"""What is deleted from the front of a log: by DeleteRecords, by age, by size."""

import pytest
from tests.unit.log.conftest import NewLog
from tests.unit.log.logs import (
    DIRECTORY,
    NOW,
    append,
    append_many,
    flush,
    new_disk,
    open_log,
    read,
    read_all,
)

from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.log.log import Log, LogConfig

SMALL = LogConfig(segment_bytes=500, index_interval_bytes=100)


def retain(log: Log, now_ms: int, retention_ms: int = -1, retention_bytes: int = -1) -> int:
    """How many segments retention removes."""
    flush(log)
    log.config = LogConfig(
        segment_bytes=500, retention_ms=retention_ms, retention_bytes=retention_bytes
    )
    return len(log.enforce_retention(now_ms))


def test_deleting_raises_the_start_and_returns_the_segments_wholly_below(new_log: NewLog) -> None:
    log = new_log(SMALL)
    batches = append_many(log, 20)
    per_segment = 500 // len(batches[0])
    assert log.delete_before(per_segment - 1) == []
    assert log.log_start_offset == per_segment - 1
    gone = log.delete_before(2 * per_segment + 1)
    assert [segment.base_offset for segment in gone] == [0, per_segment]
    assert read_all(log) == b"".join(batches[2 * per_segment + 1 :])
    assert log.size == sum(map(len, batches[2 * per_segment :]))
    with pytest.raises(KafkaError) as refused:
        log.read(0, 100, 20)
    assert refused.value.code is ErrorCode.OFFSET_OUT_OF_RANGE


def test_the_start_never_goes_down(new_log: NewLog) -> None:
    log = new_log(SMALL)
    append_many(log, 20)
    log.delete_before(9)
    assert log.delete_before(4) == []
    assert log.log_start_offset == 9


def test_the_start_never_passes_the_end(new_log: NewLog) -> None:
    log = new_log(SMALL)
    append_many(log, 3)
    log.delete_before(3)
    assert read(log, 3) == b""
    with pytest.raises(KafkaError) as refused:
        log.delete_before(4)
    assert refused.value.code is ErrorCode.OFFSET_OUT_OF_RANGE


def test_removed_segments_leave_no_file(new_log: NewLog) -> None:
    files = new_disk()
    log = open_log(files, SMALL)
    batches = append_many(log, 20)
    per_segment = 500 // len(batches[0])
    log.remove_segments(log.delete_before(3 * per_segment))
    stems = {name.split(".")[0] for name in files.names(DIRECTORY)}
    assert stems == {f"{base:020d}" for base in range(3 * per_segment, 20, per_segment)}


def test_a_reader_of_a_removed_segment_gets_its_bytes(new_log: NewLog) -> None:
    log = new_log(SMALL)
    batches = append_many(log, 20)
    piece = log.read(0, 1000, 20)
    piece.read_nowait()
    before = log.read(1, len(batches[1]), 20)
    log.delete_before(10)
    data = before.read()
    assert bytes(data) == batches[1]


def test_segments_go_by_the_age_of_their_newest_record(new_log: NewLog) -> None:
    log = new_log(SMALL)
    batches = append_many(log, 20)
    per_segment = 500 // len(batches[0])
    newest_of_first = NOW + per_segment - 1
    assert retain(log, newest_of_first + 1000, retention_ms=1000) == 0
    assert retain(log, newest_of_first + 1001, retention_ms=1000) == 1
    assert log.log_start_offset == per_segment


def test_an_expired_active_segment_is_rolled_and_goes(new_log: NewLog) -> None:
    log = new_log(SMALL)
    batches = append_many(log, 20)
    segments = -(-20 // (500 // len(batches[0])))
    assert retain(log, NOW + 100_000, retention_ms=1000) == segments
    assert (log.log_start_offset, log.end_offset, log.size) == (20, 20, 0)
    assert retain(log, NOW + 200_000, retention_ms=1000) == 0
    batch = append(log)
    assert read_all(log) == batch


def test_segments_go_while_the_rest_is_large_enough(new_log: NewLog) -> None:
    log = new_log(SMALL)
    batches = append_many(log, 20)
    per_segment = 500 // len(batches[0])
    total = sum(map(len, batches))
    first = sum(map(len, batches[:per_segment]))
    assert retain(log, NOW, retention_bytes=total - first + 1) == 0
    assert retain(log, NOW, retention_bytes=total - first) == 1
    assert retain(log, NOW, retention_bytes=0) == -(-20 // per_segment) - 1


def test_what_is_not_flushed_is_not_removed() -> None:
    log = open_log(new_disk(), SMALL)
    batches = append_many(log, 4)
    flush(log)
    append_many(log, 20)
    log.config = LogConfig(segment_bytes=500, retention_ms=0)
    assert log.enforce_retention(NOW + 100_000) == []
    assert read(log, 0, max_bytes=1) == batches[0]


def test_records_without_a_timestamp_do_not_age(new_log: NewLog) -> None:
    log = new_log(SMALL)
    for _ in range(20):
        append(log, (-1,))
    assert retain(log, NOW * 2, retention_ms=1) == 0


def test_no_limit_keeps_everything(new_log: NewLog) -> None:
    log = new_log(SMALL)
    append_many(log, 20)
    assert retain(log, NOW * 2) == 0
