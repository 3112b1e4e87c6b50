"""A driver for tests of the source on a cluster of executors: prints a line of JSON.

python tests/spark_cluster_driver.py MASTER BROKERS TOPIC     TOPIC has values {"n": 0}, {"n": 1} …
"""

import json
import os
import shutil
import sys
from typing import Any

from pyspark.sql import functions as sql

from kafkaesque.pipelines.session import session, stop
from kafkaesque.pipelines.starting.command import spark_home


def main() -> None:
    master, brokers, topic = sys.argv[1:]
    spark = session("cluster", master)
    options = {"kafka.bootstrap.servers": brokers, "subscribe": topic, "minPartitions": "2"}
    reader = spark.read.format("kafkaesque").options(**options)
    raw = reader.load().agg(sql.count("*"), sql.max("offset")).collect()[0]

    @sql.udf("int")
    def parent(_: int) -> int:
        """Each executor has a Python process of its own, whose children are its workers."""
        return os.getppid()

    typed = reader.options(decode="json", valueSchema="n INT").load()
    parents = sql.collect_set(parent("offset"))
    refused, total, found = typed.agg(sql.count("_error"), sql.sum("value.n"), parents).collect()[0]
    told: dict[str, Any] = {"raw": list(raw), "decoded": [refused, total], "executors": len(found)}
    application = spark.sparkContext.applicationId
    stop(spark)
    # Executors keep their logs there; only this master puts it into the installation.
    shutil.rmtree(spark_home() / "work" / application)
    sys.stdout.write(json.dumps(told) + "\n")


if __name__ == "__main__":
    main()
