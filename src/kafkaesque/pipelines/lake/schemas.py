"""The columns of a frame and of a table, in Arrow's types, and how a table's columns grow.

A table takes on columns and fields that are new, and wider numbers (int to long, float to double,
a decimal of more digits); rows from before read null there. What a frame no longer has is null from
then on. Any other change is refused, by name. Every column may be null: rows come from outside.
Above: writer.py, committing.py. Below: pyiceberg.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from kafkaesque.pipelines.lake.errors import LakeError

if TYPE_CHECKING:
    from pyiceberg.schema import Schema
    from pyiceberg.table import Table, Transaction
    from pyspark.sql.types import StructType

_WIDER = {
    pa.int32(): (pa.int64(),),
    pa.float32(): (pa.float64(),),
}
_UNITS = {pa.int8(): pa.int32(), pa.int16(): pa.int32()}
"""Iceberg has no smaller numbers."""


def of_frame(schema: "StructType") -> pa.Schema:
    from pyspark.errors import PySparkException
    from pyspark.sql.pandas.types import to_arrow_schema

    try:
        found = to_arrow_schema(schema, timezone="UTC")
    except PySparkException as error:
        raise LakeError(f"a column cannot be kept in a lake: {error}; leave it out") from None
    return pa.schema([_plain(field).with_nullable(True) for field in found])


def of_table(schema: "Schema") -> pa.Schema:
    """With the ids of fields, by which Iceberg finds columns in files."""
    from pyiceberg.io.pyarrow import schema_to_pyarrow

    return pa.schema([_plain(field) for field in schema_to_pyarrow(schema)])


def evolve(transaction: "Transaction", name: str, frame: pa.Schema) -> pa.Schema:
    """The table's columns as they must be for such rows; the change is part of the transaction."""
    found = of_table(transaction.table_metadata.schema())
    if problems := list(conflicts(found, frame)):
        raise LakeError(
            f"{name} cannot take on these rows: {'; '.join(problems)}. Nothing of them is written. "
            "Bring the field's type back, give the field another name, or write to another table"
        )
    if found != frame:
        with transaction.update_schema() as update:
            update.union_by_name(frame)
    return of_table(transaction.table_metadata.schema())


def planned(table: "Table", frame: pa.Schema) -> pa.Schema:
    """What `evolve` will make of the table."""
    return evolve(table.transaction(), ".".join(table.name()), frame)


def conflicts(table: pa.Schema, frame: pa.Schema) -> Iterator[str]:
    """The fields that have two types which do not go together, in words."""
    for field in frame:
        if (place := table.get_field_index(field.name)) >= 0:
            yield from _conflicts(field.name, table.field(place).type, field.type)


def fitted(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """The rows in the table's columns."""
    columns = [
        rows[field.name].cast(field.type)
        if field.name in rows.column_names
        else pa.nulls(rows.num_rows, field.type)
        for field in schema
    ]
    return pa.table(columns, schema=schema)


def _conflicts(path: str, table: pa.DataType, frame: pa.DataType) -> Iterator[str]:
    if pa.types.is_struct(table) and pa.types.is_struct(frame):
        for field in frame:
            if (place := table.get_field_index(field.name)) >= 0:
                yield from _conflicts(f"{path}.{field.name}", table.field(place).type, field.type)
    elif pa.types.is_list(table) and pa.types.is_list(frame):
        yield from _conflicts(f"{path}[]", table.value_type, frame.value_type)
    elif pa.types.is_map(table) and pa.types.is_map(frame):
        if table.key_type != frame.key_type:
            yield f"the keys of {path} are {table.key_type} in the table, and {frame.key_type} here"
        yield from _conflicts(f"{path}[]", table.item_type, frame.item_type)
    elif not (table == frame or _is_wider(table, frame) or _is_wider(frame, table)):
        yield f"{path} is {_word(table)} in the table, and {_word(frame)} here"


def _is_wider(wide: pa.DataType, narrow: pa.DataType) -> bool:
    if pa.types.is_decimal(wide) and pa.types.is_decimal(narrow):
        return bool(wide.scale == narrow.scale and wide.precision >= narrow.precision)
    return wide in _WIDER.get(narrow, ())


def _plain(field: pa.Field) -> pa.Field:
    """Arrow's short strings and lists, as Spark has them, and numbers as Iceberg has them."""
    return field.with_type(_plain_type(field.type))


def _plain_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_large_string(kind):
        return pa.string()
    if pa.types.is_large_binary(kind):
        return pa.binary()
    if pa.types.is_struct(kind):
        return pa.struct([_plain(field).with_nullable(True) for field in kind])
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.list_(_plain(kind.value_field).with_nullable(True).with_name("element"))
    if pa.types.is_map(kind):
        return pa.map_(_plain(kind.key_field), _plain(kind.item_field).with_nullable(True))
    return _UNITS.get(kind, kind)


def _word(kind: pa.DataType) -> str:
    return "a struct" if pa.types.is_struct(kind) else str(kind)
