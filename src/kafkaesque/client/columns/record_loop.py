"""The records of batches, walked by a compiled loop: every field, and keys and values copied.

    length | attributes | time delta | offset delta | key length, key | value length, value
    | header count (| name length, name | value length, value)*

Numbers are zigzag varints: of 64 bits for the time, of 32 for all else. The loop stops at whatever
is wrong or unusual, and says only that: others have the words for it. It holds no lock of Python's,
so that what comes next is fetched meanwhile. Numba keeps the machine code beside this file, or
where NUMBA_CACHE_DIR says, or in the user's cache; where it can keep it nowhere, importing this
raises RuntimeError.
Above: compiled.py. Below: numba.
"""

from typing import Any

import numba
from numba.core import cgutils, types
from numba.extending import intrinsic

ODD = -1
"""In place of how many records have headers: something is wrong."""


def _memcpy(
    typing: Any, to: Any, to_at: Any, source: Any, source_at: Any, size: Any
) -> tuple[Any, Any]:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        ends = []
        for place in (0, 2):
            array = context.make_array(signature.args[place])(context, builder, arguments[place])
            ends.append(builder.gep(array.data, [arguments[place + 1]]))
        cgutils.raw_memcpy(builder, ends[0], ends[1], arguments[4], 1)  # type: ignore[no-untyped-call]
        return context.get_dummy_value()

    return types.void(to, types.intp, source, types.intp, types.intp), generate


copy: Any = intrinsic(_memcpy)
"""As `to[to_at : to_at + size] = source[…]`, by one memcpy: making the slices takes longer."""


@numba.njit(cache=True, nogil=True)
def _number(data: Any, at: int, stop: int) -> tuple[int, int]:
    """A number of 32 bits, and what comes after it: beyond `stop` if it is not there."""
    found = 0
    for place in range(5):
        if at >= stop:
            return 0, stop + 1
        byte = int(data[at])
        at += 1
        found |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            if found > 0xFFFFFFFF:
                return 0, stop + 1
            return (found >> 1) ^ -(found & 1), at
    return 0, stop + 1


@numba.njit(cache=True, nogil=True)
def _long_number(data: Any, at: int, stop: int) -> tuple[int, int]:
    """The same of 64 bits, as far as it needs no more than 63 of them."""
    found = 0
    for place in range(9):
        if at >= stop:
            return 0, stop + 1
        byte = int(data[at])
        at += 1
        found |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            return (found >> 1) ^ -(found & 1), at
    return 0, stop + 1


@numba.njit(cache=True, nogil=True)
def _past_headers(data: Any, at: int, stop: int, count: int) -> int:
    for _ in range(count):
        size, at = _number(data, at, stop)
        if size < 0 or size > stop - at:
            return stop + 1
        size, at = _number(data, at + size, stop)
        if size < -1 or size > stop - at:
            return stop + 1
        at += max(size, 0)
    return at


@numba.njit(cache=True, nogil=True)
def walk(
    data: Any,
    batches: Any,
    first: int,
    offsets: Any,
    times: Any,
    key_edges: Any,
    keys: Any,
    key_is_missing: Any,
    value_edges: Any,
    values: Any,
    value_is_missing: Any,
    headers_at: Any,
    stops: Any,
) -> tuple[int, int, int]:
    """Fills in the records from the offset `first` on: all arrays but the first two.

    `batches` has a row for each: where its records begin and end in `data`, how many they are, base
    offset, last offset, base time, whether all have one time, and which. Gives how many records
    there are, how many of them have headers (or ODD), and how many keys and values are missing.
    """
    row = with_headers = missing = 0
    keys_at = values_at = 0
    for batch in range(len(batches)):
        at, end, count, base, last, base_time, is_stamped, stamp = batches[batch]
        previous = base - 1
        for _ in range(count):
            length, at = _number(data, at, end)
            if length <= 0 or length > end - at:
                return 0, ODD, 0
            stop = at + length
            time, at = _long_number(data, at + 1, stop)
            delta, at = _number(data, at, stop)
            offset = base + delta
            if offset <= previous or offset > last:
                return 0, ODD, 0
            previous = offset
            key_size, key_at = _number(data, at, stop)
            if key_size < -1 or key_size > stop - key_at:
                return 0, ODD, 0
            value_size, value_at = _number(data, key_at + max(key_size, 0), stop)
            if value_size < -1 or value_size > stop - value_at:
                return 0, ODD, 0
            headers, at = _number(data, value_at + max(value_size, 0), stop)
            if headers < 0 or (headers == 0 and at != stop):
                return 0, ODD, 0
            if headers and _past_headers(data, at, stop, headers) != stop:
                return 0, ODD, 0
            at = stop
            if offset < first:
                continue
            offsets[row] = offset
            times[row] = stamp if is_stamped else base_time + time
            key_is_missing[row] = key_size < 0
            if key_size > 0:
                copy(keys, keys_at, data, key_at, key_size)
                keys_at += key_size
            value_is_missing[row] = value_size < 0
            if value_size > 0:
                copy(values, values_at, data, value_at, value_size)
                values_at += value_size
            missing += (key_size < 0) + (value_size < 0)
            with_headers += headers > 0
            headers_at[row] = value_at + max(value_size, 0)
            stops[row] = stop
            row += 1
            key_edges[row] = keys_at
            value_edges[row] = values_at
        if at != end:
            return 0, ODD, 0
    return row, with_headers, missing
