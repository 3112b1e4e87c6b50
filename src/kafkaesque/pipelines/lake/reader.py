"""`spark.read.format("kafkaesque_lake")`: a table of the lake, as it is when it is planned.

Files that cannot have rows for `where` are not opened. A task reads files of about 64 MB in all.
Above: pyspark_kafkaesque_lake, history.py. Below: rows.py, pyiceberg.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema

from kafkaesque.pipelines.lake import schemas
from kafkaesque.pipelines.lake.errors import LakeError
from kafkaesque.pipelines.lake.options import ReadOptions
from kafkaesque.pipelines.lake.rows import RowScan

if TYPE_CHECKING:
    from pyiceberg.table import DataScan
    from pyspark.sql.types import StructType

_PIECE_BYTES = 64 << 20


@dataclass
class Piece(InputPartition):
    """Files that one task reads, and what it needs of the table to do so: pyiceberg's own."""

    scan: RowScan
    files: list[Any]


def declared(options: ReadOptions) -> "StructType":
    return from_arrow_schema(schemas.of_table(_scan(options).projection()))


class LakeReader(DataSourceReader):
    def __init__(self, options: ReadOptions) -> None:
        self._options = options

    def partitions(self) -> Sequence[InputPartition]:
        scan = _scan(self._options)
        rows = RowScan(scan.table_metadata, scan.io, scan.projection(), scan.row_filter)
        pieces: list[Piece] = []
        room = 0
        for file in scan.plan_files():
            if not pieces or room < file.file.file_size_in_bytes:
                pieces.append(Piece(rows, []))
                room = _PIECE_BYTES
            pieces[-1].files.append(file)
            room -= file.file.file_size_in_bytes
        return pieces

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        # Of an empty plan Spark makes one task with a partition of its own.
        if not isinstance(partition, Piece):
            return
        for file in partition.files:
            for rows in partition.scan.read(file):
                yield from rows.combine_chunks().to_batches()


def _scan(options: ReadOptions) -> "DataScan":
    table = options.warehouse.table(options.table)
    if options.snapshot_id is not None and table.snapshot_by_id(options.snapshot_id) is None:
        raise LakeError(
            f"{options.table} has no snapshot {options.snapshot_id} (any more): "
            f"`kafkaesque lake describe {options.table}` lists those that are kept"
        )
    try:
        return table.scan(
            row_filter=options.where or "true",
            selected_fields=options.columns,
            snapshot_id=options.snapshot_id,
        )
    except ValueError as error:
        raise LakeError(f"{options.table} cannot be read like this: {error}") from None
