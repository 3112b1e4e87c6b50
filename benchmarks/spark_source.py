"""`python -m benchmarks.spark_source`: ticks from a topic into Spark, rows and CPU a second.

`format("kafkaesque")` to Spark's `noop` sink, as a batch and as a stream, beside confluent-kafka's
`consume()` made into the same Arrow columns in one process; one broker of ours, one topic, the same
run, in turns. The best and the median of the rounds are told; CPU is that of Spark's processes.
"""

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import SparkSession
from tests.broker_process import BrokerProcess

from kafkaesque.pipelines.source.columns import arrow_schema

TOPIC = "ticks"
PARTITIONS = 4


def fill(brokers: str, count: int) -> None:
    admin = AdminClient({"bootstrap.servers": brokers})
    admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].result(20)
    producer = Producer(
        {
            "bootstrap.servers": brokers,
            "linger.ms": 50,
            "batch.size": 1 << 20,
            "queue.buffering.max.messages": 1_000_000,
        }
    )
    for number in range(count):
        ticker = f"T{number % 500:03d}"
        tick = {"event_time": 1_700_000_000_000 + number, "ticker": ticker}
        value = json.dumps(tick | {"price": 100 + number % 977 / 10, "volume": number % 1000})
        while True:
            try:
                producer.produce(TOPIC, value, ticker, partition=number % PARTITIONS)
                break
            except BufferError:
                producer.poll(0.1)
        if number % 10_000 == 0:
            producer.poll(0)
    assert producer.flush(120) == 0


def consume(brokers: str, count: int) -> None:
    """What a source by confluent-kafka would do: messages to columns."""
    consumer = Consumer(
        {
            "bootstrap.servers": brokers,
            "group.id": "bench",
            "enable.auto.commit": False,
            "queued.min.messages": 500_000,
            "fetch.message.max.bytes": 4 << 20,
        }
    )
    consumer.assign([TopicPartition(TOPIC, each, 0) for each in range(PARTITIONS)])
    schema = arrow_schema(False)
    left = count
    while left:
        messages = consumer.consume(min(left, 50_000), 10)
        assert messages, "nothing came"
        columns: list[Any] = [
            [each.key() for each in messages],
            [each.value() for each in messages],
            [each.topic() for each in messages],
            [each.partition() for each in messages],
            [each.offset() for each in messages],
            [each.timestamp()[1] * 1000 for each in messages],
            [each.timestamp()[0] for each in messages],
        ]
        arrays = [pa.array(each, kind) for each, kind in zip(columns, schema.types, strict=True)]
        left -= pa.RecordBatch.from_arrays(arrays, schema=schema).num_rows
    consumer.close()


def session() -> SparkSession:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "1g")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    return spark


def read_batch(spark: SparkSession, options: dict[str, str]) -> None:
    frame = spark.read.format("kafkaesque").options(**options).load()
    frame.write.format("noop").mode("overwrite").save()


def read_stream(spark: SparkSession, options: dict[str, str]) -> None:
    place = tempfile.mkdtemp()
    given = options | {"startingOffsets": "earliest"}
    frame = spark.readStream.format("kafkaesque").options(**given).load()
    writer = frame.writeStream.format("noop").option("checkpointLocation", place)
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination(300)
    shutil.rmtree(place)


def cpu_s(ancestor: int) -> float:
    """CPU seconds of a process's descendants that live, and of those they have waited for."""
    parents: dict[int, tuple[int, float]] = {}
    for each in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = each.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(each.parent.name)] = (int(fields[1]), sum(map(int, fields[11:15])) / 100)
    return sum(used for pid, (_, used) in parents.items() if _descends(pid, ancestor, parents))


def _descends(pid: int, ancestor: int, parents: dict[int, tuple[int, float]]) -> bool:
    while pid in parents:
        pid = parents[pid][0]
        if pid == ancestor:
            return True
    return False


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ticks", type=int, default=2_000_000)
    parser.add_argument("--rounds", type=int, default=4)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        broker = BrokerProcess(Path(directory) / "data")
        with broker:
            fill(broker.bootstrap, args.ticks)
            spark = session()
            options = {"kafka.bootstrap.servers": broker.bootstrap, "subscribe": TOPIC}
            assert spark.read.format("kafkaesque").options(**options).load().count() == args.ticks
            jobs: dict[str, Callable[[], None]] = {
                "kafkaesque, batch to noop": lambda: read_batch(spark, options),
                "kafkaesque, stream to noop": lambda: read_stream(spark, options),
                "confluent-kafka consume() to Arrow, no Spark": lambda: consume(
                    broker.bootstrap, args.ticks
                ),
            }
            report(jobs, args.ticks, args.rounds, broker.pid)
            spark.stop()


def report(jobs: dict[str, Callable[[], None]], ticks: int, rounds: int, broker: int) -> None:
    rates: dict[str, list[float]] = {name: [] for name in jobs}
    costs: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(rounds):
        for name, job in jobs.items():
            before, begun = _used_s(broker), time.perf_counter()
            job()
            rates[name].append(ticks / (time.perf_counter() - begun))
            costs[name].append((_used_s(broker) - before) / ticks * 1e6)
    for name in jobs:
        best, middle = max(rates[name]), statistics.median(rates[name])
        cost = statistics.median(costs[name])
        print(
            f"{name}: {best / 1e6:.2f} M rows/s (median {middle / 1e6:.2f} M), "
            f"{cost:.2f} CPU-s per M rows"
        )


def _used_s(broker: int) -> float:
    """CPU seconds of this process and its children, but for the broker."""
    own = os.times()
    return cpu_s(os.getpid()) - _broker_s(broker) + own.user + own.system


def _broker_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / 100


if __name__ == "__main__":
    main()
