"""`frame.write.format("kafkaesque").mode("append").save()`: all rows in one transaction.

With a writerId, a frame that has mark columns, or that a stream's foreachBatch is given, is written
once: by its marks, or by the number of the stream's batch. (Spark lets no sink of Python's have a
stream in update mode; by foreachBatch it can.) Any other frame that is written again is there
twice: nobody can tell whether that was meant.
Above: pyspark_kafkaesque. Below: staging.py, committer.py.
"""

import uuid
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from kafkaesque.pipelines.sink.committer import committer_for, write_once
from kafkaesque.pipelines.sink.layout import Layout
from kafkaesque.pipelines.sink.options import SinkOptions
from kafkaesque.pipelines.sink.staging import Job, Staged, stage
from kafkaesque.pipelines.sink.stream import (
    BATCH,
    QUERY,
    RUN,
    clear_files,
    staged_of,
    staging_of,
    task_name,
    this_task,
)


class BatchWriter(DataSourceArrowWriter):
    """Made once, on the driver: tasks and commit have copies of it."""

    def __init__(self, options: SinkOptions, layout: Layout) -> None:
        self._options = options
        self._layout = layout
        self._job = uuid.uuid4().hex

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        context = this_task()
        return stage(iterator, self._job_of(context), task_name(context), self._options.marks)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        staged = staged_of(messages)
        if any(each.rows for each in staged):
            self._send(staged)
        clear_files(staged)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        clear_files(staged_of(messages))

    def _job_of(self, context: Any) -> Job:
        query = context.getLocalProperty(QUERY)
        if query is None or self._options.writer_id is None:
            directory = staging_of(self._options, context, f"{self._job}/0")
            return Job(self._job, self._job, directory)
        run = context.getLocalProperty(RUN) or query
        directory = staging_of(self._options, context, f"{run}/{self._job}")
        return Job(query, run, directory, int(context.getLocalProperty(BATCH)))

    def _send(self, staged: list[Staged]) -> None:
        job = staged[0].job
        is_told_apart = job.query != self._job or self._options.marks is not None
        if self._options.writer_id is not None and is_told_apart:
            committer_for(self._options).commit(self._layout, staged, job.batch)
        else:
            write_once(self._options, self._layout, staged)
