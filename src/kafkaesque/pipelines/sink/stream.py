"""`frame.writeStream.format("kafkaesque")`: every batch of a query into topics, exactly once.

Tasks know which query, run and batch they work for: Spark sends it along with them, though it tells
`write` only the rows. What they stage carries it to the driver.
Above: pyspark_kafkaesque. Below: staging.py, committer.py.
"""

import tempfile
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage

from kafkaesque.pipelines.sink.committer import committer_for
from kafkaesque.pipelines.sink.errors import SinkError
from kafkaesque.pipelines.sink.layout import Layout
from kafkaesque.pipelines.sink.options import STAGING, SinkOptions
from kafkaesque.pipelines.sink.staging import Job, Staged, clear, stage

QUERY = "sql.streaming.queryId"
RUN = "spark.jobGroup.id"
BATCH = "streaming.sql.batchId"


class StreamWriter(DataSourceStreamArrowWriter):
    def __init__(self, options: SinkOptions, layout: Layout) -> None:
        self._options = options
        self._layout = layout

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        context = this_task()
        query = context.getLocalProperty(QUERY)
        if query is None:
            raise SinkError(
                "Spark does not say which query this is: write with frame.writeStream, or, outside "
                "of a stream, with frame.write"
            )
        run = context.getLocalProperty(RUN) or query
        directory = staging_of(self._options, context, f"{run}/{context.getLocalProperty(BATCH)}")
        return stage(iterator, Job(query, run, directory), task_name(context), self._options.marks)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        if staged := staged_of(messages):
            if any(each.rows for each in staged):
                committer_for(self._options).commit(self._layout, staged, batchId)
            clear_files(staged)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        clear_files(staged_of(messages))


def this_task() -> Any:
    context = TaskContext.get()
    if context is None:
        raise SinkError("rows are staged outside of a task of Spark's: write with frame.write")
    return context


def task_name(context: Any) -> str:
    return f"{context.partitionId()}-{context.attemptNumber()}"


def staging_of(options: SinkOptions, context: Any, job: str) -> str | None:
    """Where the job's files go; None if nobody says where."""
    root = options.staging
    if root is None and (context.getLocalProperty("spark.master") or "").startswith("local"):
        root = f"{tempfile.gettempdir()}/{STAGING}"
    return None if root is None else f"{root}/{options.writer_id or 'batch'}/{job}"


def staged_of(messages: list[WriterCommitMessage | None]) -> list[Staged]:
    """In the order of the tasks. Of a task that failed there is none."""
    return [each for each in messages if isinstance(each, Staged)]


def clear_files(staged: list[Staged]) -> None:
    for directory in {each.job.directory for each in staged if each.path is not None}:
        if directory is not None:
            clear(directory)
