"""Data pipelines: Spark, through PySpark, fed from topics and feeding them.

A pipeline of one's own is a file of Python:

    from kafkaesque.pipelines import TopicSink, TopicSource, pipeline

    orders = TopicSource("orders", decode="json", schema="id STRING, amount DOUBLE")
    large = TopicSink("large_orders", key="id")

    @pipeline(to="large")
    def large_orders(orders):
        return orders.select("value.*").where("amount > 100")

`kafkaesque pipeline run orders.py` runs it. stocks, archive and upsert are pipelines of our own;
tables/ can be used without Spark. Nothing here loads PySpark before it is needed.
"""

from kafkaesque.pipelines.context import Context
from kafkaesque.pipelines.declaring import Pipeline, pipeline
from kafkaesque.pipelines.sinks import LakeSink, SparkSink, TableSink, TopicSink
from kafkaesque.pipelines.sources import SparkSource, TopicSource

__all__ = [
    "Context",
    "LakeSink",
    "Pipeline",
    "SparkSink",
    "SparkSource",
    "TableSink",
    "TopicSink",
    "TopicSource",
    "pipeline",
]
