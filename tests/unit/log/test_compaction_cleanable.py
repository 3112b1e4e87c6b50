"""What of a log a pass would take on, and whether it is worth one."""

from dataclasses import replace

import pytest
from tests.unit.log.compacting import keyed
from tests.unit.log.conftest import NewLog
from tests.unit.log.logs import NOW

from kafkaesque.log.cleanable import cleanable
from kafkaesque.log.log import Log, LogConfig

CONFIG = LogConfig(segment_bytes=1 << 20, segment_ms=1 << 50)


def written(new_log: NewLog, config: LogConfig = CONFIG, segments: int = 4) -> Log:
    """Sealed segments of two records each, an hour apart, and an active one with one more."""
    log = new_log(config)
    for number in range(segments):
        for _ in range(2):
            keyed(log, ("k", "v"), at=NOW + number * 3_600_000)
        log.roll()
    keyed(log, ("k", "v"), at=NOW + segments * 3_600_000)
    return log


def test_all_that_is_sealed_is_dirty_at_first(new_log: NewLog) -> None:
    log = written(new_log)
    found = cleanable(log, 0, 9, NOW)
    assert [segment.base_offset for segment in found.segments] == [0, 2, 4, 6]
    assert (found.first_dirty, found.clean_bytes) == (0, 0)
    assert found.dirty_bytes == log.size * 8 // 9
    assert found.dirty_ratio == 1.0
    assert found.is_worth_it(CONFIG)


@pytest.mark.parametrize(("cleaned_to", "ratio"), [(2, 0.75), (4, 0.5), (6, 0.25), (8, 0.0)])
def test_a_pass_is_worth_it_when_more_than_the_ratio_is_dirty(
    new_log: NewLog, cleaned_to: int, ratio: float
) -> None:
    found = cleanable(written(new_log), cleaned_to, 9, NOW)
    assert found.dirty_ratio == ratio
    assert found.is_worth_it(CONFIG) == (ratio > 0.5)
    assert found.is_worth_it(replace(CONFIG, min_cleanable_dirty_ratio=0)) == (ratio > 0)


@pytest.mark.parametrize(("limit", "segments"), [(0, 0), (1, 0), (2, 1), (7, 3), (8, 4), (9, 4)])
def test_nothing_beyond_the_last_stable_offset_is_touched(
    new_log: NewLog, limit: int, segments: int
) -> None:
    assert len(cleanable(written(new_log), 0, limit, NOW).segments) == segments


def test_an_empty_log_has_nothing_to_compact(new_log: NewLog) -> None:
    found = cleanable(new_log(CONFIG), 0, 0, NOW)
    assert (found.segments, found.dirty_ratio) == ([], 0.0)
    assert not found.is_worth_it(replace(CONFIG, min_cleanable_dirty_ratio=0))


@pytest.mark.parametrize("cleaned_to", [-1, 3, 100])
def test_an_offset_that_cannot_be_true_makes_all_of_the_log_dirty(
    new_log: NewLog, cleaned_to: int
) -> None:
    log = written(new_log)
    log.delete_before(4)
    found = cleanable(log, cleaned_to, 9, NOW)
    assert found.first_dirty == 4
    assert [segment.base_offset for segment in found.segments] == [4, 6]


@pytest.mark.parametrize(("hours", "segments"), [(0.5, 0), (1, 1), (2.5, 2), (9, 4)])
def test_records_younger_than_the_least_lag_are_left_alone(
    new_log: NewLog, hours: float, segments: int
) -> None:
    log = written(new_log, replace(CONFIG, min_compaction_lag_ms=3_600_000))
    found = cleanable(log, 0, 9, NOW + round(hours * 3_600_000))
    assert len(found.segments) == segments


def test_the_least_lag_does_not_concern_what_was_compacted_before(new_log: NewLog) -> None:
    log = written(new_log, replace(CONFIG, min_compaction_lag_ms=3_600_000))
    found = cleanable(log, 6, 9, NOW)
    assert len(found.segments) == 3
    assert found.dirty_bytes == 0


def test_a_dirty_record_older_than_the_longest_lag_is_worth_a_pass(new_log: NewLog) -> None:
    config = replace(CONFIG, max_compaction_lag_ms=3_600_000)
    log = written(new_log, config)
    for hours, is_overdue in ((3.9, False), (4.1, True)):
        found = cleanable(log, 6, 9, NOW + round(hours * 3_600_000))
        assert found.is_overdue == is_overdue
        assert found.is_worth_it(config) == is_overdue
    assert not cleanable(log, 8, 9, NOW + 9 * 3_600_000).is_worth_it(config)


def test_an_idle_segment_is_sealed_when_its_first_record_is_too_old(new_log: NewLog) -> None:
    log = written(new_log)
    first = NOW + 4 * 3_600_000
    log.roll_if_older(first)
    assert len(log.sealed) == 4
    log.roll_if_older(first + 1)
    assert len(log.sealed) == 5
    log.roll_if_older(first + 1)
    assert len(log.sealed) == 5
