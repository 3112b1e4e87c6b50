"""Source, sink and every pipeline of ours, one after the other, on a Spark cluster.

python -m tests.cluster_driver MASTER BROKERS DIRECTORY

The topics `numbers` ({"id": "1", "n": 1} …) and `stock_json_topic` are there. Says a line of JSON:
how many processes have run Python for it, and from where they had our code.
"""

import json
import shutil
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as sql

from kafkaesque.client.profiles import connection_of
from kafkaesque.pipelines import archive, stocks, upsert
from kafkaesque.pipelines.context import Context, Start
from kafkaesque.pipelines.session import session, stop
from kafkaesque.pipelines.starting.command import spark_home


def copied(context: Context) -> list[Any]:
    """Decoded by the source, written by the sink."""
    rows = context.read(
        "numbers",
        "copied",
        startingOffsets="earliest",
        decode="json",
        valueSchema="id STRING, n INT",
    )
    doubled = rows.selectExpr("key", "to_json(named_struct('n', value.n * 2)) AS value")
    writer = doubled.writeStream.format("kafkaesque").options(**context.cluster, topic="doubled")
    return [context.start(writer, "copied")]


def homes(spark: SparkSession) -> list[Any]:
    @sql.udf("string")
    def home(_: int) -> str:
        import os

        import kafkaesque

        return f"{os.getppid()} {kafkaesque.__file__}"

    found = spark.range(8, numPartitions=4).select(home("id").alias("home")).distinct().collect()
    return sorted(row["home"] for row in found)


def main() -> None:
    master, brokers, place = sys.argv[1:]
    directory = Path(place)
    executors = {"spark.executor.memory": "512m", "spark.driver.host": "127.0.0.1"}
    spark = session("cluster", master, executors)
    warehouse = str(directory / "lake")
    database = f"sqlite:///{directory}/numbers.db"
    jobs: dict[str, Start] = {
        "copied": copied,
        "archive": partial(archive.start, topics=["numbers"], warehouse=warehouse),
        "upsert": partial(upsert.start, topic="numbers", to=database, table="numbers"),
        "stocks": partial(stocks.start, stocks=stocks.Stocks(warehouse=warehouse)),
    }
    for name, start in jobs.items():
        run(start, Context(name, spark, connection_of(brokers), str(directory / name), once=True))
    told = homes(spark)
    application = spark.sparkContext.applicationId
    stop(spark)
    # local-cluster keeps the logs of its executors in the installation.
    shutil.rmtree(spark_home() / "work" / application, ignore_errors=True)
    sys.stdout.write(json.dumps(told) + "\n")


def run(start: Callable[[Context], Any], context: Context) -> None:
    for query in start(context):
        query.awaitTermination()


if __name__ == "__main__":
    main()
