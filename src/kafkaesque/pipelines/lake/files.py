"""Rows to Parquet files in a table's place, without pyiceberg: in the tasks of Spark.

    data/<32 hex digits>.parquet     in the order in which the rows came: of a topic, by offset

Rows are gathered until a row group is worth writing, and a file is closed when it has the size that
was asked for. A file belongs to no table until it is committed: what a killed task leaves behind is
swept away by `kafkaesque lake maintain`.
Above: writer.py, committing.py, compaction.py. Below: schemas.py, marks.py.
"""

import os
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from kafkaesque.pipelines.lake.errors import explained
from kafkaesque.pipelines.lake.schemas import fitted
from kafkaesque.pipelines.marks import MarkColumns, highest, lowest

TARGET_BYTES: Final = 128 << 20
GROUP_BYTES: Final = 64 << 20
"""Of Arrow's buffers: a row group is a tenth to a half of it in the file."""
GROUP_ROWS: Final = 1 << 20
_LOCAL = "file://"


@dataclass(frozen=True, slots=True)
class Place:
    """What a task needs to know of a table. `settings` are pyiceberg's for its file system."""

    schema: pa.Schema
    directory: str
    target_bytes: int = TARGET_BYTES
    marks: MarkColumns | None = None
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Staged:
    """A file that waits to be committed, with its footer, and the edges of each group in it."""

    path: str
    size_bytes: int
    footer: pq.FileMetaData
    lowest: Mapping[str, int]
    highest: Mapping[str, int]

    @property
    def rows(self) -> int:
        return int(self.footer.num_rows)


def write(batches: Iterable[pa.RecordBatch | pa.Table], place: Place) -> list[Staged]:
    """Raises LakeError; nothing is left behind then."""
    done: list[Staged] = []
    current: _OpenFile | None = None
    try:
        with explained(f"write to {place.directory}"):
            for rows in _groups(batches):
                current = current or _OpenFile(place)
                current.write(rows)
                if current.size_bytes >= place.target_bytes:
                    done.append(current.close())
                    current = None
            if current is not None:
                done.append(current.close())
    except BaseException:
        remove([*(each.path for each in done), *([current.path] if current else [])], place)
        raise
    return done


def remove(paths: Iterable[str], place: Place) -> None:
    """As far as it can be done: what stays is swept away later."""
    for path in paths:
        try:
            if path.startswith(_LOCAL):
                Path(path.removeprefix(_LOCAL)).unlink(missing_ok=True)
            else:
                _io(place).delete(path)
        except OSError:
            continue


def read(path: str, place: Place) -> Iterator[pa.Table]:
    """A staged file's rows, a piece at a time."""
    with _source(path, place) as source, pq.ParquetFile(source) as file:
        for batch in file.iter_batches(batch_size=1 << 17):
            yield pa.Table.from_batches([batch])


class _OpenFile:
    def __init__(self, place: Place) -> None:
        self.path = f"{place.directory}/{uuid.uuid4().hex}.parquet"
        self._place = place
        self._lowest: dict[str, int] = {}
        self._highest: dict[str, int] = {}
        self._footers: list[pq.FileMetaData] = []
        self._stream = _sink(self.path, place)
        self._writer = pq.ParquetWriter(
            self._stream,
            place.schema,
            compression="zstd",
            metadata_collector=self._footers,
        )

    @property
    def size_bytes(self) -> int:
        return int(self._stream.tell())

    def write(self, rows: pa.Table) -> None:
        if self._place.marks is not None:
            for name, mark in lowest(rows, self._place.marks).items():
                self._lowest[name] = min(mark, self._lowest.get(name, mark))
            for name, mark in highest(rows, self._place.marks).items():
                self._highest[name] = max(mark, self._highest.get(name, mark))
        self._writer.write_table(fitted(rows, self._place.schema), row_group_size=rows.num_rows)

    def close(self) -> Staged:
        self._writer.close()
        size_bytes = self.size_bytes
        self._stream.close()
        return Staged(self.path, size_bytes, self._footers[0], self._lowest, self._highest)


def _groups(batches: Iterable[pa.RecordBatch | pa.Table]) -> Iterator[pa.Table]:
    """Rows enough for a row group each, but for the last."""
    gathered: list[pa.Table] = []
    size_bytes = rows = 0
    for batch in batches:
        table = batch if isinstance(batch, pa.Table) else pa.Table.from_batches([batch])
        if not table.num_rows:
            continue
        gathered.append(table)
        size_bytes += table.nbytes
        rows += table.num_rows
        if size_bytes >= GROUP_BYTES or rows >= GROUP_ROWS:
            yield pa.concat_tables(gathered)
            gathered, size_bytes, rows = [], 0, 0
    if gathered:
        yield pa.concat_tables(gathered)


def _sink(path: str, place: Place) -> Any:
    if not path.startswith(_LOCAL):
        return _io(place).new_output(path).create()
    local = path.removeprefix(_LOCAL)
    os.makedirs(os.path.dirname(local), exist_ok=True)
    return open(local, "xb")


def _source(path: str, place: Place) -> Any:
    if not path.startswith(_LOCAL):
        return _io(place).new_input(path).open()
    return open(path.removeprefix(_LOCAL), "rb")


def _io(place: Place) -> Any:
    from pyiceberg.io import load_file_io

    return load_file_io(dict(place.settings), place.directory)
