"""Ticks that the one-minute windows left out, of one batch: found, and sent to topics of their own.

The batch's range is read again, each tick is judged by what the batch was judged by, and what was
left out is sent as it was, with a header `reason`. The sink's marks are the ticks' own offsets: a
batch that is looked at twice is sent once, and a crash in between loses none.
Above: queries.py. Below: ticks.py, batches.py, sink/.
"""

import json
from datetime import UTC, datetime
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from kafkaesque.pipelines.batches import Batch
from kafkaesque.pipelines.context import Context
from kafkaesque.pipelines.source.offsets import kept
from kafkaesque.pipelines.stocks.options import Stocks
from kafkaesque.pipelines.stocks.ticks import PLACE, reason, together, topics

HEADER: Final = "reason"
_FIRST = -2
_MINUTE_US = 60_000_000
# Spark's own window() drops rows that have no time, and those are wanted here.
_ENDS_US = f"unix_micros(event_time) - pmod(unix_micros(event_time), {_MINUTE_US}) + {_MINUTE_US}"
_SOURCE = {name: f"source_{name}" for name in PLACE}


def send(context: Context, stocks: Stocks, batch: Batch) -> int:
    """How many were left out."""
    found = left_out(context, stocks, batch).persist()
    try:
        count = found.count()
        if count:
            letters = letters_of(context, stocks, batch, found)
            writer = letters.write.format("kafkaesque").options(**context.cluster).mode("append")
            writer.options(markColumn=_SOURCE["offset"], writerId=f"{context.name}.left-out")
            writer.option("markBy", f"{_SOURCE['topic']},{_SOURCE['partition']}").save()
        return count
    finally:
        found.unpersist()


def left_out(context: Context, stocks: Stocks, batch: Batch) -> DataFrame:
    """topic | partition | offset | is_late | reason"""
    rows = together(
        _range(context, batch, topic, **decoding)
        for topic, decoding in topics(context, stocks).items()
        if any(place.topic == topic for place in batch.end)
    )
    judged = rows.select(*PLACE, "event_time", reason().alias("refusal"))
    is_late = sql.expr(f"refusal IS NULL AND {_ENDS_US} <= {batch.late_ms}000L")
    late = f"its minute was closed: the watermark was {_moment(batch.late_ms)}"
    told = sql.when(is_late, late).otherwise(sql.col("refusal"))
    return judged.select(*PLACE, is_late.alias("is_late"), told.alias(HEADER)).where(
        sql.col(HEADER).isNotNull()
    )


def letters_of(context: Context, stocks: Stocks, batch: Batch, found: DataFrame) -> DataFrame:
    """The records as they were, and where to."""
    raw = [
        _range(context, batch, topic, includeHeaders="true")
        for topic in {place.topic for place in batch.end}
    ]
    header = sql.struct(sql.lit(HEADER).alias("key"), sql.col(HEADER).cast("binary").alias("value"))
    headers = sql.expr("coalesce(headers, array())")
    rows = raw[0]
    for each in raw[1:]:
        rows = rows.unionByName(each)
    to = sql.when(sql.col("is_late"), stocks.late).otherwise(stocks.refused)
    return rows.join(sql.broadcast(found), [*PLACE]).select(
        "key",
        "value",
        sql.concat(headers, sql.array(header)).alias("headers"),
        *(sql.col(name).alias(other) for name, other in _SOURCE.items()),
        to.alias("topic"),
    )


def _range(context: Context, batch: Batch, topic: str, **options: str) -> DataFrame:
    end = {place: offset for place, offset in batch.end.items() if place.topic == topic}
    start = {place: batch.start.get(place, _FIRST) for place in end}
    bounds = {
        "assign": json.dumps({topic: sorted(place.partition for place in end)}),
        "startingOffsets": json.dumps(kept(start)),
        "endingOffsets": json.dumps(kept(end)),
        # What has aged out meanwhile cannot be sent any more.
        "failOnDataLoss": "false",
    }
    if context.registry is not None and "decode" in options:
        options["schema.registry.url"] = context.registry
    reader = context.spark.read.format("kafkaesque").options(**context.cluster, **bounds)
    return reader.options(**options).load()


def _moment(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat().replace("+00:00", "Z")
