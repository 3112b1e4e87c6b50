"""Rows at rest, between the tasks that made them and the driver that sends them.

What is small travels in the task's own answer; more goes to a file of Arrow's, in a directory that
driver and executors share:

    <stagingDir>/<writerId>/<run>/<batch>/<task>-<attempt>.arrow

A file counts only if the answer of its task names it, so what a killed task has left is never read.
A batch's directory is removed when the batch is written or given up; what dead runs have left, when
the next one begins. Above: stream.py, batch.py, committer.py. Below: pyarrow.fs.
"""

import uuid
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.fs
from pyspark.sql.datasource import WriterCommitMessage

from kafkaesque.pipelines.marks import MarkColumns, highest, lowest
from kafkaesque.pipelines.sink.errors import SinkError
from kafkaesque.pipelines.workers import settle

INLINE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Job:
    """For which batch of which run of which query, and where its files go (None: nowhere).

    `batch` is told to `frame.write` by nobody else.
    """

    query: str = ""
    run: str = ""
    directory: str | None = None
    batch: int = 0


@dataclass(frozen=True)
class Staged(WriterCommitMessage):
    """What one task has made: its rows, or the path of their file."""

    job: Job
    rows: int = 0
    data: bytes = b""
    path: str | None = None
    lowest: dict[str, int] = field(default_factory=dict)
    highest: dict[str, int] = field(default_factory=dict)


def stage(
    batches: Iterable[pa.RecordBatch], job: Job, task: str, marks: MarkColumns | None
) -> Staged:
    """Raises SinkError if there is no room for them."""
    settle()
    held: list[pa.RecordBatch] = []
    edges = _Edges(marks)
    source = iter(batches)
    for batch in source:
        if not batch.num_rows:
            continue
        edges.add(batch)
        held.append(batch)
        if sum(each.nbytes for each in held) > INLINE_BYTES:
            path = _write(held, source, edges, job, task)
            return Staged(job, edges.rows, b"", path, edges.lowest, edges.highest)
    return Staged(job, edges.rows, _packed(held), None, edges.lowest, edges.highest)


def staged_rows(staged: Staged) -> Iterator[pa.RecordBatch]:
    """Raises SinkError if they are gone."""
    if not staged.rows:
        return
    try:
        with _opened(staged) as stream, pa.ipc.open_stream(stream) as reader:
            yield from reader
    except (OSError, pa.ArrowInvalid) as error:
        raise SinkError(
            f"the rows that a task has put into {staged.path} cannot be read ({error}): stagingDir "
            "has to be a place that driver and executors share"
        ) from None


def clear(directory: str) -> None:
    """Remove a batch's directory and all in it, if it is there; and its run's, if it is empty."""
    files, path = _filesystem(directory)
    with suppress(FileNotFoundError):
        files.delete_dir(path)
    run = path.rpartition("/")[0]
    if not files.get_file_info(pyarrow.fs.FileSelector(run, allow_not_found=True)):
        with suppress(FileNotFoundError):
            files.delete_dir(run)


def clear_others(directory: str) -> None:
    """Remove what other runs of the same writer have left. `directory` is that of a batch."""
    run = directory.rpartition("/")[0]
    parent, _, name = run.rpartition("/")
    files, path = _filesystem(parent)
    for each in files.get_file_info(pyarrow.fs.FileSelector(path, allow_not_found=True)):
        if each.base_name != name and each.type is pyarrow.fs.FileType.Directory:
            with suppress(FileNotFoundError):
                files.delete_dir(each.path)


class _Edges:
    """The rows that went by: how many, and from where to where in each group."""

    def __init__(self, marks: MarkColumns | None) -> None:
        self._marks = marks
        self.rows = 0
        self.lowest: dict[str, int] = {}
        self.highest: dict[str, int] = {}

    def add(self, batch: pa.RecordBatch) -> None:
        self.rows += batch.num_rows
        if self._marks is None:
            return
        table = pa.Table.from_batches([batch])
        table = table.filter(table[self._marks.rising].is_valid())
        for name, mark in lowest(table, self._marks).items():
            self.lowest[name] = min(mark, self.lowest.get(name, mark))
        for name, mark in highest(table, self._marks).items():
            self.highest[name] = max(mark, self.highest.get(name, mark))


def _write(
    held: list[pa.RecordBatch],
    rest: Iterator[pa.RecordBatch],
    edges: _Edges,
    job: Job,
    task: str,
) -> str:
    if job.directory is None:
        raise SinkError(
            f"a task has more than {INLINE_BYTES >> 20} MB of rows, and no place to put them: give "
            "checkpointLocation or stagingDir, which driver and executors share"
        )
    path = f"{job.directory}/{task}-{uuid.uuid4().hex[:8]}.arrow"
    files, inner = _filesystem(path)
    try:
        files.create_dir(inner.rpartition("/")[0], recursive=True)
        try:
            with (
                files.open_output_stream(inner) as sink,
                pa.ipc.new_stream(sink, held[0].schema, options=_compressed()) as writer,
            ):
                for batch in held:
                    writer.write_batch(batch)
                for batch in rest:
                    edges.add(batch)
                    writer.write_batch(batch)
        except BaseException:
            with suppress(OSError):
                files.delete_file(inner)
            raise
    except OSError as error:
        raise SinkError(
            f"rows cannot be put into {job.directory} ({error}): see that it may be written to and "
            "has room, or give another stagingDir"
        ) from None
    return path


def _packed(held: list[pa.RecordBatch]) -> bytes:
    if not held:
        return b""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, held[0].schema, options=_compressed()) as writer:
        for batch in held:
            writer.write_batch(batch)
    return bytes(sink.getvalue())


def _compressed() -> pa.ipc.IpcWriteOptions:
    return pa.ipc.IpcWriteOptions(compression="lz4")


def _opened(staged: Staged) -> Any:
    if staged.path is None:
        return pa.BufferReader(staged.data)
    files, path = _filesystem(staged.path)
    return files.open_input_stream(path)


def _filesystem(place: str) -> tuple[pyarrow.fs.FileSystem, str]:
    if "://" not in place:
        return pyarrow.fs.LocalFileSystem(), place
    try:
        files, path = pyarrow.fs.FileSystem.from_uri(place)
    except (pa.ArrowInvalid, ValueError) as error:
        raise SinkError(
            f"rows cannot be put into {place} ({error}): give a stagingDir that pyarrow can reach"
        ) from None
    return files, path
