"""JSON objects to columns, by pyarrow.json.

    {"v":VALUE}
    {"v":VALUE}

A row is one such line. A value that is not one JSON object, but part of one or several, cannot pass
for a row: a line's end is an error inside an object or a string, every line holds at least one
object, and there must be as many as lines, each with the one member v. What Arrow would take and
JSON does not know (NaN, bytes that are not UTF-8), what does not begin with a brace, and what may
be nested too deep, is looked at alone before, with orjson. If the whole does not parse, all rows
are looked at alone, then halved until those are found that do not fit the others.
Texts stay texts: Arrow would make timestamps of some. Without a schema the columns are those of the
values, and a value that contradicts those before it is refused; an empty array says little, and
gives way to what comes after it. With a schema, members that it does not name are ignored; that is
the slower way. From strangers take JSON with a schema only: each new name is a new column.
Above: the users of the package. Below: decoded.py, pyarrow, orjson.
"""

from typing import Any, Literal

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from kafkaesque.client.columns.cursor import Bytes, Mask
from kafkaesque.client.columns.decoded import Decoded
from kafkaesque.client.columns.errors import Fault, RefusedError
from kafkaesque.client.columns.scalars import booleans

MAX_DEPTH = 64
_MAX_BYTES = 2**31 - 1 - 1024
_LINE_BYTES = 7


def json_decoder(schema: pa.Schema | pa.StructType | None = None) -> "JsonDecoder":
    """`schema`: what columns there are; None: what the values say."""
    return JsonDecoder(pa.struct(list(schema)) if schema is not None else None)


class JsonDecoder:
    def __init__(self, kind: pa.StructType | None) -> None:
        self._kind = kind

    def decode(
        self, values: pa.BinaryArray, on_error: Literal["raise", "null"] = "raise"
    ) -> pa.StructArray:
        """Null values are null rows. A value that is no JSON object raises ColumnsError, or is a
        null row too."""
        decoded = self.read(values)
        if on_error == "raise":
            decoded.check()
        return decoded.array

    def read(self, values: pa.BinaryArray) -> Decoded:
        if values.nbytes + _LINE_BYTES * len(values) > _MAX_BYTES:
            raise ValueError("more than 2 GiB of values at once: decode them in parts")
        values = values.cast(pa.binary())
        faults = np.zeros(len(values), np.uint8)
        suspects = _suspects(values)
        if suspects.any():
            values = _looked_at(values, suspects, faults)
        try:
            found = _rows(values, self._kind, "infer" if self._kind is None else "error")
        except pa.ArrowInvalid:
            values = _looked_at(values, np.ones(len(values), np.bool_), faults)
            found = self._halved(values, faults)
        return Decoded(found, faults, partial=self._kind is not None)

    def _halved(self, values: pa.BinaryArray, faults: Bytes) -> pa.StructArray:
        """The rows of sound objects; those that contradict the ones before them are refused."""
        kind, unexpected = self._kind, "infer" if self._kind is None else "ignore"
        while True:
            wrong = np.zeros(len(values), np.bool_)
            seen, kind = kind, self._fitting(values, kind, wrong)
            faults[wrong] = Fault.JSON_TYPE
            values = pc.if_else(booleans(wrong), pa.scalar(None, pa.binary()), values)
            try:
                return _rows(values, kind, unexpected)
            except pa.ArrowInvalid:
                # An empty array, and later under the same name something else than an array:
                # looked at once more, it is the one that does not fit.
                if kind == seen and not wrong.any():
                    raise

    def _fitting(
        self, values: pa.BinaryArray, kind: pa.StructType | None, wrong: Mask
    ) -> pa.StructType | None:
        """What the rows say, one after the other; `wrong` becomes true of those that do not fit."""
        unexpected = "infer" if self._kind is None else "ignore"
        rest = [(0, len(values))]
        while rest:
            start, stop = rest.pop()
            try:
                found = _rows(values[start:stop], kind, unexpected)
                kind = _settled(found.type) if self._kind is None else kind
            except pa.ArrowInvalid:
                if stop - start == 1:
                    wrong[start] = True
                else:
                    middle = (start + stop) // 2
                    rest += [(middle, stop), (start, middle)]
        return kind


def _settled(kind: pa.DataType) -> pa.DataType:
    """What the rows so far say: a member that was null in all of them may still become anything."""
    if pa.types.is_struct(kind):
        known = [(field.name, _settled(field.type)) for field in kind if not _is_open(field.type)]
        return pa.struct(known)
    if pa.types.is_list(kind):
        return pa.list_(_settled(kind.value_type))
    return kind


def _is_open(kind: pa.DataType) -> bool:
    return bool(pa.types.is_null(kind) or (pa.types.is_list(kind) and _is_open(kind.value_type)))


