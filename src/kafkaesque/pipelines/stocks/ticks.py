"""The ticks of both topics as one stream, and which of them cannot be used.

    event_time | ticker | price | topic | partition | offset | timestamp | _error

A tick that cannot be used has a reason, which depends on nothing but the record: so whoever reads
it again finds the same. Above: queries.py, left_out.py. Below: context.py, source/.
"""

from collections.abc import Iterable
from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sql

from kafkaesque.pipelines.context import Context
from kafkaesque.pipelines.late import OBSERVED
from kafkaesque.pipelines.stocks.options import Stocks

TICK: Final = "event_time TIMESTAMP, ticker STRING, price DOUBLE"
PLACE: Final = ("topic", "partition", "offset")
COLUMNS: Final = "value,topic,partition,offset,timestamp,_error"


def read(context: Context, stocks: Stocks, query: str) -> DataFrame:
    return together(
        context.read(topic, query, startingOffsets="earliest", columns=COLUMNS, **decoding)
        for topic, decoding in topics(context, stocks).items()
    )


def topics(context: Context, stocks: Stocks) -> dict[str, dict[str, str]]:
    """How each is decoded. Avro's schema is in the registry: without one there is no Avro."""
    found = {stocks.json_topic: {"decode": "json", "valueSchema": TICK}}
    if context.registry is not None:
        found[stocks.avro_topic] = {"decode": "avro", "subject": f"{stocks.avro_topic}-value"}
    return found


def together(frames: Iterable[DataFrame]) -> DataFrame:
    """Of rows as the source decodes them."""
    tick = [f"value.{name}" for name in ("event_time", "ticker", "price")]
    ours = (frame.select(*tick, *PLACE, "timestamp", "_error") for frame in frames)
    return reduce(DataFrame.unionByName, ours)


def usable(rows: DataFrame) -> DataFrame:
    """The others are counted in the query's reports."""
    judged = rows.withColumn("reason", reason())
    return judged.observe(OBSERVED, sql.count("reason").alias("refused")).where("reason IS NULL")


def reason() -> Column:
    """Why a tick cannot be used; null if it can."""
    missing = "event_time IS NULL OR ticker IS NULL OR price IS NULL OR isnan(price)"
    # One clock that is years ahead would close every window: all that follows would be late.
    ahead = "timestamp >= '1970-01-02' AND event_time > timestamp + INTERVAL 1 HOUR"
    return sql.coalesce(
        sql.col("_error"),
        sql.when(sql.expr(missing), "event_time, ticker or price is missing"),
        sql.when(sql.expr(ahead), "event_time is over an hour ahead of the record's timestamp"),
    )
