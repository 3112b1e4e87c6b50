"""From the types of schemas to those of Spark, in the words of its DDL.

    null, enum, UUID, time of day, JSON      STRING      decimal of up to 38 digits   DECIMAL
    decimal of more digits                   STRING      fixed, bytes                 BINARY
    a moment in UTC                          TIMESTAMP   a moment of no zone          TIMESTAMP_NTZ
    record      STRUCT      array   ARRAY    map   MAP   a length of time   INTERVAL DAY TO SECOND
    a union of several types      STRUCT of member0, member1, …, of which one is not null

Every field may be null. Above: pyspark_kafkaesque, shapes.py. Below: nothing.
"""

from collections.abc import Iterable

import pyarrow as pa

_SCALARS: dict[pa.DataType, str] = {
    pa.bool_(): "BOOLEAN",
    pa.int32(): "INT",
    pa.int64(): "BIGINT",
    pa.float32(): "FLOAT",
    pa.float64(): "DOUBLE",
    pa.date32(): "DATE",
    pa.binary(): "BINARY",
    pa.duration("us"): "INTERVAL DAY TO SECOND",
}


def ddl_of(kind: pa.DataType) -> str:
    if kind in _SCALARS:
        return _SCALARS[kind]
    if pa.types.is_struct(kind):
        return _struct((field.name, field.type) for field in kind)
    if pa.types.is_union(kind):
        return _struct((name, field.type) for name, field in members(kind).items())
    if pa.types.is_list(kind):
        return f"ARRAY<{ddl_of(kind.value_type)}>"
    if pa.types.is_map(kind):
        return f"MAP<{ddl_of(kind.key_type)}, {ddl_of(kind.item_type)}>"
    if pa.types.is_timestamp(kind):
        return "TIMESTAMP_NTZ" if kind.tz is None else "TIMESTAMP"
    if pa.types.is_decimal128(kind):
        return f"DECIMAL({kind.precision}, {kind.scale})"
    return "BINARY" if pa.types.is_fixed_size_binary(kind) else "STRING"


def members(union: pa.DataType) -> dict[str, pa.Field]:
    """The branches that hold something, by the names that Spark's own from_avro gives them."""
    held = [each for each in union if not pa.types.is_null(each.type)]
    return {f"member{place}": each for place, each in enumerate(held)}


def _struct(fields: Iterable[tuple[str, pa.DataType]]) -> str:
    parts = (f"`{name.replace('`', '``')}`: {ddl_of(kind)}" for name, kind in fields)
    return f"STRUCT<{', '.join(parts)}>"
