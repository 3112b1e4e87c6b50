"""Candles: of one minute, of wider windows, and as records of a topic. Frames in, frames out.

    candles   window | ticker | open | high | low | close | average | volatility | count
    sliding   the same, and `minutes`: the candles it is made of, in order
    closed    window "1m" or "5m" | ticker | start | end | open | …

Open and close go by event_time, then by the tick's place in the log, so that the order in which
ticks come does not matter. Both are packed into one number: Spark keeps numbers in a hash table,
and would sort the ticks by anything else, which takes more than twice as long.

    26 bits: microseconds of the minute | 1: which topic | 7: partition | 29: offset

What is cut off of partition and offset could only tell ticks apart that share ticker, microsecond
and all other bits. A wider window takes the spread within each minute and that of the minutes'
averages: sums of squares of prices would lose the digits that count.
Above: queries.py.
"""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sql

FIGURES: Final = ("open", "high", "low", "close", "average", "volatility", "count")
_MOMENT = "yyyy-MM-dd'T'HH:mm:ss'Z'"


def candles(ticks: DataFrame, second_topic: str = "") -> DataFrame:
    """Of one minute. Of two ticks at the same moment those of `second_topic` come after others."""
    order = _order(second_topic)
    return ticks.groupBy(sql.window("event_time", "1 minute"), "ticker").agg(
        sql.min_by("price", order).alias("open"),
        sql.max("price").alias("high"),
        sql.min("price").alias("low"),
        sql.max_by("price", order).alias("close"),
        sql.avg("price").alias("average"),
        sql.stddev_pop("price").alias("volatility"),
        sql.count("*").alias("count"),
    )


def sliding(minutes: DataFrame, size: str = "5 minutes", slide: str = "1 minute") -> DataFrame:
    """Windows of candles, whose watermark they have."""
    minute = sql.struct("window.start", "window.end", *FIGURES)
    windows = minutes.groupBy(sql.window("window", size, slide), "ticker").agg(
        sql.sort_array(sql.collect_list(minute)).alias("minutes")
    )
    counted = windows.withColumn("count", _sum("minute.count", "0L"))
    average = _sum("minute.count * minute.average") / sql.col("count")
    spread = _sum("minute.count * (pow(minute.volatility, 2) + pow(minute.average - average, 2))")
    first, last = sql.element_at("minutes", 1), sql.element_at("minutes", -1)
    return counted.withColumn("average", average).select(
        "window",
        "ticker",
        first["open"].alias("open"),
        sql.array_max("minutes.high").alias("high"),
        sql.array_min("minutes.low").alias("low"),
        last["close"].alias("close"),
        "average",
        sql.sqrt(spread / sql.col("count")).alias("volatility"),
        "count",
        "minutes",
    )


def moving(minutes: DataFrame) -> DataFrame:
    return minutes.select(
        sql.lit("1m").alias("window"), "ticker", "window.start", "window.end", *FIGURES
    )


def closed(windows: DataFrame) -> DataFrame:
    """Wider windows, and the minute that ends with each, if there were ticks in it."""
    wide = _as("5m", sql.col("window.start"), sql.col("window.end"), *map(sql.col, FIGURES))
    last = sql.element_at("minutes", -1)
    minute = _as("1m", *(last[name] for name in ("start", "end", *FIGURES)))
    both = sql.when(last["end"] == sql.col("window.end"), sql.array(wide, minute))
    rows = sql.explode(sql.coalesce(both, sql.array(wide)))
    return windows.select("ticker", rows.alias("row")).select(
        "row.window", "ticker", *(f"row.{name}" for name in ("start", "end", *FIGURES))
    )


def records(rows: DataFrame) -> DataFrame:
    """A key like AAPL|1m|2026-11-16T02:00:00Z, and JSON. `end` is kept for the sink's mark."""
    begin, end = sql.date_format("start", _MOMENT), sql.date_format("end", _MOMENT)
    told = sql.struct("ticker", "window", begin.alias("start"), end.alias("end"), *FIGURES)
    key = sql.concat_ws("|", "ticker", "window", begin)
    return rows.select(key.alias("key"), sql.to_json(told).alias("value"), "end")


def _order(second_topic: str) -> Column:
    moment = sql.expr("pmod(unix_micros(event_time), 60000000L)")
    topic = (sql.col("topic") == second_topic).cast("long")
    partition = sql.expr("CAST(partition & 127 AS LONG)")
    offset = sql.expr("offset & 536870911L")
    shifted = (sql.shiftleft(moment, 37), sql.shiftleft(topic, 36), sql.shiftleft(partition, 29))
    return shifted[0] + shifted[1] + shifted[2] + offset


def _sum(term: str, zero: str = "0D") -> Column:
    return sql.expr(f"aggregate(minutes, {zero}, (total, minute) -> total + {term})")


def _as(kind: str, *columns: Column) -> Column:
    names = ("start", "end", *FIGURES)
    named = (column.alias(name) for column, name in zip(columns, names, strict=True))
    return sql.struct(sql.lit(kind).alias("window"), *named)
