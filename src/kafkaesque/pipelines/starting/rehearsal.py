"""`python -m kafkaesque.pipelines.starting.rehearsal FILE [beside]`: what pipelines do, in small.

The JVM records the classes that it loads meanwhile, and writes them to FILE as it ends: the AOT
cache. `beside` lets all other work go first.
Above: aot.py, which runs it. Below: session.py.
"""

import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from kafkaesque.pipelines.session import session, stop

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# The JVM writes the file before it is gone.
END_S = 240.0


def rehearse(spark: "SparkSession", directory: Path) -> None:
    """A window over JSON, a function in Python, files, a stream with state."""
    from pyspark.sql import functions as sql

    @sql.udf("long", useArrow=True)
    def successor(number: int) -> int:
        return number + 1

    path = str(directory / "numbers")
    spark.range(1000).select("id", successor("id").alias("next")).write.parquet(path)
    spark.read.parquet(path).groupBy((sql.col("id") % 7).alias("rest")).count().collect()
    numbers = spark.readStream.schema("id long, next long").parquet(path)
    text = sql.to_json(sql.struct(sql.timestamp_seconds("id").alias("at"), "next"))
    read = sql.from_json(text, "at timestamp, next long")
    windows = (
        numbers.select(read.alias("read"))
        .select("read.*")
        .withWatermark("at", "1 minute")
        .groupBy(sql.window("at", "1 minute"))
        .agg(sql.count("*"), sql.avg("next"), sql.min_by("next", "at"))
    )

    def count(batch: "DataFrame", number: int) -> None:
        batch.count()

    query = (
        windows.writeStream.outputMode("update")
        .foreachBatch(count)
        .option("checkpointLocation", str(directory / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination(60)


def main() -> None:
    if sys.argv[2:] == ["beside"]:
        os.nice(19)
    with tempfile.TemporaryDirectory(prefix="kafkaesque-rehearsal-") as directory:
        spark = session("rehearsal", "local[2]", aot_output=Path(sys.argv[1]))
        try:
            rehearse(spark, Path(directory))
        finally:
            stop(spark, END_S)


if __name__ == "__main__":
    main()
