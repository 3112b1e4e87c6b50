"""What a checkpoint says of a batch, and what reports say of those left out."""

from typing import Any

import pytest

from kafkaesque.pipelines.batches import Batch, CheckpointError, Logged, between, parse
from kafkaesque.pipelines.late import left_out
from kafkaesque.pipelines.source.standing import Standing
from kafkaesque.types import TopicPartition

TEXT = (
    'v1\n{"batchWatermarkMs":1700000159000,"batchTimestampMs":1,"conf":{"a":"b"}}\n'
    '{"a": {"0": 131, "1": 0}}\n{"b": {"0": 130}}'
)


def report(batch: int, late: int, refused: int | None = None, **durations: int) -> dict[str, Any]:
    observed = {} if refused is None else {"left_out": (refused,)}
    operators = [{"numRowsDroppedByWatermark": late}]
    return {
        "batchId": batch,
        "durationMs": durations,
        "stateOperators": operators,
        "observedMetrics": observed,
    }


def test_offsets_of_all_sources_and_the_watermark_are_read() -> None:
    logged = parse(TEXT)
    assert logged.watermark_ms == 1700000159000
    a, b = logged.ends
    assert a.offsets == {TopicPartition("a", 0): 131, TopicPartition("a", 1): 0}
    assert b.offsets == {TopicPartition("b", 0): 130}


def test_a_source_that_has_no_offsets_yet_has_none() -> None:
    assert parse(f"{TEXT.rsplit(chr(10), 1)[0]}\n-").ends[1] == Standing()


def test_each_source_begins_where_it_ended_before_or_at_its_own_beginning() -> None:
    a, b = TopicPartition("a", 0), TopicPartition("b", 0)
    first = Logged(7, (Standing({a: 5}, {}, {a: 3}), Standing()))
    second = Logged(8, (first.ends[0], Standing({b: 2}, {}, {b: 1})))
    third = Logged(9, (Standing({a: 6}), second.ends[1]))
    assert between(0, Logged(), first) == Batch(0, {a: 3}, {a: 5}, 0)
    assert between(1, first, second) == Batch(1, {a: 5, b: 1}, {a: 5, b: 2}, 7)
    assert between(2, second, third) == Batch(2, {a: 5, b: 2}, {a: 6, b: 2}, 8)


@pytest.mark.parametrize(
    "text",
    ["", "v2\n{}\n{}", "v1\n", "v1\n{}\n{}", TEXT.replace('"1": 0', '"x": 0'), TEXT + "\n[1]"],
)
def test_what_spark_has_not_written_is_refused(text: str) -> None:
    with pytest.raises(CheckpointError):
        parse(text)


def test_only_finished_batches_after_the_last_look_count() -> None:
    reports = [
        report(3, 5, addBatch=9),
        report(4, 0, 0, triggerExecution=1),
        report(4, 2, 1, addBatch=9),
        report(5, 0, 0, addBatch=9),
        report(6, 0, triggerExecution=1),
    ]
    assert left_out(reports, 3) == {4: 3, 5: 0}
