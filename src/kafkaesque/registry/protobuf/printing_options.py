"""Options as .proto text: (name, value) pairs in the order of their numbers.

Above: printing.py. Below: options.py, tokens.py.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any

from google.protobuf import text_format
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.descriptor_pb2 import FieldDescriptorProto as Field
from google.protobuf.descriptor_pb2 import UninterpretedOption
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.unknown_fields import UnknownFieldSet

from kafkaesque.registry.protobuf.checks import json_name
from kafkaesque.registry.protobuf.draft import Holder
from kafkaesque.registry.protobuf.options import decoded_options
from kafkaesque.registry.protobuf.tokens import quoted
from kafkaesque.registry.schema_text import InvalidSchemaError


def own_options(field: Field) -> Iterator[tuple[str, str]]:
    """The two that are written as options but are parts of the field itself."""
    if field.HasField("default_value"):
        text = field.default_value
        if field.type == Field.TYPE_STRING:
            text = quoted(text.encode())
        elif field.type == Field.TYPE_BYTES:
            text = f'"{text}"'
        yield "default", text
    if field.HasField("json_name") and field.json_name != json_name(field.name):
        yield "json_name", quoted(field.json_name.encode())


def written_options(
    holder: Holder, pool: DescriptorPool, extension_name: Callable[[str], str]
) -> Iterator[tuple[str, str]]:
    if not holder.HasField("options"):
        return
    options = decoded_options(holder, pool)
    if len(UnknownFieldSet(options)):
        raise InvalidSchemaError(
            f'"{getattr(holder, "name", "a range")}" has a custom option that no import declares'
        )
    for field, value in options.ListFields():
        if field.name == "map_entry":
            continue
        name = f"({extension_name(field.full_name)})" if field.is_extension else field.name
        for each in value if field.is_repeated else [value]:
            if isinstance(each, UninterpretedOption) or field.name == "uninterpreted_option":
                yield _as_written(each)
            else:
                yield name, _value(field, each)


def _value(field: FieldDescriptor, value: Any) -> str:
    if field.message_type is not None:
        return f"{{ {text_format.MessageToString(value, as_one_line=True)} }}"
    if field.enum_type is not None:
        known = field.enum_type.values_by_number.get(value)
        if known is None:
            raise InvalidSchemaError(f"{value} is no value of {field.enum_type.full_name}")
        return str(known.name)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quoted(value.encode())
    if isinstance(value, bytes):
        return quoted(value)
    return _number(value)


def _number(value: float) -> str:
    return repr(value) if isinstance(value, int) or math.isfinite(value) else str(value)


def _as_written(option: UninterpretedOption) -> tuple[str, str]:
    name = ".".join(
        f"({part.name_part})" if part.is_extension else part.name_part for part in option.name
    )
    if option.HasField("string_value"):
        return name, quoted(option.string_value)
    if option.HasField("aggregate_value"):
        return name, f"{{ {option.aggregate_value} }}"
    if option.HasField("identifier_value"):
        return name, option.identifier_value
    for number in ("positive_int_value", "negative_int_value", "double_value"):
        if option.HasField(number):
            return name, _number(getattr(option, number))
    raise InvalidSchemaError(f'option "{name}" has no value')
