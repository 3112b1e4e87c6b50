"""`python -m benchmarks.spark_windows`: one-minute candles of 500 tickers, beside others.

The same job on the same topic of one broker of ours: count, open, high, low, close and average of
each minute and ticker.

    kafkaesque        format("kafkaesque") with decode=json and the columns that are used, in Spark
    kafka             Spark's own JVM connector with from_json, in the same session
    Bytewax, Pathway, Quix Streams      each in an environment of its own (spark/peers.py)

Streams read all there is and end. One after the other, in turns, after a round that is not counted.
What each puts out is counted: the same ticks in the same windows. Spark's time is that of the query
from its start on, the others' from the start of their flow on, without imports.
"""

import argparse
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from time import perf_counter

from benchmarks.machine import versions
from benchmarks.spark.peers import PEERS, Done, PeerError, python_of, run
from benchmarks.spark.ticks import PARTITIONS, TOPIC, fill
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sql
from scripts.spark_connector import JARS, connector_jars
from tests.broker_process import BrokerProcess

from kafkaesque.pipelines.session import session, stop

OURS, THEIRS = "kafkaesque", "kafka"
TICK = "event_time LONG, ticker STRING, price DOUBLE"
MASTER = "local[2]"
STREAM_S = 1800
BARS = {THEIRS: 2.0, "Bytewax 0.21": 5.0, "Pathway 0.33": 1.0, "Quix Streams 3.28": 1.0}


def decoded(spark: SparkSession, source: str, brokers: str) -> DataFrame:
    options = {"kafka.bootstrap.servers": brokers, "subscribe": TOPIC}
    options["startingOffsets"] = "earliest"
    reader = spark.readStream.format(source).options(**options)
    if source == OURS:
        return reader.options(decode="json", valueSchema=TICK, columns="value").load()
    text: Column = sql.col("value").cast("string")
    return reader.load().select(sql.from_json(text, TICK).alias("value"))


def windows(values: DataFrame) -> DataFrame:
    ticks = values.select(
        sql.timestamp_millis("value.event_time").alias("moment"), "value.ticker", "value.price"
    ).withWatermark("moment", "10 seconds")
    return ticks.groupBy(sql.window("moment", "1 minute"), "ticker").agg(
        sql.count("*").alias("count"),
        sql.min_by("price", "moment").alias("open"),
        sql.max("price").alias("high"),
        sql.min("price").alias("low"),
        sql.max_by("price", "moment").alias("close"),
        sql.avg("price").alias("average"),
    )


def on_spark(spark: SparkSession, source: str, brokers: str) -> Done:
    found = windows(decoded(spark, source, brokers))
    counted = found.observe("out", sql.sum("count").alias("ticks"), sql.count("*").alias("windows"))
    place = tempfile.mkdtemp()
    writer = counted.writeStream.format("noop").outputMode("update")
    begun = perf_counter()
    query = writer.option("checkpointLocation", place).trigger(availableNow=True).start()
    assert query.awaitTermination(STREAM_S), "the stream does not end"
    seconds = perf_counter() - begun
    told = [each["observedMetrics"]["out"] for each in query.recentProgress]
    shutil.rmtree(place)
    return Done(seconds, sum(each[0] or 0 for each in told), sum(each[1] for each in told))


def compare(jobs: Mapping[str, Callable[[], Done]], ticks: int, rounds: int) -> dict[str, float]:
    """The median rate of each, in ticks a second."""
    rates: dict[str, list[float]] = {name: [] for name in jobs}
    for number in range(rounds + 1):
        for name in list(jobs) if number % 2 else list(jobs)[::-1]:
            try:
                done = jobs[name]()
            except PeerError as error:
                sys.stdout.write(f"{error}\n")
                continue
            sys.stdout.write(
                f"round {number}, {name}: {done.ticks:,} ticks in {done.windows:,} windows, "
                f"{done.seconds:.2f} s, {ticks / done.seconds:,.0f}/s\n"
            )
            sys.stdout.flush()
            if number:
                rates[name].append(ticks / done.seconds)
    return {name: statistics.median(found) for name, found in rates.items() if found}


def tell(found: dict[str, float]) -> None:
    for name, rate in found.items():
        if name == OURS:
            sys.stdout.write(f"{name}: {rate:,.0f} ticks/s\n")
        else:
            ratio = found[OURS] / rate
            verdict = "reached" if ratio >= BARS[name] else "missed"
            sys.stdout.write(
                f"{name}: {rate:,.0f} ticks/s; ours is {ratio:.2f} times as fast "
                f"(bar {BARS[name]:g}: {verdict})\n"
            )


def is_chosen(name: str, only: str | None) -> bool:
    return only is None or name.split()[0] in only.split(",")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ticks", type=int, default=5_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", help="some of them: kafkaesque,kafka,Bytewax")
    args = parser.parse_args()
    peers = [peer for peer in PEERS if is_chosen(peer.name, args.only)]
    for peer in peers:
        python_of(peer)
    jars = ":".join(map(str, connector_jars()))
    settings = {"spark.driver.memory": "2g", "spark.driver.extraClassPath": jars}
    with (
        tempfile.TemporaryDirectory() as directory,
        BrokerProcess(Path(directory) / "data") as broker,
    ):
        fill(broker.bootstrap, args.ticks)
        spark = session("bench-windows", MASTER, settings)
        spark.sparkContext.setLogLevel("OFF")
        jobs = {
            source: partial(on_spark, spark, source, broker.bootstrap)
            for source in (OURS, THEIRS)
            if is_chosen(source, args.only)
        }
        jobs |= {peer.name: partial(run, peer, broker.bootstrap, TOPIC) for peer in peers}
        tell(compare(jobs, args.ticks, args.rounds))
        stop(spark)
    told = ", ".join(f"{name} {version}" for name, version in versions().items())
    sys.stdout.write(f"{PARTITIONS} partitions, {MASTER}; {', '.join(JARS)}\n{told}\n")


if __name__ == "__main__":
    main()
