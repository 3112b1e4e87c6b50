"""Drivers for the tests of the lake: an archive in a process of its own, which can be killed.

python tests/lake_driver.py BROKERS TOPIC WAREHOUSE CHECKPOINTS ROWS

It goes on, whatever fails, and says a line of JSON for each batch that it has done.
"""

import json
import sys
import time

from pyspark.sql.streaming.query import StreamingQuery

from kafkaesque.client.profiles import connection_of
from kafkaesque.pipelines import archive
from kafkaesque.pipelines.context import Context
from kafkaesque.pipelines.failures import reason_of
from kafkaesque.pipelines.session import session


def say(**told: object) -> None:
    sys.stdout.write(json.dumps(told) + "\n")
    sys.stdout.flush()


def watch(query: StreamingQuery) -> None:
    """Until it fails."""
    batch = -1
    while query.isActive:
        progress = query.lastProgress
        if progress is not None and progress["batchId"] != batch:
            batch = progress["batchId"]
            say(batch=batch, rows=progress["numInputRows"])
        time.sleep(0.02)


def main() -> None:
    brokers, topic, warehouse, checkpoints, rows = sys.argv[1:]
    spark = session("lake", "local[2]", {"spark.driver.memory": "512m"})
    spark.sparkContext.setLogLevel("OFF")
    connection = connection_of(brokers)
    context = Context("archive", spark, connection, checkpoints, interval="0 seconds")
    say(started=True)
    while True:
        try:
            (query,) = archive.start(
                context, topics=[topic], warehouse=warehouse, rows_per_batch=int(rows)
            )
            watch(query)
            say(failed=reason_of(query.exception() or RuntimeError("it ended")))
        except Exception as error:
            say(failed=reason_of(error))
        time.sleep(0.2)


if __name__ == "__main__":
    main()
