"""Avro payloads by fastavro, with its logical types both ways.

fastavro writes some values that do not fit without a word: 1.5 as the long 1, 2**40 as an int that
Java cannot read, 3 as true. `_check` finds those quickly, for most records without looking twice;
whatever it is not sure of is validated in full. A field that the schema does not have is refused,
because dropping it would lose data; bytes after the value say that it was written with another.
Above: codec.py. Below: avro_parsing.py, avro_limits.py, plain.py, fastavro.
"""

from collections.abc import Callable
from io import BytesIO
from typing import Any, TypeAlias

import fastavro
from fastavro.validation import ValidationError, validate

from kafkaesque.client.registry import Schema
from kafkaesque.client.schemas.avro_limits import is_recursive
from kafkaesque.client.schemas.avro_parsing import named_types, parsed, with_native_defaults
from kafkaesque.client.schemas.codec import Resolve
from kafkaesque.client.schemas.plain import plain

_Check: TypeAlias = Callable[[Any], bool]
# A value that may contain its like is at most as deep as it has bytes; C's stack ends at some 1000.
_MAX_QUICK_BYTES = 500
_TOO_DEEP = "it is nested too deep"
_write, _read = fastavro.schemaless_writer, fastavro.schemaless_reader


def avro_codec(schema: Schema, resolve: Resolve, reader: Schema | None = None) -> "AvroCodec":
    if reader is None:
        return AvroCodec(parsed(schema, resolve))
    return AvroCodec(parsed(schema, resolve), with_native_defaults(parsed(reader, resolve)))


class AvroCodec:
    """Of schemas that fastavro has parsed; `reader` is what written values are resolved to."""

    def __init__(self, schema: Any, reader: Any = None) -> None:
        self.schema = schema
        self._reader = reader
        names = named_types(schema)
        self._max_quick = _MAX_QUICK_BYTES if is_recursive(schema, names) else None
        self._fits = _check(schema, names, frozenset())

    def encode(self, value: Any) -> bytes:
        out = BytesIO()
        try:
            if self._fits is not None and not self._fits(value):
                validate(value, self.schema)
            _write(out, self.schema, value, strict_allow_default=True)
        except Exception as error:
            raise self._explained(value, error) from error
        return out.getvalue()

    def decode(self, payload: bytes) -> Any:
        """Raises ValueError, or what fastavro raises."""
        if self._max_quick is not None and len(payload) > self._max_quick:
            return self._read_in_python(payload)
        source = BytesIO(payload)
        value = _read(source, self.schema, self._reader)
        if source.tell() != len(payload):
            raise _longer(payload, source)
        return value

    def to_json(self, payload: bytes) -> Any:
        try:
            return plain(self.decode(payload))
        except RecursionError:
            raise ValueError(_TOO_DEEP) from None

    def _read_in_python(self, payload: bytes) -> Any:
        """Slow, and its recursion has a limit."""
        from fastavro._read_py import schemaless_reader

        source = BytesIO(payload)
        try:
            value = schemaless_reader(source, self.schema, self._reader)
        except RecursionError:
            raise ValueError(_TOO_DEEP) from None
        if source.tell() != len(payload):
            raise _longer(payload, source)
        return value

    def _explained(self, value: Any, error: Exception) -> Exception:
        """In words that name the field, and not the value: it may be large, or secret."""
        if not isinstance(error, ValidationError):
            try:
                validate(value, self.schema)
            except ValidationError as found:
                error = found
            except Exception as found:
                error = error or found
        if isinstance(error, ValidationError):
            return TypeError(_words(error))
        if isinstance(error, TypeError | AttributeError):
            return TypeError(str(error))
        return ValueError(str(error))


def _longer(payload: bytes, source: BytesIO) -> ValueError:
    left = len(payload) - source.tell()
    return ValueError(f"{left} bytes are left over: it was not written with this schema")


def _words(error: ValidationError) -> str:
    first = error.errors[0]
    takes = [_name(each.schema) for each in error.errors if each.field == first.field]
    what = "nothing" if first.datum is None else type(first.datum).__name__
    where = f"field {first.field}" if first.field else "the schema"
    wrong = f"{where} takes {' or '.join(dict.fromkeys(takes))}, not {what}"
    is_too_large = what == "int" and not {"int", "long"}.isdisjoint(takes)
    return f"{wrong} of this size" if is_too_large else wrong


def _name(schema: Any) -> str:
    if not isinstance(schema, dict):
        return str(schema)
    if schema["type"] == "enum":
        return f"one of {', '.join(schema['symbols'])}"
    return str(schema.get("logicalType") or schema.get("name") or schema["type"])


def _check(schema: Any, names: dict[str, Any], inside: frozenset[str]) -> _Check | None:
    """None: fastavro sees by itself what does not fit. `inside` are the records around this one:
    a record within itself is checked in full."""
    kind = schema if isinstance(schema, str) else None
    if isinstance(schema, dict):
        if "logicalType" in schema:
            return _not_lossy
        kind = schema["type"]
    if isinstance(kind, str) and kind in names and kind not in _PRIMITIVES:
        return _check(names[kind], names, inside)
    if isinstance(kind, str) and kind in _PRIMITIVES:
        return _PRIMITIVES[kind]
    if kind in ("record", "error"):
        return _check_record(schema, names, inside)
    if kind in ("array", "map"):
        item = _check(schema["items" if kind == "array" else "values"], names, inside)
        return None if item is None else _each(item, kind)
    # A union chooses by full validation; enums, strings and bytes fail by themselves.
    return None


def _check_record(schema: Any, names: dict[str, Any], inside: frozenset[str]) -> _Check | None:
    if schema["name"] in inside:
        return _never
    around = inside | {schema["name"]}
    found = [(each["name"], _check(each["type"], names, around)) for each in schema["fields"]]
    checks = [(name, check) for name, check in found if check is not None]
    if not checks:
        return None

    def fits(value: Any) -> bool:
        if type(value) is not dict:
            return False
        return all(name not in value or check(value[name]) for name, check in checks)

    return fits


def _each(item: _Check, kind: str) -> _Check:
    if kind == "array":
        return lambda value: type(value) is list and all(map(item, value))
    return lambda value: type(value) is dict and all(map(item, value.values()))


def _never(value: Any) -> bool:
    return False


def _not_lossy(value: Any) -> bool:
    return type(value) is not float and type(value) is not bool


_PRIMITIVES: dict[str, _Check | None] = {
    "boolean": lambda value: value is True or value is False,
    "int": lambda value: type(value) is int and -0x8000_0000 <= value <= 0x7FFF_FFFF,
    "long": lambda value: type(value) is int,
    "null": None,
    "float": None,
    "double": None,
    "bytes": None,
    "string": None,
}
