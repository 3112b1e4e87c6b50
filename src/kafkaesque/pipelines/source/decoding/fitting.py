"""Values as Python has them into what a column takes, one by one, with a word on what does not fit.

The other way to the same rows: for forms without columns of their own, and for the few values that
the columns refuse without saying where. Both ways agree on what fits.
Above: json_texts.py, protobuf.py. Below: client/schemas/plain.py.
"""

import base64
import binascii
import datetime as dt
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any, TypeAlias

import orjson
import pyarrow as pa

from kafkaesque.client.schemas.plain import plain

Fit: TypeAlias = Callable[[Any], Any]


class MisfitError(ValueError):
    """The message names the field, not the value: it may be large, or secret."""


def fitting(kind: pa.DataType, path: str = "") -> Fit:
    """What makes of a value one that `pa.array(…, declared)` takes. None stays None."""
    fit = _fitting(kind, path)
    return lambda value: None if value is None else fit(value)


def _fitting(kind: pa.DataType, path: str) -> Fit:
    if pa.types.is_struct(kind):
        return _struct(kind, path)
    if pa.types.is_list(kind):
        return _list(kind, path)
    if pa.types.is_map(kind):
        return _map(kind, path)
    if isinstance(kind, pa.BaseExtensionType):
        return lambda value: orjson.dumps(plain(value)).decode()
    if pa.types.is_dictionary(kind):
        return str
    for belongs, take in _TAKES:
        if belongs(kind):
            return _checked(take, kind, path)
    raise TypeError(f"field {path or 'value'}: there is no way from JSON to {kind}")


def _struct(kind: pa.StructType, path: str) -> Fit:
    fields = [(each.name, fitting(each.type, _below(path, each.name))) for each in kind]

    def fit(value: Any) -> Any:
        if type(value) is not dict:
            raise _misfit(path, "an object", value)
        return {name: part(value.get(name)) for name, part in fields}

    return fit


def _list(kind: pa.ListType, path: str) -> Fit:
    item = fitting(kind.value_type, f"{path}[]")

    def fit(value: Any) -> Any:
        if type(value) is not list:
            raise _misfit(path, "an array", value)
        return [item(each) for each in value]

    return fit


def _map(kind: pa.MapType, path: str) -> Fit:
    key, item = fitting(kind.key_type, f"{path} key"), fitting(kind.item_type, f"{path}{{}}")
    texts = pa.types.is_string(kind.key_type)

    def fit(value: Any) -> Any:
        if type(value) is not dict:
            raise _misfit(path, "an object", value)
        return [(key(name) if not texts else str(name), item(each)) for name, each in value.items()]

    return fit


def _checked(take: Callable[[Any, pa.DataType], Any], kind: pa.DataType, path: str) -> Fit:
    def fit(value: Any) -> Any:
        try:
            return take(value, kind)
        except (TypeError, ValueError, ArithmeticError):
            raise _misfit(path, str(kind), value) from None

    return fit


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _misfit(path: str, wanted: str, value: Any) -> MisfitError:
    where = f"field {path}" if path else "the value"
    return MisfitError(f"{where} takes {wanted}, not this {_NAMES.get(type(value), 'value')}")


_NAMES: dict[type, str] = {
    str: "text",
    int: "number",
    float: "number",
    bool: "boolean",
    dict: "object",
    list: "array",
}


def _text(value: Any, _: pa.DataType) -> str:
    if type(value) is not str:
        raise TypeError
    return value


def _boolean(value: Any, _: pa.DataType) -> bool:
    if type(value) is not bool:
        raise TypeError
    return value


def _whole(value: Any, kind: pa.DataType) -> int:
    if type(value) is not int or not -1 << kind.bit_width - 1 <= value < 1 << kind.bit_width - 1:
        raise TypeError
    return value


def _real(value: Any, _: pa.DataType) -> float:
    if type(value) not in (int, float):
        raise TypeError
    return float(value)


def _bytes(value: Any, _: pa.DataType) -> bytes:
    if type(value) is bytes:
        return value
    try:
        return base64.b64decode(_text(value, _), validate=True)
    except binascii.Error:
        raise ValueError from None


def _moment(value: Any, kind: pa.TimestampType) -> dt.datetime:
    found = (
        value if isinstance(value, dt.datetime) else dt.datetime.fromisoformat(_text(value, kind))
    )
    if kind.tz is None:
        if found.tzinfo is not None:
            raise ValueError
        return found
    return found.replace(tzinfo=dt.UTC) if found.tzinfo is None else found.astimezone(dt.UTC)


def _date(value: Any, kind: pa.DataType) -> dt.date:
    return dt.date.fromisoformat(_text(value, kind))


def _duration(value: Any, _: pa.DataType) -> dt.timedelta:
    if type(value) is not dt.timedelta:
        raise TypeError
    return value


def _decimal(value: Any, kind: pa.DataType) -> Decimal:
    if type(value) not in (int, float, str):
        raise TypeError
    try:
        found = Decimal(str(value))
    except InvalidOperation:
        raise ValueError from None
    if not found.is_finite() or found != round(found, kind.scale):
        raise ValueError
    if abs(found) >= Decimal(10) ** (kind.precision - kind.scale):
        raise ValueError
    return found


_TAKES: tuple[tuple[Callable[[pa.DataType], bool], Callable[[Any, Any], Any]], ...] = (
    (pa.types.is_string, _text),
    (pa.types.is_boolean, _boolean),
    (pa.types.is_integer, _whole),
    (pa.types.is_floating, _real),
    (pa.types.is_binary, _bytes),
    (pa.types.is_timestamp, _moment),
    (pa.types.is_date, _date),
    (pa.types.is_duration, _duration),
    (pa.types.is_decimal, _decimal),
)
