"""A topic's whole history as one frame: the lake, and the topic from where the lake ends.

    lake rows  ….…………… 1203 | 1204 …………… topic rows
                    the mark of the partition

Both parts are planned from one look at the table: its snapshot and the marks that were committed
with it. So no record is missing, though the topic's retention has removed it, and none is there
twice, though the topic still has it. If records are gone that were never archived, it says so.
Above: users. Below: reader.py, beginning.py.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kafkaesque.client.connection import Connection
from kafkaesque.pipelines.lake.beginning import starting_offsets
from kafkaesque.pipelines.lake.committing import written_of
from kafkaesque.pipelines.lake.options import CATALOG
from kafkaesque.pipelines.lake.warehouse import NAME, Warehouse, require_topic, table_name
from kafkaesque.pipelines.source.security import options_for

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def history(
    spark: "SparkSession",
    topic: str,
    connection: Connection,
    *,
    warehouse: str,
    catalog: Mapping[str, str] | None = None,
    namespace: str = NAME,
    **reading: str,
) -> "DataFrame":
    """`reading` are options of the source: those that the archive was started with."""
    from kafkaesque.client.admin import Admin

    lake = Warehouse.of(warehouse, catalog)
    name = table_name(topic, namespace)
    table = lake.table(name)
    require_topic(table, topic, Admin.connect(connection).topic_id(topic))
    begin = starting_offsets(connection, topic, written_of(table).marks)
    source = {"subscribe": topic, "startingOffsets": begin, "includeHeaders": "true"}
    hot = spark.read.format("kafkaesque").options(**options_for(connection), **source, **reading)
    snapshot = table.current_snapshot()
    rows = hot.load()
    if snapshot is None:
        return rows.select(*[field.name for field in table.schema().fields])
    cold = spark.read.format("kafkaesque_lake").options(
        table=name,
        warehouse=lake.place,
        snapshotId=str(snapshot.snapshot_id),
        **{f"{CATALOG}{key}": text for key, text in lake.settings},
    )
    archived = cold.load()
    recent = rows.select(*[each for each in archived.columns if each in rows.columns])
    return archived.unionByName(recent, allowMissingColumns=True)