def _rows(values: pa.BinaryArray, kind: pa.StructType | None, unexpected: str) -> pa.StructArray:
    """Raises ArrowInvalid if any of them is not an object, or contradicts the others."""
    if not len(values):
        return pa.array([], kind if kind is not None else pa.struct([]))
    lines = pc.binary_join_element_wise(
        b'{"v":', values, b"}\n", b"", null_handling="replace", null_replacement=b"null"
    )
    data = lines.buffers()[2]
    found = _parsed(data, kind, unexpected)
    if found.num_rows != len(values) or found.column_names != ["v"]:
        raise pa.ArrowInvalid("a value is not one object")
    seen = found.schema.field("v").type
    if pa.types.is_null(seen):
        return pa.nulls(len(values), kind if kind is not None else pa.struct([]))
    if unexpected == "infer" and ((texts := _with_texts(seen)) != seen or _has_lists(seen)):
        # Where it has to see for itself what is in a list, Arrow loses the nulls that come first.
        found = _parsed(data, texts, unexpected)
    return _mended(found.column(0).chunk(0))


def _mended(array: pa.Array) -> pa.Array:
    """Of arrays that have nothing but nulls in them, Arrow's parser makes too few: [null, null]
    has one, and whoever looks at the other fails."""
    kind, buffers = array.type, array.buffers()
    if not _has_open_lists(kind):
        return array
    if pa.types.is_struct(kind):
        inner = [_mended(array.field(place)) for place in range(kind.num_fields)]
        return pa.Array.from_buffers(kind, len(array), buffers[:1], children=inner)
    if pa.types.is_null(kind.value_type):
        inner = [pa.nulls(int(np.frombuffer(buffers[1], np.int32)[len(array)]))]
    else:
        inner = [_mended(array.values)]
    return pa.Array.from_buffers(kind, len(array), buffers[:2], children=inner)


def _has_lists(kind: pa.DataType) -> bool:
    if pa.types.is_struct(kind):
        return any(_has_lists(field.type) for field in kind)
    return bool(pa.types.is_list(kind))


def _has_open_lists(kind: pa.DataType) -> bool:
    if pa.types.is_struct(kind):
        return any(_has_open_lists(field.type) for field in kind)
    if not pa.types.is_list(kind):
        return False
    return bool(pa.types.is_null(kind.value_type) or _has_open_lists(kind.value_type))


def _parsed(data: pa.Buffer, kind: pa.StructType | None, unexpected: str) -> pa.Table:
    explicit = None if kind is None else pa.schema([("v", kind)])
    return pj.read_json(
        pa.BufferReader(data),
        pj.ReadOptions(use_threads=False, block_size=data.size + 1),
        pj.ParseOptions(
            explicit_schema=explicit,
            newlines_in_values=True,
            unexpected_field_behavior=unexpected,
        ),
    )


def _with_texts(kind: pa.DataType) -> pa.DataType:
    """Strings for timestamps."""
    if pa.types.is_timestamp(kind):
        return pa.string()
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _with_texts(field.type)) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(_with_texts(kind.value_type))
    return kind


def _suspects(values: pa.BinaryArray) -> Mask:
    """Rows to look at before Arrow does."""
    doubtful = pc.invert(pc.starts_with(values, b"{"))
    text = _all_bytes(values)
    for word in (b"NaN", b"Inf"):
        if word in text:
            doubtful = pc.or_(doubtful, pc.match_substring(values, word))
    # Each row opens one brace; only if all together open many more can one be deep.
    if text.count(b"[") + text.count(b"{") > len(values) + MAX_DEPTH:
        opened = pc.add(pc.count_substring(values, b"["), pc.count_substring(values, b"{"))
        doubtful = pc.or_(doubtful, pc.greater(opened, MAX_DEPTH))
    try:
        values.cast(pa.string())
    except pa.ArrowInvalid:
        return np.ones(len(values), np.bool_)
    found: Mask = doubtful.fill_null(False).to_numpy(zero_copy_only=False)
    return found


def _all_bytes(values: pa.BinaryArray) -> bytes:
    """One copy, for searches that Python does faster than Arrow. Of a part of an array it may hold
    more than the part."""
    data = values.buffers()[2]
    return data.to_pybytes() if data is not None else b""


def _looked_at(values: pa.BinaryArray, which: Mask, faults: Bytes) -> pa.BinaryArray:
    """The same values, those of `which` written by orjson; null instead of those refused."""
    rows = np.flatnonzero(which)
    anew: list[bytes | None] = []
    for row, value in zip(rows.tolist(), values.filter(booleans(which)).to_pylist(), strict=True):
        try:
            anew.append(None if value is None else _plain(value))
        except RefusedError as error:
            faults[row] = error.fault
            anew.append(None)
    return pc.replace_with_mask(values, booleans(which), pa.array(anew, pa.binary()))


def _plain(value: bytes) -> bytes:
    try:
        document = orjson.loads(value)
    except ValueError:
        raise RefusedError(Fault.JSON) from None
    if type(document) is not dict:
        raise RefusedError(Fault.JSON)
    if _is_deep(document):
        raise RefusedError(Fault.DEPTH)
    return orjson.dumps(document)


def _is_deep(document: Any) -> bool:
    level = [document]
    for _ in range(MAX_DEPTH):
        below: list[Any] = []
        for each in level:
            if type(each) is dict:
                below += each.values()
            elif type(each) is list:
                below += each
        if not below:
            return False
        level = below
    return any(type(each) is dict or type(each) is list for each in level)
