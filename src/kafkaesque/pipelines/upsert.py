"""The pipeline `upsert`: the newest event of each id, in a table of a database.

    topic ─► Spark's micro-batch ─► rows ─► one transaction, compare and set by id

Each row carries the place of its event and replaces only an older one, so a batch that is done
again, after whatever crash, changes nothing; Spark's checkpoint only says where to go on. Events
are the JSON objects of a topic, each field a column, or what `decode` reads by the registry's
schemas. One without a value deletes the row that its key names.

What is no row stops the query, and the message says where it is; with `dead_letters` it goes to
that topic instead. A database that is away is waited for, `patience_s` long, then the query stops:
nothing is lost, as it goes on from its checkpoint when it is started again.

A batch is collected by the driver, which alone writes: one transaction for each batch, and no two
writers that wait for each other. Above: cli/pipeline/upsert.py, sinks.py. Below: tables/,
context.py.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from kafkaesque.client.app.dead_letters import DeadLetter
from kafkaesque.client.logs import warn
from kafkaesque.pipelines.tables import RowError, Table, TableError
from kafkaesque.pipelines.tables.columns import ColumnType
from kafkaesque.pipelines.tables.events import Read, column_types, fields, structs, texts
from kafkaesque.pipelines.tables.statements import DELETED

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    from kafkaesque.pipelines.context import Context

Decode: TypeAlias = Literal["json", "avro", "protobuf"]
Columns: TypeAlias = Mapping[str, ColumnType]
PATIENCE_S = 60.0
BATCH_ROWS = 200_000
"""At most so many events at a time: the driver holds them in memory."""


@dataclass(slots=True)
class Counts:
    """What was done since the pipeline began."""

    events: int = 0
    rows: int = 0
    """Rows of the table that changed."""
    refused: int = 0


def start(
    context: "Context",
    *,
    topic: str,
    to: str,
    table: str,
    key: str = "id",
    columns: Columns | None = None,
    decode: Decode | None = None,
    dead_letters: str | None = None,
    patience_s: float = PATIENCE_S,
    batch_rows: int = BATCH_ROWS,
    counts: Counts | None = None,
) -> "list[StreamingQuery]":
    """`to` is the database, as in sqlite:///orders.db; `columns` are those whose types the events
    should not decide. Raises TableError if there is no such database, or no way to it."""
    if "," in topic:
        raise TableError(
            f"a table is fed from one topic, not from {topic}: events of two may share the place "
            "by which newer and older are told; run a pipeline for each, with a table of its own"
        )
    options: dict[str, Any] = {
        "startingOffsets": "earliest",
        "maxOffsetsPerTrigger": batch_rows,
    }
    if decode is not None:
        options["decode"] = decode
    if dead_letters is not None:
        options |= {"deadLetterTopic": dead_letters} if decode else {"includeHeaders": "true"}
    target = Target(to, table, key, columns or {}, patience_s, counts or Counts())
    target.try_open()
    events = context.read(topic, "rows", **options)
    refuse = _letters(context, dead_letters) if dead_letters is not None else _stop
    if decode is None:
        write = target.writing(lambda batch: texts(batch, key), lambda _: {}, refuse)
    else:
        write = target.writing(
            lambda batch: structs(batch, key),
            lambda batch: column_types(batch.schema.field("value").type),
            refuse,
        )
    return [context.start(events.writeStream.foreachBatch(write), "rows", to=table)]


def table_writer(
    frame: "DataFrame",
    *,
    to: str,
    table: str,
    key: str = "id",
    columns: Columns | None = None,
    patience_s: float = PATIENCE_S,
) -> "DataStreamWriter":
    """For a pipeline of one's own: a frame with a column for each field, beside `timestamp`,
    `partition` and `offset` of the events, and perhaps a boolean `kafka_deleted`."""
    target = Target(to, table, key, columns or {}, patience_s, Counts())
    target.try_open()
    aside = {"timestamp", "partition", "offset", DELETED}

    def types(batch: "pa.Table") -> Columns:
        found = column_types(batch.schema)
        return {name: kind for name, kind in found.items() if name not in aside}

    write = target.writing(lambda batch: fields(batch, key), types, _stop)
    return frame.writeStream.foreachBatch(write)


@dataclass(frozen=True, slots=True)
class Target:
    """The table, opened for each batch: a query that waits for events holds no connection."""

    to: str
    table: str
    key: str
    columns: Columns
    patience_s: float
    counts: Counts

    def try_open(self) -> None:
        self._open().close()

    def writing(
        self,
        read: "Callable[[pa.Table], Read]",
        types: "Callable[[pa.Table], Columns]",
        refuse: Callable[[Read], None],
    ) -> "Callable[[DataFrame, int], None]":
        def write(frame: "DataFrame", _: int) -> None:
            # One action: each one would read the topic again.
            batch = frame.toArrow()
            if not len(batch):
                return
            found = read(batch)
            if found.refused:
                refuse(found)
            with self._open() as table:
                self.counts.rows += table.compare_and_set(found.rows, types(batch))
            self.counts.events += len(batch)
            self.counts.refused += len(found.refused)

        return write

    def _open(self) -> Table:
        return Table.open(
            self.to,
            table=self.table,
            key=self.key,
            columns=self.columns,
            patience_s=self.patience_s,
        )


def _stop(read: Read) -> None:
    _, error = read.refused[0]
    others = f" ({len(read.refused) - 1} more in this batch)" if len(read.refused) > 1 else ""
    raise RowError(
        f"{error}{others}; nothing of the batch is written: correct the producer, or have such "
        "events sent to a topic of their own with --dead-letters TOPIC"
    )


def _letters(context: "Context", topic: str) -> Callable[[Read], None]:
    from kafkaesque.pipelines.source.decoding.letters import Letters

    letters = Letters(context.connection, topic)
    group = f"{context.name}.rows"

    def send(read: Read) -> None:
        warn(f"{len(read.refused)} events go to {topic}: {read.refused[0][1]}")
        letters.send([DeadLetter(topic, event, group, error, 0) for event, error in read.refused])

    return send
