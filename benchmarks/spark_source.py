"""`python -m benchmarks.spark_source`: ticks from a topic into Spark, beside Spark's own connector.

`format("kafkaesque")` and the official JVM connector's `format("kafka")`, each with the settings
that it has by itself, to Spark's `noop` sink: as a batch and as a stream (AvailableNow). One
session, one broker of ours, one topic; one after the other, in turns, after two rounds that are
not counted. Medians of the rounds, and how ours compares with the other's.
"""

import argparse
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from importlib.metadata import version
from pathlib import Path

from benchmarks.machine import versions
from benchmarks.spark.rounds import Figures, in_turns
from benchmarks.spark.ticks import PARTITIONS, TOPIC, fill
from pyspark.sql import SparkSession
from scripts.spark_connector import JARS, connector_jars
from tests.broker_process import BrokerProcess

from kafkaesque.pipelines.session import session, stop

OURS, THEIRS = "kafkaesque", "kafka"
MASTER = "local[2]"
STREAM_S = 600
WARM_ROUNDS = 2
SETTINGS = {"spark.driver.memory": "2g"}


def read_batch(spark: SparkSession, source: str, options: dict[str, str]) -> None:
    frame = spark.read.format(source).options(**options).load()
    frame.write.format("noop").mode("overwrite").save()


def read_stream(spark: SparkSession, source: str, options: dict[str, str]) -> None:
    place = tempfile.mkdtemp()
    given = options | {"startingOffsets": "earliest"}
    frame = spark.readStream.format(source).options(**given).load()
    writer = frame.writeStream.format("noop").option("checkpointLocation", place)
    query = writer.trigger(availableNow=True).start()
    assert query.awaitTermination(STREAM_S), "the stream does not end"
    shutil.rmtree(place)


READ = {"batch": read_batch, "stream": read_stream}


def compare(spark: SparkSession, brokers: str, rounds: int, broker: int | None) -> None:
    options = {"kafka.bootstrap.servers": brokers, "subscribe": TOPIC}
    counts = {
        source: spark.read.format(source).options(**options).load().count()
        for source in (OURS, THEIRS)
    }
    assert counts[OURS] == counts[THEIRS], counts
    for kind, read in READ.items():
        # Not all four in turn: Spark ends Python's workers that have nothing to do for a minute.
        jobs = {source: partial(read, spark, source, options) for source in (OURS, THEIRS)}
        in_turns(jobs, counts[OURS], WARM_ROUNDS, broker)
        found = in_turns(jobs, counts[OURS], rounds, broker)
        for source, figures in found.items():
            sys.stdout.write(f"{kind}, {source}: {figures}\n")
        tell_ratio(kind, found[OURS], found[THEIRS])


def tell_ratio(kind: str, ours: Figures, theirs: Figures) -> None:
    sys.stdout.write(
        f"{kind}: {ours.rate / theirs.rate:.2f} times the rows/s of the JVM connector, "
        f"{ours.cost / theirs.cost:.2f} times its CPU time\n"
    )


@contextmanager
def filled(ticks: int) -> Iterator[BrokerProcess]:
    with (
        tempfile.TemporaryDirectory() as directory,
        BrokerProcess(Path(directory) / "data") as broker,
    ):
        fill(broker.bootstrap, ticks)
        yield broker


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ticks", type=int, default=5_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--brokers", help=f"a cluster whose topic {TOPIC} is filled already")
    args = parser.parse_args()
    jars = ":".join(map(str, connector_jars()))
    spark = session("bench-source", MASTER, SETTINGS | {"spark.driver.extraClassPath": jars})
    spark.sparkContext.setLogLevel("OFF")
    if args.brokers:
        compare(spark, args.brokers, args.rounds, None)
    else:
        with filled(args.ticks) as broker:
            compare(spark, broker.bootstrap, args.rounds, broker.pid)
    java = spark.sparkContext._jvm.System.getProperty("java.version")  # type: ignore[union-attr]
    stop(spark)
    told = {"pyspark": version("pyspark"), "java": java, **versions()}
    sys.stdout.write(f"{PARTITIONS} partitions, {MASTER}; {', '.join(JARS)}\n")
    sys.stdout.write(", ".join(f"{name} {found}" for name, found in told.items()) + "\n")


if __name__ == "__main__":
    main()
