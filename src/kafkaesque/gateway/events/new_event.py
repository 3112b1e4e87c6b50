"""Events as clients write them, made into bytes: JSON, a line of NDJSON, or a body as it is.

    {"key": "AMZN", "value": {"price": 101}, "headers": [["source", "web"]], "partition": 0,
     "timestamp": 1700000000000}

Only `value` must be there. A string is stored as its UTF-8 text, {"base64": "…"} as those bytes,
null as null; an object, a list, a number, true or false as its JSON text without blanks. A key is
read the same way. Headers are pairs in order, or an object. Numbers keep all their digits if they
are whole. By a schema (`Shape`), a key or a value is any JSON that it takes; null stays null.
Pure. Above: write.py. Below: client/event_json.py, client/json_encoder.py.
"""

import json
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn, TypeAlias

from kafkaesque.client.event_json import bytes_of
from kafkaesque.client.json_encoder import JsonEncoder, UnfitError

Headers: TypeAlias = tuple[tuple[str, bytes | None], ...]

SCHEMA_NAMES = {"value_schema_id", "value_schema", "key_schema_id", "key_schema"}
_MEMBERS = ("key", "value", "headers", "partition", "timestamp")
_MAX_PARTITION = 2**31 - 1
_MAX_TIMESTAMP = 2**63 - 1


class InputError(ValueError):
    """Nothing can be made of it: why, and where: line and column, the number of an event, or the
    field that its schema does not take."""

    def __init__(self, error: str, reason: str, **where: int | str) -> None:
        super().__init__(error, reason, where)
        self.error = error
        self.reason = reason
        self.where = where

    def in_line(self, number: int) -> "InputError":
        """The same, of a line among others."""
        return InputError(self.error, self.reason, **{**self.where, "line": number})

    def __str__(self) -> str:
        places = ("event", "line", "column")
        place = ", ".join(f"{name} {self.where[name]}" for name in places if name in self.where)
        return f"{place}: {self.reason}" if place else self.reason


@dataclass(frozen=True, slots=True)
class NewEvent:
    """None as a partition: where the key belongs; None as a timestamp: now."""

    value: bytes | None
    key: bytes | None = None
    headers: Headers = ()
    partition: int | None = None
    timestamp: int | None = None


class Shape(NamedTuple):
    """What keys and values are encoded by; None: they are bytes as they are written."""

    key: JsonEncoder | None = None
    value: JsonEncoder | None = None


AS_WRITTEN = Shape()


def schemas_named(found: Any) -> dict[str, Any]:
    """What an object with a list of events says of their schemas, beside them."""
    if not isinstance(found, dict) or "events" not in found:
        return {}
    return {name: found[name] for name in SCHEMA_NAMES if name in found}


def parse_events(found: Any, shape: Shape = AS_WRITTEN) -> NewEvent | list[NewEvent]:
    """One event, or many: a list, or an object with a list named `events`. It is JSON by now."""
    if isinstance(found, dict) and found.keys() - SCHEMA_NAMES == {"events"}:
        found = found["events"]
        if not isinstance(found, list):
            raise InputError("INVALID_EVENT", '"events" must be a list of events')
    if isinstance(found, list):
        return [_numbered(each, number, shape) for number, each in enumerate(found)]
    return new_event(found, shape)


def parse_line(line: bytes, shape: Shape = AS_WRITTEN) -> NewEvent:
    return new_event(parse_json(line), shape)


def new_event(found: Any, shape: Shape = AS_WRITTEN) -> NewEvent:
    if not isinstance(found, dict):
        raise InputError("INVALID_EVENT", 'an event is an object, as in {"key": "k", "value": "v"}')
    if unknown := [name for name in found if name not in _MEMBERS]:
        raise InputError(
            "INVALID_EVENT",
            f"an event has no {unknown[0]!r}, only {', '.join(_MEMBERS)}: put your data under "
            '"value", or send it as it is with another content type, as in text/plain',
        )
    if "value" not in found:
        raise InputError("INVALID_EVENT", 'the event has no "value": write null if that is meant')
    return NewEvent(
        encoded(found["value"], "value", shape.value),
        encoded(found.get("key"), "key", shape.key),
        _headers(found.get("headers")),
        whole_number(found.get("partition"), "partition", 0, _MAX_PARTITION),
        whole_number(found.get("timestamp"), "timestamp", 1, _MAX_TIMESTAMP),
    )


def whole_number(value: Any, name: str, least: int, most: int) -> int | None:
    if value is None:
        return None
    if type(value) is not int or not least <= value <= most:
        raise InputError("INVALID_EVENT", f"{name} must be a whole number from {least} to {most}")
    return value


def encoded(value: Any, name: str, encoder: JsonEncoder | None) -> bytes | None:
    """A key or a value of an event, which is JSON."""
    if encoder is None:
        return _bytes(value, name)
    if value is None:
        return None
    try:
        return encoder.encode(value)
    except UnfitError as error:
        where = {} if error.field is None else {"field": error.field}
        raise InputError("INVALID_RECORD", f"{name}: {error}", **where) from None


def _numbered(found: Any, number: int, shape: Shape) -> NewEvent:
    try:
        return new_event(found, shape)
    except InputError as error:
        reason = f"{error.reason}; none of the events was sent"
        raise InputError(error.error, reason, **error.where, event=number) from None


def parse_json(text: bytes) -> Any:
    try:
        return json.loads(text.decode(), parse_constant=_no_constant)
    except UnicodeDecodeError as error:
        raise InputError(
            "INVALID_JSON", f"it is not UTF-8 (byte {error.start})", position=error.start
        ) from None
    except json.JSONDecodeError as error:
        where = {"line": error.lineno, "column": error.colno, "position": error.pos}
        raise InputError("INVALID_JSON", f"it is not JSON ({error.msg})", **where) from None
    except RecursionError:
        raise InputError("INVALID_JSON", "it is nested too deeply to be read") from None
    except ValueError as error:  # Such as a number of too many digits.
        raise InputError("INVALID_JSON", f"it cannot be read: {error}") from None


def _no_constant(name: str) -> NoReturn:
    raise InputError("INVALID_JSON", f"JSON has no {name}: write null or a string")


def _bytes(value: Any, name: str) -> bytes | None:
    if isinstance(value, dict) and value.keys() != {"base64"}:
        return _json_text(value)
    if isinstance(value, (list, int, float)):
        return _json_text(value)
    try:
        return bytes_of(value)
    except UnicodeEncodeError:
        raise InputError("INVALID_EVENT", f"{name} holds half a surrogate pair") from None
    except ValueError as error:
        raise InputError("INVALID_EVENT", f"{name}: {error}") from None


def _json_text(value: Any) -> bytes:
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:  # Half a surrogate pair: as an escape it is JSON.
        return json.dumps(value, separators=(",", ":")).encode()


def _headers(found: Any) -> Headers:
    if found is None:
        return ()
    pairs = list(found.items()) if isinstance(found, dict) else found
    if not isinstance(pairs, (list, tuple)) or not all(_is_pair(pair) for pair in pairs):
        raise InputError(
            "INVALID_EVENT", 'headers are pairs, as in [["source", "web"]], or an object'
        )
    return tuple((name, _bytes(value, f"header {name!r}")) for name, value in pairs)


def _is_pair(pair: Any) -> bool:
    return isinstance(pair, (list, tuple)) and len(pair) == 2 and isinstance(pair[0], str)
