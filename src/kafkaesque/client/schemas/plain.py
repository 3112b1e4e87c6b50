"""Decoded values as JSON has them: what a browser shows is what a filter sees.

    bytes               base64
    Decimal, UUID       text
    datetime            ISO 8601; one that knows its zone is of UTC, and ends in Z
    date, time          ISO 8601
    timedelta           seconds: 1.5s
    NaN, infinities     null
    a tuple, a set      a list

Pure. Above: avro.py, protobuf.py. Below: nothing.
"""

from base64 import b64encode
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from math import isfinite
from typing import Any
from uuid import UUID

_AS_THEY_ARE = frozenset((str, int, bool, type(None)))


def plain(value: Any) -> Any:
    kind = type(value)
    if kind in _AS_THEY_ARE:
        return value
    convert = _CONVERSIONS.get(kind)
    return str(value) if convert is None else convert(value)


def _number(value: float) -> float | None:
    return value if isfinite(value) else None


def _moment(value: datetime) -> str:
    if value.tzinfo is None:
        return value.isoformat()
    return value.astimezone(UTC).isoformat().removesuffix("+00:00") + "Z"


def _duration(value: timedelta) -> str:
    return f"{value.total_seconds():.6f}".rstrip("0").rstrip(".") + "s"


def _object(value: dict[Any, Any]) -> dict[str, Any]:
    return {str(name): plain(each) for name, each in value.items()}


def _list(value: Any) -> list[Any]:
    return [plain(each) for each in value]


_CONVERSIONS: dict[type, Callable[[Any], Any]] = {
    float: _number,
    dict: _object,
    list: _list,
    tuple: _list,
    set: _list,
    bytes: lambda value: b64encode(value).decode(),
    datetime: _moment,
    date: date.isoformat,
    time: time.isoformat,
    timedelta: _duration,
    Decimal: str,
    UUID: str,
}
