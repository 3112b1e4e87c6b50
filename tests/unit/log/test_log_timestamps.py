"""Finding records by their timestamps."""

import pytest
from tests.unit.log.conftest import NewLog
from tests.unit.log.logs import append, batch_of

from kafkaesque.log.log import Log, LogConfig
from kafkaesque.records.batch import Codec, read_header

SMALL = LogConfig(segment_bytes=400, index_interval_bytes=100)


def filled(log: Log) -> Log:
    """Pairs of records 10 ms apart, a batch each: offset n has the timestamp 1000 + 10 n."""
    for number in range(0, 40, 2):
        append(log, (1000 + 10 * number, 1010 + 10 * number))
    return log


@pytest.mark.parametrize("timestamp", [0, 1000, 1001, 1009, 1010, 1195, 1390])
def test_the_first_record_not_older_than_a_timestamp(new_log: NewLog, timestamp: int) -> None:
    log = filled(new_log(SMALL))
    number = max(0, -(-(timestamp - 1000) // 10))
    assert log.offset_for_timestamp(timestamp, 40) == (number, 1000 + 10 * number)


def test_nothing_is_as_new_as_that(new_log: NewLog) -> None:
    assert filled(new_log(SMALL)).offset_for_timestamp(1391, 40) is None
    assert new_log(SMALL).offset_for_timestamp(0, 0) is None


def test_what_lies_above_the_limit_is_not_found(new_log: NewLog) -> None:
    log = filled(new_log(SMALL))
    assert log.offset_for_timestamp(1200, 20) is None
    assert log.offset_for_timestamp(1190, 20) == (19, 1190)


def test_deleted_records_are_not_found(new_log: NewLog) -> None:
    log = filled(new_log(SMALL))
    log.delete_before(13)
    assert log.offset_for_timestamp(1000, 40) == (13, 1130)


def test_timestamps_need_not_rise(new_log: NewLog) -> None:
    log = new_log(SMALL)
    timestamps = [50, 90, 20, 90, 10, 99, 30, 70] * 4
    for timestamp in timestamps:
        append(log, (timestamp,))
    for wanted in range(1, 101):
        found = next(((i, t) for i, t in enumerate(timestamps) if t >= wanted), None)
        assert log.offset_for_timestamp(wanted, len(timestamps)) == found


def test_the_newest_record_is_the_first_with_the_largest_timestamp(new_log: NewLog) -> None:
    log = new_log(SMALL)
    assert log.offset_of_max_timestamp(0) is None
    timestamps = [50, 90, 20, 90, 10, 99, 30, 99, 70]
    for timestamp in timestamps:
        append(log, (timestamp,))
    for limit in range(1, len(timestamps) + 1):
        newest = max(timestamps[:limit])
        assert log.offset_of_max_timestamp(limit) == (timestamps.index(newest), newest)


def test_a_deleted_record_is_not_the_newest_even_within_a_batch(new_log: NewLog) -> None:
    log = new_log(SMALL)
    append(log, (10, 90, 40, 30))
    append(log, (20,))
    log.delete_before(2)
    assert log.offset_of_max_timestamp(5) == (2, 40)


def test_records_without_timestamps_are_not_the_newest(new_log: NewLog) -> None:
    log = new_log(SMALL)
    append(log, (-1,))
    assert log.offset_of_max_timestamp(1) is None


def test_a_compressed_batch_is_opened(new_log: NewLog) -> None:
    log = new_log(SMALL)
    batch = batch_of(0, (10, 20, 30), codec=Codec.ZSTD)
    log.append(batch, read_header(batch), 0)
    assert log.offset_for_timestamp(15, 3) == (1, 20)
