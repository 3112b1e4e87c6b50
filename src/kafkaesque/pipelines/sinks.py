"""Where a user's pipeline may write: a topic, a table of the lake or of a database, or any of
Spark's sinks.

    large = TopicSink("large_orders", key="id")        exactly once
    kept = LakeSink("lake.large_orders")               exactly once
    state = TableSink("sqlite:///orders.db", table="orders", key="id")
    files = SparkSink("parquet", path="out/")

`check` looks at a frame's columns before anything runs. Above: files of users. Below: context.py,
sink/, lake/, tables/.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from kafkaesque.pipelines.failures import PipelineError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

    from kafkaesque.pipelines.context import Context
    from kafkaesque.pipelines.declaring import Mode

WAREHOUSE = "kafkaesque-lake"


class Sink(Protocol):
    def check(self, frame: "DataFrame", mode: "Mode") -> None:
        """Raises PipelineError if it cannot take such a frame, or not in this mode."""

    def start(
        self, context: "Context", frame: "DataFrame", query: str, mode: "Mode"
    ) -> "StreamingQuery":
        """The query that writes it."""


@dataclass(frozen=True, slots=True)
class TopicSink:
    """A frame with a column `value` (and perhaps key, headers, partition) is written as it is; of
    any other, each row becomes a JSON object, and `key` names the column of the record's key."""

    topic: str
    key: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)

    def check(self, frame: "DataFrame", mode: "Mode") -> None:
        if self.key is not None and self.key not in frame.columns:
            raise PipelineError(
                f"the sink {self.topic} takes its key from {self.key!r}, and the frame has "
                f"{', '.join(frame.columns)}: name one of these"
            )

    def start(
        self, context: "Context", frame: "DataFrame", query: str, mode: "Mode"
    ) -> "StreamingQuery":
        given = {
            **context.cluster,
            "topic": self.topic,
            "writerId": f"{context.name}.{query}.sink",
            **self.options,
        }
        records = self._records(frame)
        if mode == "append":
            writer = records.writeStream.format("kafkaesque").options(**given)
            return context.start(writer, query, to=self.topic)

        def write(batch: "DataFrame", _: int) -> None:
            # The sink sees for itself which batch of which query it is, and writes it once.
            batch.write.format("kafkaesque").options(**given).mode("append").save()

        # Spark lets no sink that is written in Python have a stream in another mode.
        writer = records.writeStream.foreachBatch(write).outputMode(mode)
        return context.start(writer, query, to=self.topic)

    def _records(self, frame: "DataFrame") -> "DataFrame":
        from pyspark.sql import functions as sql

        if "value" in frame.columns and self.key is None:
            return frame
        value = sql.to_json(sql.struct(*frame.columns), {"ignoreNullFields": "false"})
        columns = [value.alias("value")]
        if self.key is not None:
            columns.insert(0, sql.col(self.key).cast("string").alias("key"))
        return frame.select(*columns)


@dataclass(frozen=True, slots=True)
class LakeSink:
    """An Iceberg table ("lake.orders") in a warehouse: a directory, or a URI of one."""

    table: str
    warehouse: str = WAREHOUSE
    options: Mapping[str, str] = field(default_factory=dict)

    def check(self, frame: "DataFrame", mode: "Mode") -> None:
        if self.table.count(".") != 1:
            raise PipelineError(
                f"{self.table!r} is no table of the lake: name it as in lake.orders"
            )
        if mode != "append":
            raise PipelineError(
                f"{self.table}: rows of the lake are never changed: make the mode append, and give "
                "windows a watermark, which closes them"
            )

    def start(
        self, context: "Context", frame: "DataFrame", query: str, mode: "Mode"
    ) -> "StreamingQuery":
        given = {
            "table": self.table,
            "warehouse": self.warehouse,
            "writerId": f"{context.name}.{query}",
            **self.options,
        }
        writer = frame.writeStream.format("kafkaesque_lake").options(**given)
        return context.start(writer, query, to=self.table)


@dataclass(frozen=True, slots=True)
class TableSink:
    """A table of SQLite, PostgreSQL or CockroachDB: the newest event of each `key`. The frame needs
    the columns timestamp, partition and offset of the events, by which newer and older are told."""

    target: str
    table: str
    key: str = "id"

    def check(self, frame: "DataFrame", mode: "Mode") -> None:
        missing = [
            name
            for name in (self.key, "timestamp", "partition", "offset")
            if name not in frame.columns
        ]
        if missing:
            raise PipelineError(
                f"the table {self.table} needs the columns {', '.join(missing)}: keep them in the "
                "frame, as in .select('value.*', 'timestamp', 'partition', 'offset')"
            )

    def start(
        self, context: "Context", frame: "DataFrame", query: str, mode: "Mode"
    ) -> "StreamingQuery":
        from kafkaesque.pipelines.upsert import table_writer

        writer = table_writer(frame, to=self.target, table=self.table, key=self.key)
        return context.start(writer.outputMode(mode), query, to=self.table)


@dataclass(frozen=True, slots=True)
class SparkSink:
    """Any format of Spark's, with its options, and what that format promises."""

    format: str
    path: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)

    def check(self, frame: "DataFrame", mode: "Mode") -> None:
        """Spark itself says what does not fit."""

    def start(
        self, context: "Context", frame: "DataFrame", query: str, mode: "Mode"
    ) -> "StreamingQuery":
        writer = frame.writeStream.format(self.format).options(**self.options).outputMode(mode)
        if self.path is not None:
            writer = writer.option("path", self.path)
        return context.start(writer, query, to=self.path or self.format)
