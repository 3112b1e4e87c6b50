"""Protobuf messages as dicts, with the proto's own field names, and back.

    a message       a dict: fields that know whether they are set are in it only when they are
    repeated, map   list, dict
    an enum         its name; a number that has no name stays one
    Timestamp       datetime of UTC, to the microsecond
    Duration        timedelta
    a wrapper       the value in it
    Struct          dict (Value, ListValue: what JSON has)

A dict that is written may have None for what is not set. Above: protobuf.py. Below: protobuf.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

from google.protobuf import json_format
from google.protobuf.descriptor_pb2 import FieldDescriptorProto
from google.protobuf.message import Message

_Fill: TypeAlias = Callable[[Any, Any], None]

_WRAPPERS = {
    f"google.protobuf.{kind}Value"
    for kind in ("Bool", "Bytes", "Double", "Float", "Int32", "Int64", "String", "UInt32", "UInt64")
}
_JSON = {"google.protobuf.Struct", "google.protobuf.Value", "google.protobuf.ListValue"}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class MisfitError(TypeError):
    """A value that is not of its field's kind; the message names the field, not the value."""


def dict_of(message: Message) -> Any:
    special = _READ.get(message.DESCRIPTOR.full_name)
    if special is not None:
        return special(message)
    found: dict[str, Any] = {}
    for field in message.DESCRIPTOR.fields:
        name = field.name
        if field.is_repeated:
            found[name] = _repeated(field, getattr(message, name))
        elif not field.has_presence or message.HasField(name):
            found[name] = _single(field, getattr(message, name))
    return found


def fill(message: Message, value: Any, path: str = "") -> None:
    """Raises MisfitError."""
    special = _WRITE.get(message.DESCRIPTOR.full_name)
    try:
        if special is not None:
            special(message, value)
            return
    except (TypeError, ValueError, AttributeError, json_format.ParseError) as error:
        raise MisfitError(_wrong(path, message.DESCRIPTOR.full_name, value)) from error
    if not isinstance(value, Mapping):
        raise MisfitError(_wrong(path, message.DESCRIPTOR.full_name, value))
    # One that is there and empty is something else than one that is not there.
    message.SetInParent()
    for name, part in value.items():
        field = message.DESCRIPTOR.fields_by_name.get(name)
        if field is None:
            raise MisfitError(f"{message.DESCRIPTOR.full_name} has no field {name!r}")
        if part is not None:
            _fill_field(message, field, part, f"{path}.{name}" if path else str(name))


def _fill_field(message: Any, field: Any, part: Any, path: str) -> None:
    try:
        if not field.is_repeated:
            if field.message_type is not None:
                fill(getattr(message, field.name), part, path)
            else:
                setattr(message, field.name, _scalar(field, part))
        elif _is_map(field):
            _fill_map(getattr(message, field.name), field, part, path)
        elif field.message_type is not None:
            for place, each in enumerate(part):
                fill(getattr(message, field.name).add(), each, f"{path}[{place}]")
        elif isinstance(part, str | bytes):
            raise TypeError
        else:
            getattr(message, field.name).extend(_scalar(field, each) for each in part)
    except MisfitError:
        raise
    except (TypeError, ValueError, AttributeError) as error:
        raise MisfitError(_wrong(path, _kind(field), part)) from error


def _fill_map(target: Any, field: Any, part: Any, path: str) -> None:
    value_field = field.message_type.fields_by_name["value"]
    for key, each in part.items():
        if value_field.message_type is not None:
            fill(target[key], each, f"{path}[{key!r}]")
        else:
            target[key] = _scalar(value_field, each)


def _scalar(field: Any, part: Any) -> Any:
    if field.enum_type is not None and isinstance(part, str):
        found = field.enum_type.values_by_name.get(part)
        if found is None:
            raise ValueError(part)
        return found.number
    if isinstance(part, bool) and field.type != FieldDescriptorProto.TYPE_BOOL:
        raise TypeError
    return part


def _repeated(field: Any, parts: Any) -> Any:
    if _is_map(field):
        value_field = field.message_type.fields_by_name["value"]
        return {key: _single(value_field, parts[key]) for key in parts}
    return [_single(field, each) for each in parts]


def _single(field: Any, part: Any) -> Any:
    if field.message_type is not None:
        return dict_of(part)
    if field.enum_type is not None:
        found = field.enum_type.values_by_number.get(part)
        return part if found is None else found.name
    return part


def _is_map(field: Any) -> bool:
    return field.message_type is not None and field.message_type.GetOptions().map_entry


def _kind(field: Any) -> str:
    if field.message_type is not None or field.enum_type is not None:
        return str((field.message_type or field.enum_type).full_name)
    kind = FieldDescriptorProto.Type.Name(field.type).removeprefix("TYPE_").lower()
    return f"repeated {kind}" if field.is_repeated else kind


def _wrong(path: str, kind: str, value: Any) -> str:
    where = f"field {path}" if path else "the message"
    return f"{where} takes {kind}, not {type(value).__name__}"


def _read_duration(message: Any) -> timedelta:
    return timedelta(seconds=message.seconds, microseconds=message.nanos // 1000)


def _read_moment(message: Any) -> datetime:
    return _EPOCH + timedelta(seconds=message.seconds, microseconds=message.nanos // 1000)


def _write_moment(message: Any, value: Any) -> None:
    if isinstance(value, str):
        message.FromJsonString(value)
    else:
        message.FromDatetime(value)


def _write_duration(message: Any, value: Any) -> None:
    if isinstance(value, str):
        message.FromJsonString(value)
    else:
        message.FromTimedelta(value)


def _write_wrapper(message: Any, value: Any) -> None:
    message.SetInParent()
    message.value = value


def _write_json(message: Any, value: Any) -> None:
    message.SetInParent()
    json_format.ParseDict(value, message)


_READ: dict[str, Callable[[Any], Any]] = {
    "google.protobuf.Timestamp": _read_moment,
    "google.protobuf.Duration": _read_duration,
    **dict.fromkeys(_WRAPPERS, lambda message: message.value),
    **dict.fromkeys(_JSON, json_format.MessageToDict),
}
_WRITE: dict[str, _Fill] = {
    "google.protobuf.Timestamp": _write_moment,
    "google.protobuf.Duration": _write_duration,
    **dict.fromkeys(_WRAPPERS, _write_wrapper),
    **dict.fromkeys(_JSON, _write_json),
}
