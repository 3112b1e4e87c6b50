"""`archive`: topics to Iceberg tables, a table `lake.<topic>` for each, from the beginning on.

    partition | offset | timestamp | key | value | headers [| _error]

Each row is written once, whatever is killed or lost: the table keeps the last offset of every
partition in the commit that brings the rows. A query without a checkpoint goes on from there, and a
checkpoint belongs to one table: if the table is dropped, the new one is filled from the beginning.

With `decode`, `value` is a struct of typed fields, and the table takes on fields as the schema
grows. The interval decides how fresh the table is and how small its files are: with 10 seconds they
are small, and `kafkaesque lake maintain` makes large ones of them.
Above: cli/pipeline/. Below: context.py, lake/.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from kafkaesque.client.connection import ClusterError
from kafkaesque.pipelines.context import Context
from kafkaesque.pipelines.lake import schemas
from kafkaesque.pipelines.lake.beginning import starting_offsets
from kafkaesque.pipelines.lake.committing import written_of
from kafkaesque.pipelines.lake.files import TARGET_BYTES
from kafkaesque.pipelines.lake.options import CATALOG
from kafkaesque.pipelines.lake.warehouse import (
    NAME,
    Warehouse,
    require_topic,
    table_name,
    topic_properties,
)

if TYPE_CHECKING:
    from pyiceberg.table import Table
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

    from kafkaesque.client.admin import Admin

COLUMNS: Final = ("partition", "offset", "timestamp", "key", "value", "headers")
INTERVAL: Final = "10 seconds"
ROWS_PER_BATCH: Final = 5_000_000


def start(
    context: Context,
    *,
    topics: Sequence[str],
    warehouse: str,
    catalog: Mapping[str, str] | None = None,
    namespace: str = NAME,
    rows_per_batch: int = ROWS_PER_BATCH,
    target_bytes: int = TARGET_BYTES,
    **reading: str,
) -> "list[StreamingQuery]":
    """A query for each topic. `reading` are options of the source, as in decode="avro"."""
    from kafkaesque.client.admin import Admin

    lake = Warehouse.of(warehouse, catalog)
    cluster = Admin.connect(context.connection)
    _require_topics(cluster, topics)
    limited = {"maxOffsetsPerTrigger": str(rows_per_batch), **reading}
    started = []
    for topic in topics:
        name, topic_id = table_name(topic, namespace), cluster.topic_id(topic)
        rows = _rows(context, topic, lake.maybe_table(name), limited)
        properties = topic_properties(topic, topic_id)
        table = lake.ensured(name, schemas.of_frame(rows.schema), properties)
        require_topic(table, topic, topic_id)
        writer = rows.writeStream.format("kafkaesque_lake").options(
            table=name,
            warehouse=lake.place,
            markColumn="offset",
            markBy="partition",
            targetFileSize=str(target_bytes),
            **{f"{CATALOG}{key}": text for key, text in lake.settings},
        )
        checkpoints = f"{context.checkpoints}/{table.metadata.table_uuid}"
        started.append(replace(context, checkpoints=checkpoints).start(writer, topic, to=name))
    return started


def _require_topics(cluster: "Admin", topics: Sequence[str]) -> None:
    """Before there are tables for them."""
    missing = set(topics) - {place.topic for place in cluster.partitions(topics)}
    if missing:
        raise ClusterError(
            f"there is no topic {', '.join(sorted(missing))} in the cluster: correct the name, "
            "or create it first"
        )


def _rows(
    context: Context, topic: str, table: "Table | None", options: Mapping[str, str]
) -> "DataFrame":
    """From where the table ends: what a checkpoint says goes before that."""
    marks = {} if table is None else written_of(table).marks
    begin = starting_offsets(context.connection, topic, marks)
    rows = context.read(topic, topic, startingOffsets=begin, includeHeaders="true", **options)
    kept = [name for name in (*COLUMNS, "_error") if name in rows.columns]
    # As many tasks as run at a time, so as many files a batch, not one for each partition.
    return rows.select(*kept).coalesce(context.spark.sparkContext.defaultParallelism)
