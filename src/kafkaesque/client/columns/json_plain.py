"""JSON objects to columns by the compiled loop, where all columns are scalars.

What is not plain enough for the loop is told, row by row, and is for json_rows.py: both agree on
every row that both read. As with records, the loop is used only in processes that decode millions.
Above: pipelines/source/decoding/json_texts.py. Below: compiled.py, json_loop.py.
"""

from collections.abc import Callable
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafkaesque.client.columns import compiled
from kafkaesque.client.columns.compiled import binary
from kafkaesque.client.columns.cursor import Bytes, Longs, Mask
from kafkaesque.client.columns.scalars import array_of, booleans

Walk: TypeAlias = Callable[..., int]

_WHOLE, _REAL, _BOOLEAN, _TEXT = range(4)
"""As json_loop.py has them, which is imported only where numba is worth it."""
_KINDS: Final = {
    pa.int8(): _WHOLE,
    pa.int16(): _WHOLE,
    pa.int32(): _WHOLE,
    pa.int64(): _WHOLE,
    pa.float64(): _REAL,
    pa.bool_(): _BOOLEAN,
    pa.string(): _TEXT,
}

_tried: list[Walk | None] = []


def plain_decoder(kind: pa.StructType, walk: Walk | None = None) -> "PlainDecoder | None":
    """None if a column is not for the loop. `walk`: the loop, if not only where it is loaded."""
    is_plain = kind.num_fields and all(field.type in _KINDS for field in kind)
    return PlainDecoder(kind, walk) if is_plain else None


class PlainDecoder:
    def __init__(self, kind: pa.StructType, walk: Walk | None) -> None:
        self.type = kind
        self._walk = walk
        names = [field.name.encode() for field in kind]
        self._names = np.frombuffer(b"".join(names), np.uint8)
        self._name_edges = np.cumsum([0, *map(len, names)])
        self._kinds = np.array([_KINDS[field.type] for field in kind])
        self._limits = np.array([_limit(field.type) for field in kind])

    def read(self, values: pa.BinaryArray) -> tuple[pa.StructArray, Mask] | None:
        """Rows, null where the value is or where it is odd; and which are odd. None if the loop is
        not loaded, or if any value is not UTF-8."""
        walk = self._walk or _loaded()
        if walk is None or not _is_utf8(values):
            return None
        count, width = len(values), len(self._kinds)
        edges, data = _laid_out(values)
        is_missing = values.is_null().to_numpy(zero_copy_only=False)
        cells = np.empty((width, count), np.int64)
        is_there = np.empty((width, count), np.bool_)
        text_edges = np.zeros((width, count + 1), np.int32)
        texts = np.empty((width, int(edges[-1] - edges[0])), np.uint8)
        is_odd = np.empty(count, np.bool_)
        odd = walk(
            *(data, edges, is_missing),
            *(self._names, self._name_edges, self._kinds, self._limits),
            *(cells, is_there, text_edges, texts.reshape(-1), is_odd),
        )
        columns = [
            _text(text_edges[column], texts[column], is_there[column])
            if self._kinds[column] == _TEXT
            else _scalar(field.type, cells[column], is_there[column])
            for column, field in enumerate(self.type)
        ]
        mask = booleans(is_missing | is_odd) if odd or values.null_count else None
        return pa.StructArray.from_arrays(columns, fields=list(self.type), mask=mask), is_odd


def _loaded() -> Walk | None:
    if compiled.loaded() is None:
        return None
    if not _tried:
        _tried.append(_compiled())
    return _tried[0]


def _compiled() -> Walk | None:
    """None if it can be kept nowhere."""
    try:
        from kafkaesque.client.columns.json_loop import walk_objects

        # Its first call compiles it, or finds what was compiled before.
        decoder = PlainDecoder(pa.struct({"a": pa.int64()}), walk_objects)
        decoder.read(pa.array([b"{}"], pa.binary()))
    except (RuntimeError, OSError):
        return None
    return walk_objects


def _limit(kind: pa.DataType) -> int:
    return (1 << kind.bit_width - 1) - 1 if pa.types.is_integer(kind) else 0


def _is_utf8(values: pa.BinaryArray) -> bool:
    try:
        values.cast(pa.string())
    except pa.ArrowInvalid:
        return False
    return True


def _laid_out(values: pa.BinaryArray) -> tuple[npt.NDArray[np.int32], Bytes]:
    _, offsets, data = values.buffers()
    edges = np.frombuffer(offsets, np.int32)[values.offset : values.offset + len(values) + 1]
    return edges, np.frombuffer(data or b"", np.uint8)


def _text(edges: npt.NDArray[np.int32], data: Bytes, is_there: Mask) -> pa.StringArray:
    return binary(edges, data, ~is_there, pa.string())


def _scalar(kind: pa.DataType, cells: Longs, is_there: Mask) -> pa.Array:
    missing = None if is_there.all() else ~is_there
    if pa.types.is_boolean(kind):
        there = None if missing is None else booleans(is_there).buffers()[1]
        bits = booleans(cells != 0).buffers()[1]
        return pa.Array.from_buffers(kind, len(cells), [there, bits])
    if pa.types.is_floating(kind):
        return array_of(kind, cells.view(np.float64), missing)
    return array_of(kind, cells.astype(f"i{kind.bit_width // 8}", copy=False), missing)
