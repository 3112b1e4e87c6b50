"""A driver to be killed: copies one topic into another, with marks.

    python tests/sink_driver.py once|on BROKERS SOURCE TARGET CHECKPOINT

Says the pid of its JVM when the query runs. `once`: ends when it has copied all there is.
"""

import sys

from kafkaesque.pipelines.session import session, stop


def main() -> None:
    mode, brokers, source, target, checkpoint = sys.argv[1:]
    spark = session("copies", "local[2]", {"spark.driver.memory": "512m"})
    spark.sparkContext.setLogLevel("OFF")
    cluster = {"kafka.bootstrap.servers": brokers}
    wanted = {"subscribe": source, "startingOffsets": "earliest", "maxOffsetsPerTrigger": "2000"}
    reader = spark.readStream.format("kafkaesque").options(**cluster, **wanted)
    rows = reader.load().select("key", "value", "topic", "partition", "offset")
    marks = {"markColumn": "offset", "markBy": "topic,partition", "topic": target}
    writer = rows.writeStream.format("kafkaesque").options(**cluster, **marks)
    placed = writer.option("checkpointLocation", checkpoint)
    if mode == "once":
        query = placed.trigger(availableNow=True).start()
    else:
        query = placed.trigger(processingTime="0 seconds").start()
    gateway = spark.sparkContext._gateway
    assert gateway is not None
    sys.stdout.write(f"{gateway.proc.pid}\n")
    sys.stdout.flush()
    query.awaitTermination()
    stop(spark)


if __name__ == "__main__":
    main()
