"""Spark's own Kafka connector, in Java, on our broker: it reads, streams and writes.

Beside it, in the same session, ours reads the same: every column of every record must agree.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from scripts.spark_connector import connector_jars
from tests import foreign
from tests.broker_process import BrokerProcess

pytestmark = [pytest.mark.compat, pytest.mark.timeout(300)]

DRIVER = """
import json, sys
from kafkaesque.pipelines.session import session, stop

brokers, topic, place, jars = sys.argv[1:]
spark = session("connector", "local[2]", {"spark.driver.extraClassPath": jars})
options = {"kafka.bootstrap.servers": brokers, "subscribe": topic, "includeHeaders": "true"}


def rows(source):
    frame = spark.read.format(source).options(**options).load().drop("_error")
    told = frame.selectExpr(
        "hex(key)", "hex(value)", "topic", "partition", "offset", "unix_millis(timestamp)",
        "timestampType", "to_json(headers)",
    )
    return sorted(map(tuple, told.collect()), key=lambda row: row[3:5])


def copy(source, target):
    frame = spark.readStream.format(source).options(**options, startingOffsets="earliest").load()
    writer = frame.select("key", "value").writeStream.format("kafka")
    writer = writer.option("kafka.bootstrap.servers", brokers).option("topic", target)
    query = writer.option("checkpointLocation", place).trigger(availableNow=True).start()
    query.awaitTermination(200)


theirs, ours = rows("kafka"), rows("kafkaesque")
copy("kafka", "copied")
stop(spark)
print(json.dumps({"theirs": len(theirs), "alike": theirs == ours}))
"""


def test_the_jvm_connector_reads_streams_and_writes(tmp_path: Path, broker: BrokerProcess) -> None:
    topic = foreign.create_topic(broker.bootstrap, partitions=2)
    foreign.create_topic(broker.bootstrap, "copied")
    for partition in (0, 1):
        values = [b"%d-%d" % (partition, each) for each in range(500)]
        foreign.produce(broker.bootstrap, topic, values, partition=partition)
    jars = ":".join(map(str, connector_jars()))
    command = [sys.executable, "-c", DRIVER, broker.bootstrap, topic, str(tmp_path / "kept"), jars]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    assert json.loads(done.stdout.splitlines()[-1]) == {"theirs": 1000, "alike": True}
    copied = foreign.values(foreign.read_all(broker.bootstrap, "copied"))
    expected = [b"%d-%d" % (number, each) for number in (0, 1) for each in range(500)]
    assert sorted(copied) == sorted(expected)  # type: ignore[type-var]
