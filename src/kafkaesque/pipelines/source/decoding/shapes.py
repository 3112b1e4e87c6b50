"""Arrays of a schema's types as arrays of the declared ones, without a look at single rows.

Texts become moments and dates: one of no zone is of UTC. A moment that microseconds of 64 bits
cannot hold is the last that they can.
Above: avro.py, json_texts.py. Below: types.py.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkaesque.client.columns.cursor import Bytes
from kafkaesque.client.columns.scalars import array_of
from kafkaesque.pipelines.source.decoding.types import members

_ZONE = r"(?:[Zz]|[+-]\d\d(?::?\d\d)?)$"
_NAIVE = pa.timestamp("us")
_PER_SECOND = {"s": 1_000_000, "ms": 1000}
_MOST = 2**63 - 1

_HEXADECIMAL: Bytes = np.frombuffer(b"0123456789abcdef", np.uint8)
_UUID_BYTES = 36
_DASHES = (8, 13, 18, 23)


def shaped(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Raises ArrowInvalid if a text is not what it was declared as."""
    given = array.type
    if given.equals(kind):
        return array
    if pa.types.is_struct(kind):
        # Not flatten(): it would give a union a bitmap of nulls, and Arrow ends the process then.
        parts = _branches(array) if pa.types.is_union(given) else _fields(array, kind)
        return _struct(parts, kind, array)
    if pa.types.is_list(kind):
        return pa.ListArray.from_arrays(
            _edges(array), shaped(array.values, kind.value_type), type=kind, mask=_nulls(array)
        )
    if pa.types.is_map(kind):
        keys, items = shaped(array.keys, kind.key_type), shaped(array.items, kind.item_type)
        return pa.MapArray.from_arrays(_edges(array), keys, items, type=kind, mask=_nulls(array))
    return _scalar(array, kind)


def _struct(parts: list[pa.Array], kind: pa.StructType, array: pa.Array) -> pa.StructArray:
    if not parts:
        return pa.array([{} if each else None for each in array.is_valid().to_pylist()], kind)
    found = [shaped(part, field.type) for part, field in zip(parts, kind, strict=True)]
    return pa.StructArray.from_arrays(found, fields=list(kind), mask=_nulls(array))


def _fields(array: pa.StructArray, kind: pa.StructType) -> list[pa.Array]:
    """Those that are declared; JSON may have brought others."""
    return [array.field(field.name) for field in kind]


def _branches(union: pa.UnionArray) -> list[pa.Array]:
    """Each branch with a place for every row, null where another was taken."""
    taken, place = union.type_codes.to_numpy(), union.offsets.to_numpy()
    held = {field.name for field in members(union.type).values()}
    return [
        union.field(number).take(array_of(pa.int32(), place, taken != number))
        for number, field in enumerate(union.type)
        if field.name in held
    ]


def _scalar(array: pa.Array, kind: pa.DataType) -> pa.Array:
    given = array.type
    if pa.types.is_null(given):
        return pa.nulls(len(array), kind)
    if given == pa.uuid():
        return _uuid_texts(array.storage)
    if isinstance(given, pa.BaseExtensionType):
        return array.storage.cast(kind)
    if pa.types.is_timestamp(kind):
        return (
            _moments_of_texts(array, kind) if pa.types.is_string(given) else _moments(array, kind)
        )
    return array.cast(kind)


def _moments(array: pa.TimestampArray, kind: pa.TimestampType) -> pa.TimestampArray:
    factor = _PER_SECOND.get(array.type.unit)
    if factor is not None:
        most = _MOST // factor
        numbers = pc.max_element_wise(pc.min_element_wise(array.cast(pa.int64()), most), -most)
        return pc.multiply(numbers, factor).cast(kind)
    return array.cast(kind, safe=False)


def _moments_of_texts(texts: pa.StringArray, kind: pa.TimestampType) -> pa.TimestampArray:
    try:
        return texts.cast(_NAIVE).cast(kind)
    except pa.ArrowInvalid:
        if kind.tz is None:
            raise
    try:
        return texts.cast(kind)
    except pa.ArrowInvalid:
        zoned = pc.match_substring_regex(texts, _ZONE)
        nothing = pa.scalar(None, pa.string())
        with_zone = pc.if_else(zoned, texts, nothing).cast(kind)
        return pc.coalesce(with_zone, pc.if_else(zoned, nothing, texts).cast(_NAIVE).cast(kind))


def _uuid_texts(ids: pa.FixedSizeBinaryArray) -> pa.StringArray:
    raw = np.frombuffer(ids.buffers()[1], np.uint8).reshape(-1, 16)
    raw = raw[ids.offset : ids.offset + len(ids)]
    nibbles = np.stack([raw >> 4, raw & 15], axis=2).reshape(-1, 32)
    texts = np.full((len(ids), _UUID_BYTES), ord("-"), np.uint8)
    texts[:, [place for place in range(_UUID_BYTES) if place not in _DASHES]] = _HEXADECIMAL[
        nibbles
    ]
    edges = array_of(pa.int32(), np.arange(len(ids) + 1, dtype=np.int32) * _UUID_BYTES)
    found = pa.StringArray.from_buffers(
        len(ids), edges.buffers()[1], pa.py_buffer(np.ascontiguousarray(texts))
    )
    if not ids.null_count:
        return found
    return pc.if_else(ids.is_valid(), found, pa.scalar(None, pa.string()))


def _edges(array: pa.Array) -> pa.Int32Array:
    return array_of(pa.int32(), array.offsets.to_numpy())


def _nulls(array: pa.Array) -> pa.BooleanArray | None:
    return array.is_null() if array.null_count else None
