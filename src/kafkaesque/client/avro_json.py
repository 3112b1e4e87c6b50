"""JSON that a person writes, as the values that an Avro schema takes: the way back of `to_json`.

    bytes, fixed                base64
    decimal                     text or a number
    date, time, timestamp       ISO 8601, or the number that Avro has
    a union                     the value, or Avro's own {"string": "x"}

Fields with a default may be left out. What does not fit is a ValueError that names the field.
Pure. Above: json_encoder.py. Below: nothing; schemas are as fastavro has parsed them.
"""

import binascii
from base64 import b64decode
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time
from decimal import Decimal, InvalidOperation
from typing import Any

Names = Mapping[str, Any]

_INT = 0x7FFF_FFFF
_LONG = 0x7FFF_FFFF_FFFF_FFFF


def avro_value(schema: Any, names: Names, value: Any, path: str = "") -> Any:
    if isinstance(schema, list):
        return _union(schema, names, value, path)
    kind = schema["type"] if isinstance(schema, dict) else schema
    if isinstance(kind, (dict, list)):
        return avro_value(kind, names, value, path)
    logical = schema.get("logicalType") if isinstance(schema, dict) else None
    if logical in _LOGICAL and not (type(value) is int and logical != "decimal"):
        return _converted(_LOGICAL[logical], value, logical, path)
    match kind:
        case "record" | "error":
            return _record(schema, names, value, path)
        case "array":
            return _array(schema["items"], names, value, path)
        case "map":
            return _map(schema["values"], names, value, path)
        case "enum":
            if value not in schema["symbols"]:
                raise _wrong(path, f"one of {', '.join(schema['symbols'])}", value)
            return value
        case "fixed":
            data = _converted(_bytes, value, "base64", path)
            if len(data) != schema["size"]:
                raise _wrong(path, f"base64 of {schema['size']} bytes", value)
            return data
    if kind in _PRIMITIVES:
        return _converted(_PRIMITIVES[kind], value, "base64" if kind == "bytes" else kind, path)
    return avro_value(names[kind], names, value, path)


def _record(schema: Any, names: Names, value: Any, path: str) -> dict[str, Any]:
    if type(value) is not dict:
        raise _wrong(path, f"an object ({schema['name']})", value)
    fields = {field["name"]: field for field in schema["fields"]}
    for name in value:
        if name not in fields:
            raise ValueError(f"field {_joined(path, name)}: {schema['name']} has no such field")
    found = {}
    for name, field in fields.items():
        if name in value:
            found[name] = avro_value(field["type"], names, value[name], _joined(path, name))
        elif "default" not in field:
            raise ValueError(f"field {_joined(path, name)}: it is missing, and has no default")
        elif isinstance(field["default"], str) and _is_bytes(field["type"], names):
            # A schema has them as text, one character for each byte.
            found[name] = field["default"].encode("latin-1")
    return found


def _is_bytes(schema: Any, names: Names) -> bool:
    first = schema[0] if isinstance(schema, list) else schema
    first = names.get(first, first) if isinstance(first, str) else first
    return _kind(first) in ("bytes", "fixed") and "logicalType" not in first


def _array(items: Any, names: Names, value: Any, path: str) -> list[Any]:
    if type(value) is not list:
        raise _wrong(path, "a list", value)
    return [avro_value(items, names, each, f"{path}[{at}]") for at, each in enumerate(value)]


def _map(values: Any, names: Names, value: Any, path: str) -> dict[str, Any]:
    if type(value) is not dict:
        raise _wrong(path, "an object", value)
    return {
        name: avro_value(values, names, each, _joined(path, name)) for name, each in value.items()
    }


def _union(branches: list[Any], names: Names, value: Any, path: str) -> Any:
    refusals: list[ValueError] = []
    for branch in branches:
        try:
            return _of_branch(branch, avro_value(branch, names, value, path))
        except ValueError as error:
            refusals.append(error)
    if type(value) is dict and len(value) == 1:
        ((name, inner),) = value.items()
        for branch in branches:
            if name in _branch_names(branch):
                return _of_branch(branch, avro_value(branch, names, inner, path))
    others = [
        refusal
        for branch, refusal in zip(branches, refusals, strict=True)
        if _name(branch) != "null"
    ]
    if len(others) == 1:
        raise others[0]
    raise _wrong(path, " or ".join(map(_name, branches)), value)


def _of_branch(branch: Any, value: Any) -> Any:
    """fastavro has to be told which of several records is meant."""
    is_named = isinstance(value, dict) and _kind(branch) not in ("map", "array")
    return (_name(branch), value) if is_named else value


def _branch_names(branch: Any) -> tuple[str, str]:
    name = _name(branch)
    return name, name.rpartition(".")[2]


def _kind(branch: Any) -> str:
    return str(branch["type"] if isinstance(branch, dict) else branch)


def _name(branch: Any) -> str:
    return str(branch.get("name") or branch["type"]) if isinstance(branch, dict) else str(branch)


def _converted(convert: Callable[[Any], Any], value: Any, kind: str, path: str) -> Any:
    try:
        return convert(value)
    except (ValueError, TypeError, InvalidOperation, OverflowError):
        raise _wrong(path, kind, value) from None


def _wrong(path: str, takes: str, value: Any) -> ValueError:
    """The value is not shown: it may be large, or secret."""
    where = f"field {path}" if path else "the value"
    return ValueError(f"{where} takes {takes}, not {_JSON_NAMES.get(type(value), 'this')}")


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _null(value: Any) -> None:
    if value is not None:
        raise ValueError


def _boolean(value: Any) -> bool:
    if type(value) is not bool:
        raise ValueError
    return value


def _whole(value: Any, most: int) -> int:
    if type(value) is not int or not -most - 1 <= value <= most:
        raise ValueError
    return value


def _number(value: Any) -> float:
    if type(value) not in (int, float):
        raise ValueError
    return float(value)


def _string(value: Any) -> str:
    if type(value) is not str:
        raise ValueError
    return value


def _bytes(value: Any) -> bytes:
    try:
        return b64decode(_string(value), validate=True)
    except binascii.Error:
        raise ValueError from None


def _decimal(value: Any) -> Decimal:
    if type(value) not in (int, float, str):
        raise ValueError
    return Decimal(str(value))


def _moment(value: Any) -> datetime:
    found = datetime.fromisoformat(_string(value))
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found


_PRIMITIVES: dict[str, Callable[[Any], Any]] = {
    "null": _null,
    "boolean": _boolean,
    "int": lambda value: _whole(value, _INT),
    "long": lambda value: _whole(value, _LONG),
    "float": _number,
    "double": _number,
    "string": _string,
    "bytes": _bytes,
}
_LOGICAL: dict[str, Callable[[Any], Any]] = {
    "decimal": _decimal,
    "date": lambda value: date.fromisoformat(_string(value)),
    "time-millis": lambda value: time.fromisoformat(_string(value)),
    "time-micros": lambda value: time.fromisoformat(_string(value)),
    "timestamp-millis": _moment,
    "timestamp-micros": _moment,
    "local-timestamp-millis": lambda value: datetime.fromisoformat(_string(value)),
    "local-timestamp-micros": lambda value: datetime.fromisoformat(_string(value)),
    "uuid": _string,
}
_JSON_NAMES = {
    type(None): "null",
    bool: "true or false",
    int: "this whole number",
    float: "this number",
    str: "this text",
    list: "a list",
    dict: "an object",
}
