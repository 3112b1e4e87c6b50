"""Which queries `stocks` has, what they read and where they write.

    stock_json_topic ─┐           ┌─ candles ─► stock_ohlc   1m, while they move
    stock_avro_topic ─┴─► ticks ──┼─ sliding ─► stock_ohlc   5m every minute, when they are closed
                                  └─ closed ──► the lake     both, when they are closed
             what candles leaves out ─► stock_late, stock_refused

Each query reads the topics for itself, so there are as few as will do. A candle that moves needs
Spark's update mode and a closed one its append mode: that makes two. The windows of five minutes
are put together from those of one, in the same query, so closed minutes need no query of their own:
each is taken out again of the wider window that ends with it. The lake is a sink of its own, and so
a third query, if a warehouse is given.

All figures are the same however the ticks were cut into batches, and after any crash (average and
volatility but for the last digits). Closed windows are written once even if the checkpoint is lost:
their end is the sink's mark, for it rises from batch to batch.
Above: cli/pipeline/. Below: ticks.py, windows.py, left_out.py, context.py.
"""

import time
from functools import partial
from typing import TYPE_CHECKING, Final

from kafkaesque.client.admin import Admin
from kafkaesque.pipelines.context import Context
from kafkaesque.pipelines.late import LookedAfter
from kafkaesque.pipelines.stocks.left_out import send
from kafkaesque.pipelines.stocks.options import Stocks
from kafkaesque.pipelines.stocks.ticks import read, topics, usable
from kafkaesque.pipelines.stocks.windows import candles, closed, moving, records, sliding

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

PARTITIONS: Final = 3
"""Of topics that are made."""
BEGIN_S: Final = 30.0


def start(context: Context, stocks: Stocks | None = None) -> "list[StreamingQuery]":
    stocks = stocks or Stocks()
    make_topics(context, stocks)
    queries = [begun(start_candles(context, stocks)), begun(start_sliding(context, stocks))]
    if stocks.warehouse is not None:
        queries.append(start_closed(context, stocks, stocks.warehouse))
    return queries


def begun(query: "StreamingQuery") -> "StreamingQuery":
    """When its sources are there. Each is a process of its own, for which Spark waits ten seconds:
    on a small machine all of them at once may need longer."""
    give_up_at = time.monotonic() + BEGIN_S
    while time.monotonic() < give_up_at and query.isActive:
        if not str(query.status["message"]).startswith("Initializing"):
            break
        time.sleep(0.05)
    return query


def start_candles(context: Context, stocks: Stocks) -> "StreamingQuery":
    """Each candle as it moves: again and again under the same key."""
    rows = records(moving(minutes(context, stocks, "candles"))).drop("end")
    options = {"topic": stocks.candles, "writerId": f"{context.name}.candles.sink"}

    def write(batch: "DataFrame", _: int) -> None:
        # The sink sees for itself which batch of which query it is, and writes it once.
        to_topic = batch.write.format("kafkaesque").options(**context.cluster, **options)
        to_topic.mode("append").save()

    # Spark lets no sink that is written in Python have a stream in update mode.
    writer = rows.writeStream.foreachBatch(write).outputMode("update")
    query = context.start(writer, "candles", to=stocks.candles)
    place, sender = context.checkpoint("candles"), partial(send, context, stocks)
    return LookedAfter(query, context.spark, place, sender, once=context.once)


def start_sliding(context: Context, stocks: Stocks) -> "StreamingQuery":
    windows = closed(sliding(minutes(context, stocks, "sliding"))).where("window = '5m'")
    writer = records(windows).writeStream.format("kafkaesque").options(**context.cluster)
    writer.options(topic=stocks.candles, writerId=f"{context.name}.sliding.sink")
    writer.option("markColumn", "end").outputMode("append")
    return context.start(writer, "sliding", to=stocks.candles)


def start_closed(context: Context, stocks: Stocks, warehouse: str) -> "StreamingQuery":
    windows = closed(sliding(minutes(context, stocks, "closed")))
    writer = windows.writeStream.format("kafkaesque_lake").option("warehouse", warehouse)
    writer.options(table=stocks.table, writerId=f"{context.name}.closed", markColumn="end")
    return context.start(writer.outputMode("append"), "closed", to=stocks.table)


def minutes(context: Context, stocks: Stocks, query: str) -> "DataFrame":
    ticks = usable(read(context, stocks, query))
    second = max(stocks.json_topic, stocks.avro_topic)
    return candles(ticks.withWatermark("event_time", stocks.delay), second)


def make_topics(context: Context, stocks: Stocks) -> None:
    """Those that are not there yet, so that it may start before there are ticks."""
    admin = Admin.connect(context.connection)
    for topic in (*topics(context, stocks), stocks.late, stocks.refused):
        admin.ensure(topic, PARTITIONS)
    admin.ensure(stocks.candles, PARTITIONS, {"cleanup.policy": "compact"})
