"""Protobuf's messages as types of columns.

    int32, sint32, sfixed32     INT       uint32, fixed32, and 64 bits     LONG
    uint64, fixed64             DECIMAL(20, 0)                enum   its name, or its number as text
    Timestamp    a moment       Duration  a length of time    a wrapper   the value in it
    repeated     array          map       map                 Struct, Value, ListValue     JSON

A message that holds itself is JSON there, as text. Above: protobuf.py. Below: protobuf.
"""

from typing import Any

import pyarrow as pa
from google.protobuf.descriptor_pb2 import FieldDescriptorProto as Field

JSON = pa.json_(pa.string())

_UNSIGNED_64 = pa.decimal128(20, 0)
_SCALARS = {
    Field.TYPE_DOUBLE: pa.float64(),
    Field.TYPE_FLOAT: pa.float32(),
    Field.TYPE_BOOL: pa.bool_(),
    Field.TYPE_STRING: pa.string(),
    Field.TYPE_BYTES: pa.binary(),
    Field.TYPE_ENUM: pa.dictionary(pa.int32(), pa.string()),
    **dict.fromkeys((Field.TYPE_UINT64, Field.TYPE_FIXED64), _UNSIGNED_64),
    **dict.fromkeys((Field.TYPE_INT32, Field.TYPE_SINT32, Field.TYPE_SFIXED32), pa.int32()),
    **dict.fromkeys((Field.TYPE_UINT32, Field.TYPE_FIXED32), pa.int64()),
    **dict.fromkeys((Field.TYPE_INT64, Field.TYPE_SINT64, Field.TYPE_SFIXED64), pa.int64()),
}
_KNOWN = {
    "Timestamp": pa.timestamp("us", "UTC"),
    "Duration": pa.duration("us"),
    "BoolValue": pa.bool_(),
    "BytesValue": pa.binary(),
    "DoubleValue": pa.float64(),
    "FloatValue": pa.float32(),
    "Int32Value": pa.int32(),
    "Int64Value": pa.int64(),
    "StringValue": pa.string(),
    "UInt32Value": pa.int64(),
    "UInt64Value": _UNSIGNED_64,
    "Struct": JSON,
    "Value": JSON,
    "ListValue": JSON,
}


def message_type(message: Any, inside: frozenset[str] = frozenset()) -> pa.DataType:
    """Of a message's descriptor."""
    package, _, name = message.full_name.rpartition(".")
    if package == "google.protobuf" and name in _KNOWN:
        return _KNOWN[name]
    if message.full_name in inside:
        return JSON
    within = inside | {message.full_name}
    return pa.struct([(field.name, _field_type(field, within)) for field in message.fields])


def _field_type(field: Any, inside: frozenset[str]) -> pa.DataType:
    message = field.message_type
    if message is not None and message.GetOptions().map_entry:
        key, value = (message.fields_by_name[name] for name in ("key", "value"))
        return pa.map_(_single_type(key, inside), _single_type(value, inside))
    kind = _single_type(field, inside)
    return pa.list_(kind) if field.is_repeated else kind


def _single_type(field: Any, inside: frozenset[str]) -> pa.DataType:
    if field.message_type is not None:
        return message_type(field.message_type, inside)
    return _SCALARS[field.type]
