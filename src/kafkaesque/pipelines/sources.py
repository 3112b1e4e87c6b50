"""What a user's pipeline may read: a topic, or anything that Spark can read as a stream.

    orders = TopicSource("orders", decode="json", schema="id STRING, amount DOUBLE")
    ticks = TopicSource("stock_avro_topic", decode="avro", starting="latest")
    files = SparkSource("parquet", path="landing/", schema="id STRING")

Above: files of users. Below: context.py, source/.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from kafkaesque.pipelines.context import Context


class Source(Protocol):
    def frame(self, context: "Context", query: str) -> "DataFrame":
        """The stream, for the query of that name."""


@dataclass(frozen=True, slots=True)
class TopicSource:
    """Records of topics ("a,b"). With `decode` their values are typed columns: `schema` says which,
    for JSON, or the registry does. `options` are those of the source besides."""

    topic: str
    decode: Literal["json", "avro", "protobuf"] | None = None
    schema: str | None = None
    starting: str = "earliest"
    options: Mapping[str, str] = field(default_factory=dict)

    def frame(self, context: "Context", query: str) -> "DataFrame":
        options = {"startingOffsets": self.starting}
        if self.decode is not None:
            options["decode"] = self.decode
        if self.schema is not None:
            options["valueSchema"] = self.schema
        return context.read(self.topic, query, **{**options, **self.options})


@dataclass(frozen=True, slots=True)
class SparkSource:
    """Any format of Spark's, with its options."""

    format: str
    path: str | None = None
    schema: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)

    def frame(self, context: "Context", query: str) -> "DataFrame":
        reader = context.spark.readStream.format(self.format).options(**self.options)
        if self.schema is not None:
            reader = reader.schema(self.schema)
        return reader.load(self.path) if self.path is not None else reader.load()
