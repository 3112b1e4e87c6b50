"""The rows of a table's file, in the table's columns of today.

pyiceberg 0.12 can do this too, but reads a list of structs that is null as an empty one, and what
compaction reads it writes: headers would change. So files whose fields are called as in the table
are read here; others, from before a field was renamed or with rows that somebody deleted, are read
by pyiceberg. Above: reader.py, compaction.py. Below: schemas.py, pyiceberg.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from kafkaesque.pipelines.lake.schemas import fitted, of_table

if TYPE_CHECKING:
    from pyiceberg.schema import Schema
    from pyiceberg.table import FileScanTask

_ID = b"PARQUET:field_id"


@dataclass
class RowScan:
    """Travels to the tasks of Spark: `metadata`, `io` and `where` are pyiceberg's."""

    metadata: Any
    io: Any
    columns: "Schema"
    where: Any

    def read(self, task: "FileScanTask") -> Iterator[pa.Table]:
        wanted = of_table(self.columns).remove_metadata()
        schema = of_table(self.metadata.schema())
        place = self.io.new_input(task.file.file_path)
        with place.open() as source, pq.ParquetFile(source) as file:
            is_plain = not task.delete_files and is_named_alike(file.schema_arrow, schema)
            for rows in self._read(file, schema) if is_plain else self._read_by_pyiceberg(task):
                yield fitted(rows, wanted)

    def _read(self, file: pq.ParquetFile, schema: pa.Schema) -> Iterator[pa.Table]:
        from pyiceberg.expressions import AlwaysTrue
        from pyiceberg.expressions.visitors import bind, extract_field_ids
        from pyiceberg.io.pyarrow import expression_to_pyarrow

        table = self.metadata.schema()
        names = {field.name for field in self.columns.fields}
        chosen = None
        if self.where != AlwaysTrue():
            bound = bind(table, self.where, case_sensitive=True)
            chosen = expression_to_pyarrow(bound, table)
            names |= {_column(table, number) for number in extract_field_ids(bound)}
        needed = pa.schema([field for field in schema if field.name in names])
        columns = [name for name in file.schema_arrow.names if name in names]
        for batch in file.iter_batches(batch_size=1 << 17, columns=columns):
            # A file from before the first of these columns has its number of rows alone.
            rows = pa.Table.from_batches([batch]) if columns else _blank(batch.num_rows)
            rows = fitted(rows, needed)
            yield rows if chosen is None else rows.filter(chosen)

    def _read_by_pyiceberg(self, task: "FileScanTask") -> Iterator[pa.Table]:
        from pyiceberg.io.pyarrow import ArrowScan

        scan = ArrowScan(self.metadata, self.io, self.columns, self.where)
        for batch in scan.to_record_batches([task]):
            yield pa.Table.from_batches([batch])


def is_named_alike(file: pa.Schema, table: pa.Schema) -> bool:
    """Whether a name means the same field in both, so that names will do to find columns."""
    return _is_alike(list(file), list(table))


def _is_alike(file: list[pa.Field], table: list[pa.Field]) -> bool:
    by_name = {field.name: field for field in table}
    by_number = {_number(field): field for field in table}
    for field in file:
        number = _number(field)
        named, numbered = by_name.get(field.name), by_number.get(number)
        if number is None or (named is None) != (numbered is None):
            return False
        if named is None or numbered is None:
            continue
        if named.name != numbered.name or not _is_alike(_within(field), _within(named)):
            return False
    return True


def _within(field: pa.Field) -> list[pa.Field]:
    kind = field.type
    if pa.types.is_struct(kind):
        return list(kind)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return [kind.value_field]
    if pa.types.is_map(kind):
        return [kind.key_field, kind.item_field]
    return []


def _number(field: pa.Field) -> bytes | None:
    return (field.metadata or {}).get(_ID)


def _column(table: "Schema", number: int) -> str:
    return (table.find_column_name(number) or "").partition(".")[0]


def _blank(count: int) -> pa.Table:
    return pa.table({"": pa.nulls(count)})
