"""A field's default as FileDescriptorProto keeps it: text.

    numbers   decimal, floats as short as they can be told apart; inf, -inf, nan
    bool      true, false        enum   the value's name
    string    as it is           bytes  with escapes

Above: grammar_options.py. Below: draft.py.
"""

import struct

from google.protobuf.descriptor_pb2 import FieldDescriptorProto as Field

from kafkaesque.registry.protobuf.draft import Constant

_RANGES = {
    **dict.fromkeys((Field.TYPE_INT32, Field.TYPE_SINT32, Field.TYPE_SFIXED32), (-(2**31), 2**31)),
    **dict.fromkeys((Field.TYPE_INT64, Field.TYPE_SINT64, Field.TYPE_SFIXED64), (-(2**63), 2**63)),
    **dict.fromkeys((Field.TYPE_UINT32, Field.TYPE_FIXED32), (0, 2**32)),
    **dict.fromkeys((Field.TYPE_UINT64, Field.TYPE_FIXED64), (0, 2**64)),
}
_ESCAPES = {
    **{byte: f"\\{byte:03o}" for byte in (*range(32), *range(127, 256))},
    **{ord(char): f"\\{name}" for char, name in zip("\n\r\t\"'\\", "nrt\"'\\", strict=True)},
}


def default_text(field: Field, constant: Constant) -> str:
    """Raises ValueError if the constant is none of the field's values."""
    if not field.HasField("type") or field.type == Field.TYPE_GROUP:
        # The type is a name that has not been looked up yet.
        if field.HasField("type") or constant.kind != "identifier":
            raise ValueError("the name of one of the enum's values is wanted")
        return str(constant.value)
    if field.type in _RANGES:
        low, above = _RANGES[field.type]
        if not isinstance(constant.value, int) or not low <= constant.value < above:
            raise ValueError(f"{constant.value!r} is not between {low} and {above - 1}")
        return str(constant.value)
    if field.type in (Field.TYPE_DOUBLE, Field.TYPE_FLOAT):
        return _float_text(constant, single=field.type == Field.TYPE_FLOAT)
    if field.type == Field.TYPE_BOOL:
        if constant.value not in ("true", "false"):
            raise ValueError("a bool is true or false")
        return str(constant.value)
    if not isinstance(constant.value, bytes):
        raise ValueError("a string in quotes is wanted")
    if field.type == Field.TYPE_STRING:
        return constant.value.decode()
    return "".join(_ESCAPES.get(byte, chr(byte)) for byte in constant.value)


def _float_text(constant: Constant, *, single: bool) -> str:
    if constant.value in ("inf", "nan"):
        return str(constant.value)
    if not isinstance(constant.value, int | float):
        raise ValueError("a number is wanted")
    number = float(constant.value)
    if not single:
        return next(text for text in (f"{number:.15g}", f"{number:.17g}") if _is(text, number))
    try:
        number = struct.unpack("f", struct.pack("f", number))[0]
    except OverflowError:
        return "inf" if number > 0 else "-inf"
    short = f"{number:.6g}"
    same = struct.pack("f", float(short)) == struct.pack("f", number)
    return short if same or number != number else f"{number:.9g}"


def _is(text: str, number: float) -> bool:
    return float(text) == number or number != number
