"""Messages of generated Protobuf schemas, and what a reader makes of a writer's bytes.

`faithful` is the meaning of "can read" that the compatibility rules promise: decoding works, no
required field is missing, and each field that both have, has the same value, by number. Values are
between 1 and 100 and plain ASCII: the cases where protobuf itself lets a value change (too large
for the reader, no UTF-8, not in a closed enum) are listed in compatibility.py and left out here.
"""

import random
from collections.abc import Iterator
from typing import Any

from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass

from kafkaesque.registry.protobuf import ProtobufSchema


def message_class(schema: ProtobufSchema, name: str) -> Any:
    return GetMessageClass(schema.built.message_types_by_name[name])


def samples(schema: ProtobufSchema, name: str, seed: int) -> Iterator[Any]:
    """An empty message, and full ones: each oneof is set to each of its fields once."""
    chance = random.Random(seed)
    kind = message_class(schema, name)
    yield kind()
    longest = max((len(oneof.fields) for oneof in kind.DESCRIPTOR.oneofs), default=1)
    for turn in range(longest):
        yield filled(kind(), chance, turn)


def filled(message: Any, chance: random.Random, turn: int = 0, depth: int = 2) -> Any:
    for field in message.DESCRIPTOR.fields:
        oneof = field.containing_oneof
        if oneof is not None and oneof.fields[turn % len(oneof.fields)].number != field.number:
            continue
        _fill(message, field, chance, depth)
    return message


def _fill(message: Any, field: Any, chance: random.Random, depth: int) -> None:
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        key, value = (field.message_type.fields_by_name[part] for part in ("key", "value"))
        getattr(message, field.name)[_value(key, chance)] = _value(value, chance)
    elif field.message_type is not None:
        # A required field of a message's own type cannot be filled to the end: see `valid`.
        if depth == 0 and not field.is_required:
            return
        inner = getattr(message, field.name)
        for target in [inner.add(), inner.add()] if field.is_repeated else [inner]:
            target.SetInParent()
            if depth > -3:
                filled(target, chance, depth=depth - 1)
    elif field.is_repeated:
        getattr(message, field.name).extend([_value(field, chance), _value(field, chance)])
    else:
        setattr(message, field.name, _value(field, chance))


def _value(field: Any, chance: random.Random) -> Any:
    if field.enum_type is not None:
        return max(value.number for value in field.enum_type.values)
    if field.cpp_type == field.CPPTYPE_STRING:
        text = chance.choice(["abc", "xyzzy", "Kafka"])
        return text.encode() if field.type == field.TYPE_BYTES else text
    if field.cpp_type == field.CPPTYPE_BOOL:
        return True
    number = chance.randint(2, 100)
    floats = (field.CPPTYPE_FLOAT, field.CPPTYPE_DOUBLE)
    return number + 0.5 if field.cpp_type in floats else number


def faithful(reader: Any, written: Any) -> bool:
    """Does a reader's class make of a writer's message what it was?"""
    try:
        read = reader.FromString(written.SerializeToString())
    except DecodeError:
        return False
    return bool(read.IsInitialized()) and same(read, written)


def same(read: Any, written: Any) -> bool:
    ours = read.DESCRIPTOR.fields_by_number
    for field, value in written.ListFields():
        if field.number in ours and not _same_field(read, ours[field.number], field, value):
            return False
    return True


def _same_field(read: Any, ours: Any, theirs: Any, value: Any) -> bool:
    found = getattr(read, ours.name)
    if _is_map(ours) or _is_map(theirs):
        return _is_map(ours) and _is_map(theirs) and _same_map(ours, found, value)
    if ours.is_repeated and not theirs.is_repeated:
        found, value = list(found), [value] if not _set_aside(ours, value) else []
    elif theirs.is_repeated and not ours.is_repeated:
        if ours.message_type is not None:
            return theirs.message_type is not None
        # The last one wins, which is what is promised for strings alone.
        if ours.cpp_type != ours.CPPTYPE_STRING:
            return False
        value = value[-1]
    elif ours.is_repeated:
        found, value = list(found), [each for each in value if not _set_aside(ours, each)]
    if isinstance(found, list):
        pairs = zip(found, value, strict=False)
        return len(found) == len(value) and all(_same_value(ours, *pair) for pair in pairs)
    return _same_value(ours, found, value)


def _same_map(ours: Any, found: Any, value: Any) -> bool:
    parts = ours.message_type.fields_by_name
    wanted = {
        _cast(parts["key"], key): _cast(parts["value"], each)
        for key, each in value.items()
        if not _set_aside(parts["value"], each)
    }
    got = {_cast(parts["key"], key): each for key, each in found.items()}
    return len(got) == len(wanted) and all(
        key in got and _same_value(parts["value"], got[key], each) for key, each in wanted.items()
    )


def _same_value(ours: Any, found: Any, value: Any) -> bool:
    if hasattr(found, "DESCRIPTOR"):
        return hasattr(value, "DESCRIPTOR") and same(found, value)
    return _set_aside(ours, value) or bool(_cast(ours, value) == found)


def _cast(ours: Any, value: Any) -> Any:
    if ours.cpp_type == ours.CPPTYPE_BOOL:
        return bool(value)
    if ours.type == ours.TYPE_BYTES and isinstance(value, str):
        return value.encode()
    if ours.type == ours.TYPE_STRING and isinstance(value, bytes):
        return value.decode()
    return value


def _set_aside(ours: Any, value: Any) -> bool:
    """Is it a number that the reader's closed enum does not have? Then it is an unknown field."""
    return (
        ours.enum_type is not None
        and bool(ours.enum_type.is_closed)
        and isinstance(value, int)
        and value not in ours.enum_type.values_by_number
    )


def _is_map(field: Any) -> bool:
    return field.message_type is not None and field.message_type.GetOptions().map_entry
