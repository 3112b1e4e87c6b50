"""JSON objects of scalar members, walked by a compiled loop: each into its place of the columns.

    { "name" : number | "text" | true | false | null , … }

The loop takes what is plain, and calls everything else odd without saying why: others read it
slowly, and have the words for what is wrong. Odd are escapes, nested values, a name that comes
twice, a member of another type than its column's, -0, and numbers that are not exact in the two
steps they are made in: up to 18 digits as a whole number, times or by a power of ten that a double
holds exactly. Members that no column is for are passed over.
Names mostly come in the same order in each object, so the one that came next last time is looked at
first. Numba keeps the machine code as record_loop.py says.
Above: json_plain.py. Below: numba.
"""

from typing import Any, Final

import numba
import numpy as np

from kafkaesque.client.columns.record_loop import copy

WHOLE: Final = 0
REAL: Final = 1
BOOLEAN: Final = 2
TEXT: Final = 3
"""What a column takes."""

_NO_NUMBER: Final = 0
_WHOLE_NUMBER: Final = 1
_REAL_NUMBER: Final = 2
_INEXACT: Final = 3

_MAX_DIGITS: Final = 18
_MAX_EXACT: Final = 2**53
_MAX_POWER: Final = 22
_POWERS = np.array([10.0**power for power in range(_MAX_POWER + 1)])

_QUOTE: Final = ord('"')
_BACKSLASH: Final = ord("\\")
_COMMA: Final = ord(",")
_COLON: Final = ord(":")
_OPEN: Final = ord("{")
_CLOSE: Final = ord("}")
_MINUS: Final = ord("-")
_PLUS: Final = ord("+")
_POINT: Final = ord(".")
_ZERO: Final = ord("0")
_NINE: Final = ord("9")
_E: Final = ord("E")
_LOWER_CASE: Final = 0x20
_BLANK: Final = ord(" ")

_TRUE = np.frombuffer(b"true", np.uint8)
_FALSE = np.frombuffer(b"false", np.uint8)
_NULL = np.frombuffer(b"null", np.uint8)


@numba.njit(cache=True, nogil=True)
def _past_blanks(data: Any, at: int, stop: int) -> int:
    while at < stop and data[at] <= _BLANK and data[at] in (9, 10, 13, _BLANK):
        at += 1
    return at


@numba.njit(cache=True, nogil=True)
def _quote_after(data: Any, at: int, stop: int) -> int:
    """Where a text that begins at `at` ends; -1 if it does not, or has something odd in it."""
    while at < stop:
        byte = data[at]
        if byte == _QUOTE:
            return at
        if byte == _BACKSLASH or byte < _BLANK:
            return -1
        at += 1
    return -1


@numba.njit(cache=True, nogil=True)
def _are_same(data: Any, at: int, others: Any, begin: int, size: int) -> bool:
    place = 0
    while place < size and data[at + place] == others[begin + place]:
        place += 1
    return place == size


@numba.njit(cache=True, nogil=True)
def _is_at(data: Any, at: int, stop: int, word: Any) -> bool:
    return len(word) <= stop - at and _are_same(data, at, word, 0, len(word))


@numba.njit(cache=True, nogil=True)
def _past_digits(data: Any, at: int, stop: int) -> int:
    while at < stop and _ZERO <= data[at] <= _NINE:
        at += 1
    return at


@numba.njit(cache=True, nogil=True)
def _digits(data: Any, at: int, stop: int, found: int) -> int:
    for place in range(at, stop):
        found = found * 10 + (int(data[place]) - _ZERO)
    return found


@numba.njit(cache=True, nogil=True)
def _number(data: Any, at: int, stop: int) -> tuple[int, int, int, int]:
    """What kind it is, its digits as a whole number, the power of ten, and what comes after it."""
    is_negative = at < stop and data[at] == _MINUS
    first = at + is_negative
    point = _past_digits(data, first, stop)
    size = point - first
    if size == 0 or (size > 1 and data[first] == _ZERO):
        return _NO_NUMBER, 0, 0, at
    kind, power, at = _WHOLE_NUMBER, 0, point
    end = point
    if at < stop and data[at] == _POINT:
        kind = _REAL_NUMBER
        at = end = _past_digits(data, point + 1, stop)
        power = point + 1 - end
        if power == 0:
            return _NO_NUMBER, 0, 0, at
    if at < stop and data[at] & ~_LOWER_CASE == _E:
        kind = _REAL_NUMBER
        at += 1
        is_small = at < stop and data[at] == _MINUS
        at += at < stop and (data[at] == _MINUS or data[at] == _PLUS)
        begun, at = at, _past_digits(data, at, stop)
        if at == begun:
            return _NO_NUMBER, 0, 0, at
        if at - begun > 3:
            return _INEXACT, 0, 0, at
        raised = _digits(data, begun, at, 0)
        power += -raised if is_small else raised
    if end - first - (end > point) > _MAX_DIGITS:
        return _INEXACT, 0, 0, at
    found = _digits(data, first, point, 0)
    if end > point:
        found = _digits(data, point + 1, end, found)
    if is_negative and found == 0:
        return _INEXACT, 0, 0, at
    return kind, -found if is_negative else found, power, at


@numba.njit(cache=True, nogil=True)
def _is_name(data: Any, at: int, size: int, names: Any, edges: Any, column: int) -> bool:
    begin = edges[column]
    return edges[column + 1] - begin == size and _are_same(data, at, names, begin, size)


@numba.njit(cache=True, nogil=True)
def _column(data: Any, at: int, size: int, names: Any, edges: Any, likely: int) -> int:
    """Which one has this name; -1 if none has."""
    if likely >= 0 and _is_name(data, at, size, names, edges, likely):
        return likely
    for column in range(len(edges) - 1):
        if _is_name(data, at, size, names, edges, column):
            return column
    return -1


