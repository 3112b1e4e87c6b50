"""Logical types: a meaning on top of a plain type, such as a date on an int.

The name counts only on the type that the specification gives it, and with attributes that make
sense; else it is ignored and the plain type counts. Nothing is refused for it.
Above: parse.py. Below: nothing.
"""

from collections.abc import Mapping
from typing import Any

CARRIERS = {
    "date": ("int",),
    "time-millis": ("int",),
    "time-micros": ("long",),
    "timestamp-millis": ("long",),
    "timestamp-micros": ("long",),
    "timestamp-nanos": ("long",),
    "local-timestamp-millis": ("long",),
    "local-timestamp-micros": ("long",),
    "local-timestamp-nanos": ("long",),
    "uuid": ("string", "fixed"),
    "decimal": ("bytes", "fixed"),
    "big-decimal": ("bytes",),
    "duration": ("fixed",),
}
SIZES = {"uuid": 16, "duration": 12}
_LARGEST = 1024
"""Bytes of a fixed that decimals are reckoned with: 2,465 digits are enough."""


def logical_type(carrier: str, props: Mapping[str, Any], size: int | None = None) -> str | None:
    """The logical type in force on the carrier; `size` is that of a fixed."""
    name = props.get("logicalType")
    if not isinstance(name, str) or carrier not in CARRIERS.get(name, ()):
        return None
    if size is not None and name in SIZES and size != SIZES[name]:
        return None
    if name == "decimal" and not _is_decimal(props, size):
        return None
    return name


def _is_decimal(props: Mapping[str, Any], size: int | None) -> bool:
    precision, scale = props.get("precision"), props.get("scale", 0)
    if type(precision) is not int or type(scale) is not int:
        return False
    if not 0 <= scale <= precision or precision < 1:
        return False
    return size is None or (size > 0 and precision <= _most_digits(min(size, _LARGEST)))


def _most_digits(size: int) -> int:
    """How many decimal digits always fit into so many bytes, the sign included."""
    return len(str((1 << (8 * size - 1)) - 1)) - 1
