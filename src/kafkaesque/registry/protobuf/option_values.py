"""Puts a constant of a .proto text into a field of an options message.

Raises ValueError if the constant is none of the field's values. Messages and fields are Any here:
protobuf's stubs know the attributes of generated classes only.

Above: options.py. Below: draft.py.
"""

from typing import Any

from google.protobuf import text_format
from google.protobuf.descriptor import FieldDescriptor

from kafkaesque.registry.protobuf.draft import Constant

_FLOATS = (FieldDescriptor.CPPTYPE_DOUBLE, FieldDescriptor.CPPTYPE_FLOAT)


def put(message: Any, field: Any, constant: Constant) -> None:
    value = _value(field, constant)
    if field.is_repeated:
        target = message.Extensions[field] if field.is_extension else getattr(message, field.name)
        target.append(value)
        return
    if _is_set(message, field):
        raise ValueError("is set twice")
    if field.is_extension:
        message.Extensions[field] = value
    else:
        setattr(message, field.name, value)


def put_aggregate(message: Any, field: Any, constant: Constant) -> None:
    if constant.kind != "aggregate":
        raise ValueError("a value in braces { } is wanted")
    target = message.Extensions[field] if field.is_extension else getattr(message, field.name)
    if field.is_repeated:
        target = target.add()
    elif _is_set(message, field):
        raise ValueError("is set twice")
    else:
        target.SetInParent()
    try:
        text_format.Merge(str(constant.value), target, descriptor_pool=field.file.pool)
    except text_format.ParseError as bad:
        raise ValueError(str(bad).partition(" : ")[2] or str(bad)) from None
    if not target.IsInitialized():
        raise ValueError("a required field is missing in the braces")


def _is_set(message: Any, field: Any) -> bool:
    if field.is_extension:
        return bool(message.HasExtension(field))
    return bool(field.has_presence and message.HasField(field.name))


def _value(field: Any, constant: Constant) -> Any:
    value = constant.value
    if field.enum_type is not None:
        if constant.kind != "identifier" or value not in field.enum_type.values_by_name:
            raise ValueError(f"{value!r} is no value of {field.enum_type.full_name}")
        return field.enum_type.values_by_name[value].number
    if field.cpp_type == FieldDescriptor.CPPTYPE_BOOL:
        if constant.kind != "identifier" or value not in ("true", "false"):
            raise ValueError("true or false is wanted")
        return value == "true"
    if field.cpp_type == FieldDescriptor.CPPTYPE_STRING:
        if not isinstance(value, bytes):
            raise ValueError("a string in quotes is wanted")
        return value if field.type == FieldDescriptor.TYPE_BYTES else value.decode()
    if field.cpp_type in _FLOATS:
        if value in ("inf", "nan") or isinstance(value, int | float):
            return float(value)
        raise ValueError("a number is wanted")
    if not isinstance(value, int):
        raise ValueError("a whole number is wanted")
    return value
