"""Drivers for the tests of sessions: each says a line of JSON when it has got somewhere.

python tests/spark_driver.py work DIRECTORY    works, stops, starts anew, waits
python tests/spark_driver.py wait DIRECTORY    starts, makes a table, waits
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as sql

from kafkaesque.pipelines.session import session, stop


def say(**told: Any) -> None:
    sys.stdout.write(json.dumps(told) + "\n")
    sys.stdout.flush()


def pid(spark: SparkSession) -> int:
    gateway = spark.sparkContext._gateway
    assert gateway is not None
    return int(gateway.proc.pid)


def work(spark: SparkSession, directory: Path) -> dict[str, Any]:
    @sql.udf("long", useArrow=True)
    def successor(number: int) -> int:
        return number + 1

    path = str(directory / "numbers")
    spark.range(100).select(successor("id").alias("next")).write.parquet(path)
    read = spark.read.parquet(path).agg(sql.count("*"), sql.sum("next")).collect()[0]
    zone = spark.conf.get("spark.sql.session.timeZone")
    return {
        "read": list(read),
        "zone": zone,
        "sockets": spark.conf.get("spark.python.unix.domain.socket.enabled"),
        "lake": of_no_lake(spark),
        "parents": parents_of_workers(spark),
    }


def parents_of_workers(spark: SparkSession) -> list[int]:
    """The processes of which those that run users' functions were forked."""

    @sql.udf("long", useArrow=True)
    def forked_from(_: int) -> int:
        daemon = Path(f"/proc/{os.getppid()}/stat").read_text()
        return int(daemon.rpartition(")")[2].split()[1])

    return [row[0] for row in spark.range(8).select(forked_from("id")).distinct().collect()]


def forks_of(spark: SparkSession) -> int:
    """The server's process, which is ours: what it has forked has the same command line."""
    python = Path(str(spark.sparkContext.pythonExec))
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return next(
        int(child)
        for child in children
        if Path(f"/proc/{child}/cmdline").read_bytes().endswith(f"{python.parent}\0".encode())
    )


def of_no_lake(spark: SparkSession) -> str:
    """What a source of ours says, if Spark knows it."""
    try:
        spark.read.format("kafkaesque_lake").load()
    except PySparkException as error:
        return str(error)
    return ""


def main() -> None:
    directory = Path(sys.argv[2])
    spark = session("first", "local[2]")
    if sys.argv[1] == "work":
        found = work(spark, directory)
        found["forks"] = forks_of(spark)
        first = pid(spark)
        found["java"] = str(Path(f"/proc/{first}/exe").readlink())
        stop(spark)
        left = [each for each in (first, found["forks"]) if Path(f"/proc/{each}").exists()]
        say(**found, pid=first, left=left)
        spark = session("second", "local[2]")
        found["again"] = spark.range(5).count()
    else:
        spark.range(5).write.saveAsTable("numbers")
    say(pid=pid(spark), forks=forks_of(spark))
    time.sleep(600)


if __name__ == "__main__":
    main()
