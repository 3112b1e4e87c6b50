"""Records to columns by the compiled loop, in processes that decode millions of them.

To load numba takes a second, in which numpy decodes some hundred thousand records: so it is loaded
only where somebody says that it is worth it (`load`), and records.py uses it from then on. Where
numba is missing, or can keep what it compiles nowhere, nothing changes.
Above: records.py, pipelines/source/reading.py. Below: record_loop.py.
"""

from collections.abc import Callable
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafkaesque.client.columns.cursor import Bytes, Cursor, Longs, Mask, Text
from kafkaesque.client.columns.headers import header_column, no_headers
from kafkaesque.client.columns.scalars import array_of
from kafkaesque.client.fetched import Batches
from kafkaesque.records.batch import HEADER_SIZE, payload
from kafkaesque.records.compression import MAX_UNCOMPRESSED_BYTES

Walk: TypeAlias = Callable[..., tuple[int, int, int]]

MAX_BYTES: Final = 2**31 - 1
_CODEC: Final = 0x07
_LOG_APPEND_TIME: Final = 0x08
_FAR: Final = 2**61
_LEAST_BYTES: Final = 7
"""Of a record: one for each of its numbers, and its attributes."""

_BINARY: Final = pa.binary()

_loaded: list[Walk] = []


def load() -> bool:
    """Whether this process has the loop from now on."""
    if not _loaded:
        try:
            from kafkaesque.client.columns.record_loop import walk

            # Its first call compiles it, or finds what was compiled before.
            arrays_of(walk, b"", (), 0)
        except (ImportError, RuntimeError, OSError):
            return False
        _loaded.append(walk)
    return True


def loaded() -> Walk | None:
    return _loaded[0] if _loaded else None


def arrays_of(walk: Walk, data: bytes, batches: Batches, first: int) -> list[pa.Array] | None:
    """Offset, time, key, value and headers of the records from `first` on; None if any is odd."""
    raw, table = _laid_out(data, batches)
    if table is None:
        return None
    rows = int(table[:, 2].sum())
    offsets, times, headers_at, stops = np.empty((4, rows), np.int64)
    edges = np.zeros((2, rows + 1), np.int32)
    is_missing = np.empty((2, rows), np.bool_)
    keys, values = np.empty(len(raw), np.uint8), np.empty(len(raw), np.uint8)
    rows, with_headers, missing = walk(
        *(raw, table, first, offsets, times, edges[0], keys, is_missing[0]),
        *(edges[1], values, is_missing[1], headers_at, stops),
    )
    if with_headers < 0:
        return None
    is_missing = is_missing[:, :rows]
    headers: pa.Array | None = no_headers(rows)
    if with_headers:
        text = Text(raw, rows)
        headers = header_column(Cursor(text, headers_at[:rows], stops[:rows], np.arange(rows)))
        if headers is None or text.faults.any():
            return None
    return [
        array_of(pa.int64(), offsets[:rows]),
        array_of(pa.int64(), times[:rows]),
        binary(edges[0, : rows + 1], keys, is_missing[0] if missing else None),
        binary(edges[1, : rows + 1], values, is_missing[1] if missing else None),
        headers,
    ]


def _laid_out(data: bytes, batches: Batches) -> tuple[Bytes, Longs | None]:
    """Bytes that hold all records, and the table of batches in them; None if a header is odd."""
    parts: list[bytes] = []
    table: list[tuple[int, ...]] = []
    packed = any(header.attributes & _CODEC for _, header in batches)
    at = 0
    for position, header in batches:
        size = header.size - HEADER_SIZE
        if packed or header.count < 0:
            parts.append(payload(data, position, header, MAX_UNCOMPRESSED_BYTES))
            begin, size = at, len(parts[-1])
            at += size
            if at > MAX_BYTES:
                raise ValueError("more than 2 GiB of records at once: fetch less")
        else:
            begin = position + HEADER_SIZE
        base, base_time = header.base_offset, header.base_timestamp
        if header.count * _LEAST_BYTES > size or not 0 <= base < _FAR or abs(base_time) > _FAR:
            return np.zeros(0, np.uint8), None
        stamp = (header.attributes & _LOG_APPEND_TIME, header.max_timestamp)
        extent = (begin, begin + size, header.count)
        table.append((*extent, base, header.last_offset, base_time, *stamp))
    raw = np.frombuffer(b"".join(parts) if packed else data, np.uint8)
    return raw, np.array(table, np.int64).reshape(len(table), 8)


def binary(
    edges: npt.NDArray[np.int32],
    data: Bytes,
    is_missing: Mask | None,
    kind: pa.DataType = _BINARY,
) -> pa.Array:
    """What lies between the edges; null where it is missing."""
    used = data[: int(edges[-1])]
    there = None
    if is_missing is not None and is_missing.any():
        there = pa.py_buffer(np.packbits(~is_missing, bitorder="little"))
    buffers = [there, pa.py_buffer(edges), pa.py_buffer(used)]
    return pa.Array.from_buffers(kind, len(edges) - 1, buffers)