@numba.njit(cache=True, nogil=True)
def _past_stray(data: Any, at: int, stop: int) -> int:
    """After a value that no column is for; -1 if it is odd."""
    if at < stop and data[at] == _QUOTE:
        end = _quote_after(data, at + 1, stop)
        return end + 1 if end >= 0 else -1
    for word in (_TRUE, _FALSE, _NULL):
        if _is_at(data, at, stop, word):
            return at + len(word)
    kind, _, _, at = _number(data, at, stop)
    return at if kind != _NO_NUMBER else -1


@numba.njit(cache=True, nogil=True)
def _member(
    data: Any, at: int, stop: int, column: int, kind: int, limit: int, cells: Any, reals: Any
) -> tuple[int, int]:
    """One value into its cell: 1 if it is there, 0 if it is null; and what comes after it, or -1.

    Of a text the cell has the place and the size.
    """
    # No slices of the arrays: to make one takes longer than to read a member.
    if _is_at(data, at, stop, _NULL):
        return 0, at + len(_NULL)
    if kind == TEXT:
        if at >= stop or data[at] != _QUOTE:
            return 0, -1
        end = _quote_after(data, at + 1, stop)
        cells[column, 0], cells[column, 1] = at + 1, end - at - 1
        return 1, end + 1 if end >= 0 else -1
    if kind == BOOLEAN:
        if _is_at(data, at, stop, _TRUE):
            cells[column, 0] = 1
            return 1, at + len(_TRUE)
        cells[column, 0] = 0
        return 1, at + len(_FALSE) if _is_at(data, at, stop, _FALSE) else -1
    form, whole, power, at = _number(data, at, stop)
    if kind == WHOLE:
        cells[column, 0] = whole
        return 1, at if form == _WHOLE_NUMBER and -limit - 1 <= whole <= limit else -1
    if form in (_NO_NUMBER, _INEXACT):
        return 0, -1
    if abs(whole) > _MAX_EXACT or abs(power) > _MAX_POWER:
        return 0, -1
    reals[column] = whole / _POWERS[-power] if power < 0 else whole * _POWERS[power]
    return 1, at


@numba.njit(cache=True, nogil=True)
def _object(
    data: Any,
    at: int,
    stop: int,
    names: Any,
    name_edges: Any,
    kinds: Any,
    limits: Any,
    followers: Any,
    cells: Any,
    reals: Any,
    is_there: Any,
) -> bool:
    """Whether all of it is plain. `followers`: which column came after each; the last: first of
    all. `is_there` is 2 where no member of that name has come."""
    at = _past_blanks(data, at, stop)
    if at >= stop or data[at] != _OPEN:
        return False
    at = _past_blanks(data, at + 1, stop)
    if at < stop and data[at] == _CLOSE:
        return _past_blanks(data, at + 1, stop) == stop
    previous = len(kinds)
    while at < stop and data[at] == _QUOTE:
        begun, at = at + 1, _quote_after(data, at + 1, stop)
        if at < 0:
            return False
        column = _column(data, begun, at - begun, names, name_edges, followers[previous])
        at = _past_blanks(data, at + 1, stop)
        if at >= stop or data[at] != _COLON:
            return False
        at = _past_blanks(data, at + 1, stop)
        if column < 0:
            at = _past_stray(data, at, stop)
        else:
            if is_there[column] != 2:
                return False
            followers[previous] = previous = column
            is_there[column], at = _member(
                data, at, stop, column, kinds[column], limits[column], cells, reals
            )
        if at < 0:
            return False
        at = _past_blanks(data, at, stop)
        if at >= stop:
            return False
        if data[at] == _CLOSE:
            return _past_blanks(data, at + 1, stop) == stop
        if data[at] != _COMMA:
            return False
        at = _past_blanks(data, at + 1, stop)
    return False


@numba.njit(cache=True, nogil=True)
def walk_objects(
    data: Any,
    edges: Any,
    is_missing: Any,
    names: Any,
    name_edges: Any,
    kinds: Any,
    limits: Any,
    columns: Any,
    is_there: Any,
    text_edges: Any,
    texts: Any,
    is_odd: Any,
) -> int:
    """Fills in the last five: a column's cells, whether each holds something, edges of texts and
    the texts, and which rows are odd. Gives how many are. Rows that are missing or odd hold
    nothing. `texts` has as much room for each column as for all."""
    width = len(kinds)
    room = len(texts) // width
    followers = np.full(width + 1, -1, np.int64)
    cells = np.zeros((width, 2), np.int64)
    reals = np.zeros(width, np.float64)
    there = np.zeros(width, np.uint8)
    written = np.zeros(width, np.int64)
    real_columns = columns.view(np.float64)
    odd = 0
    for row in range(len(edges) - 1):
        there[:] = 2
        is_odd[row] = not is_missing[row] and not _object(
            data,
            edges[row],
            edges[row + 1],
            names,
            name_edges,
            kinds,
            limits,
            followers,
            cells,
            reals,
            there,
        )
        odd += is_odd[row]
        is_empty = is_missing[row] or is_odd[row]
        for column in range(width):
            holds = there[column] == 1 and not is_empty
            is_there[column, row] = holds
            kind = kinds[column]
            if kind == TEXT:
                if holds:
                    size = cells[column, 1]
                    copy(texts, column * room + written[column], data, cells[column, 0], size)
                    written[column] += size
                text_edges[column, row + 1] = written[column]
            elif kind == REAL:
                real_columns[column, row] = reals[column] if holds else 0.0
            else:
                columns[column, row] = cells[column, 0] if holds else 0
    return odd
