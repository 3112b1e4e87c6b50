"""Members of JSON objects that no column is for: known, they are passed over quickly.

Arrow's parser can be told to ignore what it was not told of, but then bytes that are not one object
could pass for one, and each value must be looked at alone before. So the first values of each batch
say what else there is, and the parser is told of that, too. What strangers may add is bounded.
Above: json_texts.py. Below: client/columns/json_rows.py.
"""

from typing import Final

import pyarrow as pa

from kafkaesque.client.columns import json_decoder

SAMPLE_ROWS: Final = 32
MAX_STRAYS: Final = 200


def with_strays(kind: pa.StructType, values: pa.BinaryArray) -> pa.StructType:
    """`kind`, and what else the first of these values have in them, if anything."""
    # Copied: a part of an array has the bytes of the whole with it.
    sample = pa.array(values[:SAMPLE_ROWS].to_pylist(), pa.binary())
    found = _merged(kind, json_decoder().read(sample).array.type)
    return found if _size(found) <= _size(kind) + MAX_STRAYS else kind


def _merged(kind: pa.DataType, seen: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(kind) and pa.types.is_struct(seen):
        names = {field.name for field in kind}
        shared = [
            field.with_type(_merged(field.type, seen.field(field.name).type))
            if seen.get_field_index(field.name) >= 0
            else field
            for field in kind
        ]
        strays = [field.with_type(_wide(field.type)) for field in seen if field.name not in names]
        return pa.struct([*shared, *(each for each in strays if not _is_open(each.type))])
    if pa.types.is_list(kind) and pa.types.is_list(seen):
        return pa.list_(_merged(kind.value_type, seen.value_type))
    return kind


def _wide(kind: pa.DataType) -> pa.DataType:
    """What is whole in one value may have a fraction in the next."""
    if pa.types.is_integer(kind):
        return pa.float64()
    if pa.types.is_struct(kind):
        wide = [field.with_type(_wide(field.type)) for field in kind]
        return pa.struct([field for field in wide if not _is_open(field.type)])
    return pa.list_(_wide(kind.value_type)) if pa.types.is_list(kind) else kind


def _is_open(kind: pa.DataType) -> bool:
    """Nothing but nulls was seen of it."""
    return bool(pa.types.is_null(kind) or (pa.types.is_list(kind) and _is_open(kind.value_type)))


def _size(kind: pa.DataType) -> int:
    if pa.types.is_struct(kind):
        return 1 + sum(_size(field.type) for field in kind)
    return 1 + _size(kind.value_type) if pa.types.is_list(kind) else 1
