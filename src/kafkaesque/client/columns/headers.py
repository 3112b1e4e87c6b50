"""The headers of many records, as a list of (name, value) for each.

    count varint | (name length varint, name | value length varint, -1 for null, value)*

They are read in rounds: the first header of all records that have one, then the second, and so on.
Records of very many headers are not for this: `header_column` gives None, as for anything wrong.
Above: records.py. Below: cursor.py, scalars.py.
"""

import numpy as np
import pyarrow as pa

from kafkaesque.client.columns.cursor import Cursor
from kafkaesque.client.columns.scalars import array_of, cut
from kafkaesque.records.record import Headers

_HEADER = pa.struct([pa.field("name", pa.string(), nullable=False), ("value", pa.binary())])
HEADERS = pa.list_(_HEADER)

_MAX_ROUNDS = 64


def no_headers(rows: int) -> pa.Array:
    edges = np.zeros(rows + 1, np.int32)
    return pa.ListArray.from_arrays(array_of(pa.int32(), edges), pa.array([], _HEADER))


def header_column(cursor: Cursor) -> pa.Array | None:
    count = cursor.number()
    if not count.any():
        return no_headers(len(cursor))
    edges = np.zeros(len(cursor) + 1, np.int32)
    if int(count.min()) < 0 or int(count.max()) > _MAX_ROUNDS:
        return None
    np.cumsum(count, out=edges[1:], dtype=np.int32)
    names, values = np.zeros((2, edges[-1]), np.int64), np.zeros((2, edges[-1]), np.int64)
    rows = np.flatnonzero(count)
    done = 0
    while len(rows):
        live = cursor.pick(rows)
        places = edges[rows] + done
        names[:, places] = live.lengths()
        values[:, places] = live.nullable_lengths()
        cursor.put(rows, live)
        done += 1
        rows = rows[count[rows] > done]
    try:
        named = cut(cursor.text, names[0], names[1], pa.binary()).cast(pa.string())
    except pa.ArrowInvalid:
        return None
    start, size = values
    data = cut(cursor.text, start, np.maximum(size, 0), pa.binary(), size < 0)
    pairs = pa.StructArray.from_arrays([named, data], fields=list(_HEADER))
    return pa.ListArray.from_arrays(array_of(pa.int32(), edges), pairs)


def readable(headers: Headers) -> list[dict[str, str | bytes | None]]:
    """Headers as Arrow takes them: names that are not UTF-8 are mended."""
    return [
        {"name": name.encode(errors="surrogateescape").decode(errors="replace"), "value": value}
        for name, value in headers
    ]
