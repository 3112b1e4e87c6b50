"""Batches and records in Spark's reports: which of them count, and how late they were."""

from typing import Any

import pytest
from benchmarks.spark.lateness import Lateness, Out, Span, batches_of, lateness, outs_of, p95

SPAN = Span(100.0, 110.0)


def report(begun_s: float, took_ms: int, start: str, end: str, rows: int = 1) -> dict[str, Any]:
    minute, second = divmod(begun_s, 60)
    return {
        "timestamp": f"1970-01-01T00:{minute:02.0f}:{second:06.3f}Z",
        "numInputRows": rows,
        "durationMs": {"triggerExecution": took_ms, "walCommit": 20, "commitOffsets": 30},
        "sources": [{"startOffset": start, "endOffset": end}],
    }


def test_a_record_is_late_from_being_written_to_the_end_of_its_batch() -> None:
    batches = batches_of(
        [
            report(
                101.25,
                500,
                '{"ticks":{"0":3,"1":7}}',
                '{"ticks":{"0":5,"1":7},"#ids":{"ticks":"a"}}',
            )
        ]
    )
    assert list(outs_of(batches)) == [Out(0, 3, 101.75), Out(0, 4, 101.75)]
    found = lateness(batches, outs_of(batches), lambda _, offset: 97.25 + offset, SPAN)
    assert found == Lateness([500], [50], [1500.0, 500.0], [1])


def test_a_record_that_was_written_before_the_span_does_not_count() -> None:
    found = lateness([], [Out(0, 0, 101.0), Out(0, 1, 101.0)], lambda _, n: 99.5 + n, SPAN)
    assert found.records_ms == [500.0]


def test_the_first_batch_and_those_without_rows_do_not_count() -> None:
    first = report(101, 500, "null", '{"ticks":{"0":3}}')
    idle = report(102, 5, '{"ticks":{"0":3}}', '{"ticks":{"0":3}}', rows=0)
    assert batches_of([first, idle]) == []


@pytest.mark.parametrize(
    ("written_s", "is_counted"), [(99.9, False), (100.0, True), (109.9, True), (110.0, False)]
)
def test_a_batch_counts_if_it_brought_a_record_of_the_span(
    written_s: float, is_counted: bool
) -> None:
    batches = batches_of([report(111, 500, '{"ticks":{"0":3}}', '{"ticks":{"0":4}}')])
    assert bool(lateness(batches, [], lambda *_: written_s, SPAN).batches_ms) is is_counted


def test_a_partition_that_is_new_counts_from_its_first_record() -> None:
    batches = batches_of([report(101, 0, '{"ticks":{"0":3}}', '{"ticks":{"0":3,"1":2}}')])
    assert list(outs_of(batches)) == [Out(1, 0, 101.0), Out(1, 1, 101.0)]


def test_19_of_20_are_at_or_below_p95() -> None:
    assert p95(list(range(1, 21))) == 19
    assert p95(list(range(1, 101))) == 95
    assert p95([7.0]) == 7.0
    assert p95([3.0, 9.0]) == 9.0
