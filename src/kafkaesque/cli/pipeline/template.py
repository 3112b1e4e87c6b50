"""The file that `kafkaesque pipeline new` writes. Above: file.py."""

_TEMPLATE = '''\
"""The pipeline {name}.

    kafkaesque pipeline check {name}.py     what it would do
    kafkaesque pipeline run {name}.py       do it, until Ctrl-C
    kafkaesque pipeline status {name}       how it fares
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from kafkaesque.pipelines import TopicSink, TopicSource, pipeline

# Sources and sinks have the names of their variables.
# Without decode, `value` is the bytes of a record; "avro" and "protobuf" ask the schema registry.
source = TopicSource(
    "{topic}",
    decode="json",
    schema="event_time TIMESTAMP, ticker STRING, price DOUBLE",
)
# Every row becomes a JSON object; `key` names the column of the record's key.
result = TopicSink("{name}_result", key="ticker")


@pipeline(to="result", mode="update")
def {name}(source: DataFrame) -> DataFrame:
    """The parameters are sources; what is returned goes to the sink."""
    ticks = source.where("_error IS NULL").select("value.*")
    return (
        ticks.withWatermark("event_time", "10 seconds")
        .groupBy(sql.window("event_time", "1 minute"), "ticker")
        .agg(sql.avg("price").alias("average"), sql.count("*").alias("ticks"))
        .select("ticker", sql.col("window.start").alias("start"), "average", "ticks")
    )
'''


def template(name: str, topic: str) -> str:
    return _TEMPLATE.format(name=name, topic=topic)
