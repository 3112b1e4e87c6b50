"""The queries whose lateness is measured, beside a flow: first they get warm, then it counts, then
what was written meanwhile is waited for.

    stateless    values of a topic as text, to Spark's `noop` sink, as fast as it can
    grouped      records counted by key, the same way
    lake         `archive`, at an interval: a record is out when pyiceberg finds it in the table
"""

import math
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

from benchmarks.spark.flow import Flow
from benchmarks.spark.lateness import (
    Lateness,
    Offsets,
    Out,
    Span,
    batches_of,
    end_of,
    lateness,
    outs_of,
)
from benchmarks.spark.ticks import TOPIC
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from kafkaesque.client.profiles import connection_of
from kafkaesque.pipelines import archive
from kafkaesque.pipelines.context import Context
from kafkaesque.pipelines.lake.committing import written_of
from kafkaesque.pipelines.lake.warehouse import Warehouse, table_name

LAKE = "lake"
WAIT_S = 180.0
"""By then a query is warm, and what was written is out, or something is wrong."""
WARM_BATCHES = 2
PERIOD_S = 0.05


@dataclass(frozen=True, slots=True)
class Stage:
    """Where a query plays, and for how long."""

    spark: SparkSession
    brokers: str
    flow: Flow
    warm_s: float
    counted_s: float


Measure: TypeAlias = Callable[[Stage, str], Lateness]
"""A query on a stage, with a source."""


def stateless(stage: Stage, source: str) -> Lateness:
    rows = _read(stage, source).where("value IS NOT NULL")
    return _triggered(stage, rows.selectExpr("CAST(value AS STRING)", "timestamp"))


def grouped(stage: Stage, source: str) -> Lateness:
    return _triggered(stage, _read(stage, source).groupBy("key").count())


def lake(interval_s: float, stage: Stage, source: str) -> Lateness:
    """The archive has a source of its own: ours."""
    name = table_name(TOPIC)
    stage = _whole(stage, interval_s)
    with tempfile.TemporaryDirectory() as directory:
        warehouse = Warehouse.of(f"{directory}/lake")
        connection = connection_of(stage.brokers)
        interval = f"{interval_s:g} seconds"
        context = Context("bench", stage.spark, connection, directory, interval=interval)
        (query,) = archive.start(context, topics=[TOPIC], warehouse=warehouse.place)
        seen: dict[int, list[Out]] = {}

        def look() -> Offsets:
            marks = written_of(warehouse.table(name)).marks
            now_s = time.time()
            for partition, mark in ((int(each), mark) for each, mark in marks.items()):
                known = seen.setdefault(partition, [])
                known.extend(Out(partition, n, now_s) for n in range(len(known), mark + 1))
            return {partition: len(known) for partition, known in seen.items()}

        span = _played(stage, query, look)
        # What the marks say is there, is there.
        rows = warehouse.table(name).scan(selected_fields=("offset",)).to_arrow().num_rows
        assert rows == sum(look().values()), f"{rows} rows are not what {name} says of itself"
        batches = batches_of(query.recentProgress)
    outs = (each for known in seen.values() for each in known)
    return lateness(batches, outs, stage.flow.written_s, span)


def measures(interval_s: float) -> dict[str, Measure]:
    """By name; the lake at its own interval and at another one."""
    own_s = float(archive.INTERVAL.removesuffix(" seconds"))
    lakes = {f"{LAKE}, every {each:g} s": partial(lake, each) for each in (own_s, interval_s)}
    return {"stateless": stateless, "grouped": grouped, **lakes}


def _whole(stage: Stage, interval_s: float) -> Stage:
    """So that as many records count that are written just before a batch as just after one."""
    if not interval_s:
        return stage
    return replace(stage, counted_s=math.ceil(stage.counted_s / interval_s) * interval_s)


def _read(stage: Stage, source: str) -> DataFrame:
    options = {"kafka.bootstrap.servers": stage.brokers, "subscribe": TOPIC}
    options["startingOffsets"] = "earliest"
    return stage.spark.readStream.format(source).options(**options).load()


def _triggered(stage: Stage, rows: DataFrame) -> Lateness:
    with tempfile.TemporaryDirectory() as directory:
        writer = rows.writeStream.format("noop").outputMode("update")
        query = writer.option("checkpointLocation", directory).start()

        span = _played(stage, query, partial(_reported, query))
        batches = batches_of(query.recentProgress)
    return lateness(batches, outs_of(batches), stage.flow.written_s, span)


def _played(stage: Stage, query: StreamingQuery, look: Callable[[], Offsets]) -> Span:
    """Until all that was written in the span is out, as far as `look` can see."""
    try:
        warm_s = time.time() + stage.warm_s
        _wait(query, lambda: bool(look()) and _is_warm(query) and time.time() >= warm_s)
        span = Span(begun_s := time.time(), begun_s + stage.counted_s)
        _wait(query, lambda: bool(look()) and time.time() >= span.ended_s)
        ends = stage.flow.ends()
        for told in (look, partial(_reported, query)):
            _wait(query, partial(_has_all, told, ends))
        return span
    finally:
        query.stop()


def _reported(query: StreamingQuery) -> Offsets:
    """As far as its last report says it is done."""
    last = query.lastProgress
    return {} if last is None else end_of(last)


def _has_all(told: Callable[[], Offsets], ends: Offsets) -> bool:
    there = told()
    return all(there.get(partition, 0) >= end for partition, end in ends.items())


def _is_warm(query: StreamingQuery) -> bool:
    last = query.lastProgress
    return last is not None and last["batchId"] + 1 >= WARM_BATCHES


def _wait(query: StreamingQuery, is_done: Callable[[], bool]) -> None:
    until_s = time.time() + WAIT_S
    while not is_done():
        if error := query.exception():
            raise error
        assert time.time() < until_s, f"{query.status} for {WAIT_S:.0f} s"
        time.sleep(PERIOD_S)
