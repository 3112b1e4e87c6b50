"""What a pipeline is started with: a session, a cluster, and places for its checkpoints.

    def start(context: Context) -> list[StreamingQuery]:
        ticks = context.read("stock_json_topic", startingOffsets="earliest")
        return [context.start(ticks.writeStream.format("noop"), "ticks")]

Each query has a name of its own in the pipeline, and under it a checkpoint and a consumer group:
"<pipeline>.<query>". Above: the pipelines. Below: source/, session.py.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from kafkaesque.client.connection import Connection
from kafkaesque.pipelines.session import make_active
from kafkaesque.pipelines.source.security import options_for

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter


@dataclass(frozen=True, slots=True)
class Context:
    """`once`: all there is, then the end; otherwise a batch every `interval`."""

    name: str
    spark: "SparkSession"
    connection: Connection
    checkpoints: str
    registry: str | None = None
    once: bool = False
    interval: str = "1 second"
    destinations: dict[str, str] = field(default_factory=dict)
    """Where each query writes, for people to read: of most sinks Spark knows the class alone."""

    @property
    def cluster(self) -> dict[str, str]:
        """The options by which source and sink find the cluster, and as whom."""
        return options_for(self.connection)

    def read(self, topics: str, query: str, **options: Any) -> "DataFrame":
        """A stream of topics ("a,b"), for the query of that name: its group's lag shows."""
        given = {"subscribe": topics, "groupId": f"{self.name}.{query}", **self.cluster}
        if self.registry is not None and "decode" in options:
            given["schema.registry.url"] = self.registry
        return self.spark.readStream.format("kafkaesque").options(**{**given, **options}).load()

    def checkpoint(self, query: str) -> str:
        return f"{self.checkpoints}/{query}"

    def start(
        self, writer: "DataStreamWriter", query: str, *, to: str | None = None
    ) -> "StreamingQuery":
        """`to` is what `pipeline status` and the console say that it writes to."""
        make_active(self.spark)
        if to is not None:
            self.destinations[query] = to
        named = writer.queryName(f"{self.name}.{query}")
        placed = named.option("checkpointLocation", self.checkpoint(query))
        if self.once:
            return placed.trigger(availableNow=True).start()
        return placed.trigger(processingTime=self.interval).start()


Start: TypeAlias = Callable[[Context], "Sequence[StreamingQuery]"]
"""What a pipeline is: it starts its queries."""
