"""What a column may hold, which column a value needs, and values as a database takes them.

    text        str                            bigint      int of 64 bits
    double      float, int; finite             boolean     bool
    timestamp   datetime, ISO 8601 text        json        dict, list; in a column that is there or
                (without a zone: UTC)                      declared, anything that JSON has

A field that is None is NULL in any column. A text is never taken for a time, nor a bool for
a number, unless the column is declared so. Whole columns are looked at at once: the loop over
single values runs only where something has to be converted, or to find the one that does not fit.

Pure. Above: batch.py, sqlite.py, postgres.py.
"""

import math
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from types import NoneType
from typing import Any, Literal, TypeAlias, get_args

import orjson

ColumnType: TypeAlias = Literal["text", "bigint", "double", "boolean", "timestamp", "json"]
COLUMN_TYPES: tuple[ColumnType, ...] = get_args(ColumnType)
KEY_TYPES: tuple[ColumnType, ...] = ("text", "bigint")

_FOR_VALUES: dict[type, ColumnType] = {
    str: "text",
    int: "bigint",
    float: "double",
    bool: "boolean",
    datetime: "timestamp",
    dict: "json",
    list: "json",
}
_MIN, _MAX = -(2**63), 2**63 - 1


class MisfitError(ValueError):
    """The value at `index` does not fit."""

    def __init__(self, index: int, reason: str) -> None:
        super().__init__(reason)
        self.index = index


def type_for(values: Sequence[Any]) -> ColumnType | None:
    """The type of a column for all of these; None if they are all None."""
    kinds = set(map(type, values)) - {NoneType}
    if len(kinds) <= 1 and kinds <= _FOR_VALUES.keys():
        return _FOR_VALUES[kinds.pop()] if kinds else None
    found: dict[ColumnType, int] = {}
    for index, value in enumerate(values):
        if value is None:
            continue
        needed = _FOR_VALUES.get(type(value))
        if needed is None:
            raise MisfitError(index, f"no column can hold {_shown(value)}")
        found.setdefault(needed, index)
    if found.keys() == {"bigint", "double"}:
        return "double"
    if len(found) > 1:
        first, second = list(found)[:2]
        raise MisfitError(
            found[second],
            f"{_shown(values[found[second]])} needs a column of type {second}, and a value before "
            f"it one of type {first}",
        )
    return next(iter(found), None)


def fitted(values: Sequence[Any], column_type: ColumnType) -> Sequence[Any]:
    """The values as a column of that type takes them, times as datetimes in UTC and JSON as text:
    the very same sequence if nothing has to be converted. MisfitError at the first that does not
    fit."""
    kinds = set(map(type, values))
    there = [value for value in values if value is not None] if NoneType in kinds else values
    kinds.discard(NoneType)
    if not kinds or _all_fit(there, kinds, column_type):
        return values
    convert = _CONVERT[column_type]
    stored = []
    for index, value in enumerate(values):
        try:
            stored.append(None if value is None else convert(value))
        except (TypeError, ValueError, OverflowError) as error:
            reason = f"{_shown(value)} does not fit a column of type {column_type}"
            raise MisfitError(index, f"{reason}{_said_of(error)}") from error
    return stored


def _all_fit(there: Sequence[Any], kinds: set[type], column_type: ColumnType) -> bool:
    if kinds == {str} and column_type == "text":
        return _is_clean("".join(there))
    if kinds == {int} and column_type == "bigint":
        return bool(min(there) >= _MIN and max(there) <= _MAX)
    if kinds == {float} and column_type == "double":
        # A sum may be too large though each number is finite: then each is looked at.
        return math.isfinite(sum(there))
    return kinds == {bool} and column_type == "boolean"


def _is_clean(text: str) -> bool:
    """PostgreSQL has no U+0000 in texts, and UTF-8 no half of a surrogate pair."""
    if "\0" in text:
        return False
    try:
        text.isascii() or text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    if not _is_clean(value):
        raise ValueError("it has a U+0000, or half of a surrogate pair")
    return value


def _bigint(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError
    if not _MIN <= value <= _MAX:
        raise ValueError("it needs more than 64 bits")
    return value


def _double(value: Any) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise TypeError
    if not math.isfinite(value):
        raise ValueError("it is not finite")
    return float(value)


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError
    return value


def _timestamp(value: Any) -> datetime:
    time = datetime.fromisoformat(value) if isinstance(value, str) else value
    if not isinstance(time, datetime):
        raise TypeError
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)


def _json(value: Any) -> str:
    return orjson.dumps(value).decode()


_CONVERT: dict[ColumnType, Callable[[Any], Any]] = {
    "text": _text,
    "bigint": _bigint,
    "double": _double,
    "boolean": _boolean,
    "timestamp": _timestamp,
    "json": _json,
}


def _shown(value: Any) -> str:
    text = repr(value)
    return f"{type(value).__name__} {text if len(text) <= 60 else text[:57] + '...'}"


def _said_of(error: Exception) -> str:
    return f": {error}" if str(error) else ""
