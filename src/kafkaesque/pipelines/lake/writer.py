"""`frame.writeStream.format("kafkaesque_lake")`: a sink that writes every row once.

    planning (driver)   the table is made if it is not there, its columns as the frame needs them
    write (task)        Parquet files beside the table's own
    commit (driver)     the files and the marks in one commit; of a replay nothing

Spark makes the writer anew for each of the three, in processes of its own.
Above: pyspark_kafkaesque_lake. Below: files.py, committing.py.
"""

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)

from kafkaesque.pipelines.lake import files, schemas
from kafkaesque.pipelines.lake.committing import commit
from kafkaesque.pipelines.lake.errors import LakeError
from kafkaesque.pipelines.lake.files import Place, Staged
from kafkaesque.pipelines.lake.options import WriteOptions
from kafkaesque.pipelines.workers import settle

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

_QUERY = "sql.streaming.queryId"
"""Where Spark tells a task whose it is: a name that stays with the checkpoint."""


@dataclass
class Message(WriterCommitMessage):
    """What a task has written."""

    place: Place
    staged: list[Staged] = field(default_factory=list)
    query: str = ""


class LakeFiles:
    """What both writers do."""

    def __init__(self, options: WriteOptions, schema: "StructType") -> None:
        self._options = options
        self._frame = schemas.of_frame(schema)
        self._place = _place(options, self._frame)

    def write(self, batches: Iterator[pa.RecordBatch]) -> Message:
        settle()
        context = TaskContext.get()
        query = context.getLocalProperty(_QUERY) if context is not None else None
        return Message(self._place, files.write(batches, self._place), query or "")

    def commit(self, messages: Sequence[WriterCommitMessage | None], query: str, batch: int) -> int:
        told = [each for each in messages if isinstance(each, Message)]
        staged = [file for each in told for file in each.staged]
        place = next((each.place for each in told if each.staged), self._place)
        return commit(self._options, self._frame, place, staged, query, batch)

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        told = [each for each in messages if isinstance(each, Message)]
        files.remove((file.path for each in told for file in each.staged), self._place)


class StreamWriter(DataSourceStreamArrowWriter):
    def __init__(self, options: WriteOptions, schema: "StructType") -> None:
        self._files = LakeFiles(options, schema)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Message:
        return self._files.write(iterator)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        queries = {each.query for each in messages if isinstance(each, Message)}
        self._files.commit(messages, next(iter(queries), ""), batchId)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        self._files.abort(messages)


class BatchWriter(DataSourceArrowWriter):
    """`frame.write…mode("append")`: known again by its marks alone."""

    def __init__(self, options: WriteOptions, schema: "StructType", overwrite: bool) -> None:
        if overwrite:
            raise LakeError('a lake is only added to: write with mode("append")')
        self._files = LakeFiles(options, schema)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Message:
        return self._files.write(iterator)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        self._files.commit(messages, uuid.uuid4().hex, 0)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        self._files.abort(messages)


def _place(options: WriteOptions, frame: pa.Schema) -> Place:
    if options.marks is not None:
        wanted = (options.marks.rising, *options.marks.group)
        if missing := [name for name in wanted if name not in frame.names]:
            raise LakeError(
                f"markColumn or markBy names {', '.join(missing)}, which the rows do not have: "
                f"they have {', '.join(frame.names)}"
            )
    table = options.warehouse.ensured(options.table, frame, {})
    directory = table.properties.get("write.data.path", f"{table.location()}/data")
    return Place(
        schemas.planned(table, frame),
        directory,
        options.target_bytes,
        options.marks,
        dict(table.io.properties),
    )
