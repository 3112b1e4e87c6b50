"""Spark's reports, as PySpark 4.3 makes them, added up."""

from typing import Any

from kafkaesque.pipelines.progress import Tally, watermark_ms


def report(batch: int, rows: int, **more: Any) -> dict[str, Any]:
    """What of a report is looked at."""
    source = {
        "description": "org.apache.spark.sql.execution.datasources.v2.python.Python@13355a73",
        "startOffset": "null",
        "endOffset": '{"ticks": {"0": 100, "1": 7}, "#ids": {"ticks": "5e0c"}}',
        "latestOffset": '{"ticks": {"0": 110, "1": 7}}',
    }
    operator = {
        "numRowsTotal": 3,
        "memoryUsedBytes": 1648,
        "numRowsDroppedByWatermark": 1,
    }
    return {
        "batchId": batch,
        "numInputRows": rows,
        "inputRowsPerSecond": 10.0,
        "processedRowsPerSecond": 24.0,
        "durationMs": {"triggerExecution": 417},
        "eventTime": {"watermark": "2026-11-16T02:20:10.348Z"},
        "stateOperators": [operator],
        "sources": [source],
        "sink": {"description": "kafkaesque"},
        **more,
    }


def test_rows_and_late_rows_are_added_up_and_each_batch_counts_once() -> None:
    tally = Tally("candles")
    assert tally.add([report(0, 100), report(1, 10)])
    assert not tally.add([report(0, 100), report(1, 10)])
    assert tally.add([report(1, 10), report(2, 5)])
    assert tally.status.rows_in == 115
    assert tally.status.late_rows == 3
    assert tally.status.batch == 2


def test_a_status_says_what_holds_now() -> None:
    tally = Tally("candles")
    tally.add([report(0, 100)])
    status = tally.status
    assert (status.rate_in, status.rate_processed, status.latency_ms) == (10.0, 24.0, 417)
    assert (status.state_rows, status.state_bytes, status.behind) == (3, 1648, 10)
    assert (status.source, status.sink) == ("ticks", "kafkaesque")
    assert status.watermark_ms == 1_794_795_610_348


def test_who_knows_better_than_spark_where_a_query_writes_says_so() -> None:
    tally = Tally("candles", "stock_ohlc")
    tally.add([report(0, 100, sink={"description": "ForeachBatchSink"})])
    assert tally.status.sink == "stock_ohlc"


def test_a_batch_without_rows_keeps_the_last_times_but_nothing_comes_in() -> None:
    tally = Tally("candles")
    idle = report(1, 0, processedRowsPerSecond=0.0, durationMs={"triggerExecution": 3})
    tally.add([report(0, 100), idle])
    assert (tally.status.rate_in, tally.status.rate_processed) == (0.0, 24.0)
    assert tally.status.latency_ms == 417


def test_a_source_that_says_no_offsets_of_ours_has_its_own_name_and_no_lag() -> None:
    tally = Tally("rates")
    source = {"description": "RateStream", "endOffset": "12", "latestOffset": None}
    tally.add([report(0, 1, sources=[source])])
    assert (tally.status.source, tally.status.behind) == ("RateStream", None)


def test_there_is_no_watermark_before_the_first_time_was_seen() -> None:
    assert watermark_ms({"eventTime": {"watermark": "1970-01-01T00:00:00.000Z"}}) is None
    assert watermark_ms({}) is None
    first = report(0, 1, inputRowsPerSecond=float("nan"), eventTime={}, stateOperators=[])
    tally = Tally("plain")
    tally.add([first])
    assert (tally.status.rate_in, tally.status.watermark_ms) == (None, None)


def test_late_rows_are_those_that_somebody_has_counted() -> None:
    tally = Tally("candles")
    tally.add([report(0, 100)])
    tally.count_late(7)
    assert tally.status.late_rows == 7
