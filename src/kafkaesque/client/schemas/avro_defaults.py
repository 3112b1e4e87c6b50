"""The default of a model's field, as an Avro schema writes it.

Bytes are text of the code points 0 to 255, moments are numbers. A default that is made anew each
time (a time, a UUID) has no place in a schema, and an empty list or dict has. A field that may be
None and has no default has null: readers that expect it then read what was written without it.
Above: avro_types.py. Below: nothing.
"""

from collections.abc import Mapping
from datetime import UTC, date, datetime, time
from typing import Any
from uuid import UUID

NONE: Any = object()
"""The field has no default."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def avro_default(field: Any, kind: Any) -> Any:
    is_optional = isinstance(kind.schema, list) and "null" in kind.schema
    if field.is_required():
        return None if is_optional else NONE
    if field.default_factory is not None:
        return {list: [], dict: {}, set: [], tuple: []}.get(field.default_factory, NONE)
    if field.default is None:
        return None if is_optional else NONE
    found = field.default if kind.dump is None else kind.dump(field.default)
    # The branch of a union that fastavro is told by name.
    if isinstance(found, tuple):
        found = found[1]
    return _written(found)


def _written(value: Any) -> Any:
    if isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if isinstance(value, datetime):
        return round((value.astimezone(UTC) - _EPOCH).total_seconds() * 1_000_000)
    if isinstance(value, date):
        return value.toordinal() - date(1970, 1, 1).toordinal()
    if isinstance(value, time):
        seconds = value.hour * 3600 + value.minute * 60 + value.second
        return seconds * 1_000_000 + value.microsecond
    if isinstance(value, Mapping):
        parts = {name: _written(part) for name, part in value.items()}
        return NONE if NONE in parts.values() else parts
    if isinstance(value, list):
        items = [_written(each) for each in value]
        return NONE if NONE in items else items
    # A Decimal: whoever wants a default for one gives it in a schema of their own.
    return None if value is None else NONE
