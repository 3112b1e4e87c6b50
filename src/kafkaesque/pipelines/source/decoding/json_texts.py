"""JSON texts to rows: by Arrow's parser where the types allow, one by one where they do not.

Arrow has no word for an object of any names (MAP), for JSON inside JSON, and for base64: a type
that has one of these in it goes one by one. Moments and dates come as texts, and become what they
are all at once. A batch in which something is amiss is halved until those are alone that cause it.
In processes that read millions a compiled loop comes first, where all members are scalars: it takes
the plain ones, and leaves the others to the parser.
A value may have a schema id in front of it: 0 is no beginning of a JSON text.
Above: values.py, frames.py. Below: json_strays.py, shapes.py, fitting.py, client/columns/.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from kafkaesque.client.columns import json_decoder
from kafkaesque.client.columns.cursor import Mask
from kafkaesque.client.columns.json_plain import Walk, plain_decoder
from kafkaesque.client.columns.scalars import array_of, booleans
from kafkaesque.client.schemas.framing import HEADER_BYTES
from kafkaesque.pipelines.source.decoding.fitting import MisfitError, fitting
from kafkaesque.pipelines.source.decoding.json_strays import with_strays
from kafkaesque.pipelines.source.decoding.rows import Rows, joined, spread
from kafkaesque.pipelines.source.decoding.shapes import shaped

_FEW = 64
_MOSTLY_ODD = 0.5


class JsonTexts:
    """`kind`: what the texts mean; `declared`: Spark's types for it; `walk`: as plain_decoder's."""

    def __init__(
        self, kind: pa.StructType, declared: pa.StructType, walk: Walk | None = None
    ) -> None:
        self._declared = declared
        self._fit = fitting(kind)
        self._has_decimals = _has_decimals(kind)
        self._parsed = self._told = _with_texts(kind)
        self._columns = json_decoder(self._parsed) if _is_columnar(kind) else None
        self._plain = plain_decoder(self._parsed, walk)

    def read(self, values: pa.BinaryArray) -> Rows:
        values = _without_frames(values)
        return self._by_the_loop(values) or self._by_the_parser(values)

    def _by_the_loop(self, values: pa.BinaryArray) -> Rows | None:
        found = self._plain.read(values) if self._plain is not None else None
        if found is None:
            return None
        array, is_odd = found
        try:
            array = shaped(array, self._declared)
        except pa.ArrowInvalid:
            return None
        if not is_odd.any():
            return Rows(array)
        if is_odd.mean() > _MOSTLY_ODD:
            # Two looks at each are too many: the next ones will be the same.
            self._plain = None
        return self._with_others(values, array, is_odd, self._by_the_parser)

    def _by_the_parser(self, values: pa.BinaryArray) -> Rows:
        if self._columns is None:
            return self._one_by_one(values)
        told = with_strays(self._parsed, values)
        if not told.equals(self._told):
            self._told, self._columns = told, json_decoder(told)
        return self._at_once(values)

    def _at_once(self, values: pa.BinaryArray) -> Rows:
        assert self._columns is not None
        if len(values) <= 1:
            return self._one_by_one(values)
        decoded = self._columns.read(values)
        try:
            array = shaped(decoded.array, self._declared)
            if self._has_decimals:
                # Arrow's parser counts their digits after the point only.
                array.validate(full=True)
        except pa.ArrowInvalid:
            if len(values) <= _FEW:
                return self._one_by_one(values)
            middle = len(values) // 2
            return joined([self._at_once(values[:middle]), self._at_once(values[middle:])])
        if not decoded.faults.any():
            return Rows(array)
        # A second look at those that were refused, for a reason that names the field.
        return self._with_others(values, array, decoded.refused, self._one_by_one)

    def _with_others(
        self,
        values: pa.BinaryArray,
        array: pa.Array,
        others: Mask,
        read: Callable[[pa.BinaryArray], Rows],
    ) -> Rows:
        """The rows of `array`, and in place of `others` what `read` makes of their values."""
        some = booleans(others)
        good, odd = Rows(array.filter(pc.invert(some))), read(values.filter(some))
        return spread([(np.flatnonzero(~others), good), (np.flatnonzero(others), odd)], len(values))

    def _one_by_one(self, values: pa.BinaryArray) -> Rows:
        found: list[Any] = []
        reasons: dict[int, str] = {}
        for place, value in enumerate(values.to_pylist()):
            try:
                found.append(None if value is None else self._fit(_object(value)))
            except MisfitError as error:
                found.append(None)
                reasons[place] = str(error)
        return Rows(pa.array(found, self._declared), reasons)


def _object(value: bytes) -> Any:
    try:
        found = orjson.loads(value)
    except orjson.JSONDecodeError as error:
        # Without the text of the value, which the error's own words may have in them.
        raise MisfitError(
            f"the value is no JSON (line {error.lineno}, column {error.colno})"
        ) from None
    if type(found) is not dict:
        raise MisfitError("the value is no JSON object")
    return found


def _without_frames(values: pa.BinaryArray) -> pa.BinaryArray:
    """Cut out of the same buffer: pieces in turn of what is kept and what is left out."""
    framed = pc.starts_with(values, b"\0")
    if not pc.any(framed).as_py():
        return values
    count = len(values)
    _, offsets, data = values.buffers()
    edges = np.frombuffer(offsets, np.int32)[values.offset : values.offset + count + 1]
    skipped = framed.fill_null(False).to_numpy(zero_copy_only=False) * np.int32(HEADER_BYTES)
    pieces = np.empty(2 * count + 1, np.int32)
    pieces[0:-1:2] = np.minimum(edges[:-1] + skipped, edges[1:])
    pieces[1::2], pieces[-1] = edges[1:], edges[-1]
    cut = pa.Array.from_buffers(pa.binary(), 2 * count, [None, pa.py_buffer(pieces), data])
    kept = np.arange(0, 2 * count, 2, dtype=np.int32)
    missing = values.is_null().to_numpy(zero_copy_only=False)
    return cut.take(array_of(pa.int32(), kept, missing))


def _is_columnar(kind: pa.DataType) -> bool:
    if pa.types.is_struct(kind):
        return all(_is_columnar(field.type) for field in kind)
    if pa.types.is_list(kind):
        return _is_columnar(kind.value_type)
    is_odd = isinstance(kind, pa.BaseExtensionType) or pa.types.is_map(kind)
    return not (is_odd or pa.types.is_binary(kind))


def _has_decimals(kind: pa.DataType) -> bool:
    if pa.types.is_struct(kind):
        return any(_has_decimals(field.type) for field in kind)
    if pa.types.is_list(kind):
        return _has_decimals(kind.value_type)
    return bool(pa.types.is_decimal(kind))


def _with_texts(kind: pa.DataType) -> pa.DataType:
    """Strings for moments and dates: Arrow takes them in fewer ways, and dates as numbers."""
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return pa.string()
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _with_texts(field.type)) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(_with_texts(kind.value_type))
    return kind
