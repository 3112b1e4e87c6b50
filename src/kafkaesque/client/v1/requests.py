"""What a client of kafkaesque.v1 asks for: JSON, one object per message.

    {"type": "subscribe", "id": 1, "topic": "ticks",
     "key": K | "keys": [K, …] | "prefix": K,      at most one of them
     "headers": {"source": K}, "where": "value.price > 100",
     "from": "latest" | "earliest" | timestamp in ms | {"0": 12, "1": 7},
     "policy": "drop-oldest" | "conflate" | "pause" | "disconnect", "buffer": 1000,
     "encoding": "binary" | "json", "decode": "none" | "json"}
    {"type": "unsubscribe", "id": 1}   {"type": "position", "id": 1}   {"type": "ping"}
    {"type": "token", "token": "…"}

K is a string, which stands for its UTF-8 bytes, or {"base64": "…"}. Only type, id and topic are
needed. A field that is not in this list is refused: a filter that is misspelt must not select all.
Pure. Above: gateway/fanout/, subscriber.py. Below: event_json.py.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, Literal, TypeAlias

import orjson

from kafkaesque.client.event_json import bytes_of, json_of

SUBPROTOCOL: Final = "kafkaesque.v1"
"""The name that a WebSocket client asks for."""

Start: TypeAlias = Literal["latest", "earliest"] | int | dict[int, int]
"""One end, a timestamp in ms, or offsets to go on with; partitions without one are read whole."""

_MOST_ID = 0xFFFF_FFFF
_MOST_PARTITION = 0x7FFF_FFFF
_MOST_OFFSET = 0x7FFF_FFFF_FFFF_FFFF


class Policy(StrEnum):
    """What becomes of messages that a client takes too slowly."""

    DROP_OLDEST = "drop-oldest"
    CONFLATE = "conflate"
    PAUSE = "pause"
    DISCONNECT = "disconnect"


class Encoding(StrEnum):
    """How records come: as event frames, or as JSON for those who cannot read bytes."""

    BINARY = "binary"
    JSON = "json"


class Decode(StrEnum):
    """Whether keys and values come as their bytes are, or as JSON, by their schemas."""

    NONE = "none"
    JSON = "json"


class V1Error(ValueError):
    """A request that is not understood; `id` is that of its subscription, if it could be read."""

    def __init__(self, message: str, id: int | None = None) -> None:  # noqa: A002
        super().__init__(message)
        self.id = id


@dataclass(frozen=True, slots=True)
class Subscribe:
    """`keys` and `prefix` are None where any key will do; one key is a tuple of one."""

    id: int
    topic: str
    keys: tuple[bytes, ...] | None = None
    prefix: bytes | None = None
    headers: tuple[tuple[str, bytes], ...] = ()
    where: str | None = None
    start: Start = "latest"
    policy: Policy = Policy.DROP_OLDEST
    buffer: int | None = None
    encoding: Encoding = Encoding.BINARY
    decode: Decode = Decode.NONE


@dataclass(frozen=True, slots=True)
class Unsubscribe:
    id: int


@dataclass(frozen=True, slots=True)
class Position:
    id: int


@dataclass(frozen=True, slots=True)
class Ping:
    pass


@dataclass(frozen=True, slots=True)
class Token:
    token: str


Request: TypeAlias = Subscribe | Unsubscribe | Position | Ping | Token


def parse_request(data: str | bytes) -> Request:
    try:
        fields = orjson.loads(data)
    except ValueError as error:
        raise V1Error(f"a request is a JSON object, and this is no JSON: {error}") from None
    if not isinstance(fields, dict):
        raise V1Error('a request is a JSON object, as in {"type":"ping"}')
    kind = fields.pop("type", None)
    parse = _PARSERS.get(kind) if isinstance(kind, str) else None
    if parse is None:
        raise V1Error(f'"type" is one of {", ".join(_PARSERS)}, not {_shown(kind)}')
    id = fields.get("id") if _is_whole(fields.get("id"), _MOST_ID) else None  # noqa: A001
    try:
        request = parse(fields)
    except ValueError as error:
        raise V1Error(str(error), id) from None
    if fields:
        unknown = ", ".join(map(_shown, fields))
        raise V1Error(f"{kind} has no field {unknown}: see docs/reference/fanout.md", id)
    return request


def request_json(request: Request) -> str:
    """The way back: what a client sends."""
    return orjson.dumps(_fields_of(request)).decode()


def _fields_of(request: Request) -> dict[str, Any]:
    match request:
        case Subscribe():
            return _fields_of_subscribe(request)
        case Unsubscribe(id=number):
            return {"type": "unsubscribe", "id": number}
        case Position(id=number):
            return {"type": "position", "id": number}
        case Token(token=token):
            return {"type": "token", "token": token}
        case Ping():
            return {"type": "ping"}


def _fields_of_subscribe(request: Subscribe) -> dict[str, Any]:
    fields: dict[str, Any] = {"type": "subscribe", "id": request.id, "topic": request.topic}
    if request.keys is not None:
        fields["keys"] = [json_of(key) for key in request.keys]
    if request.prefix is not None:
        fields["prefix"] = json_of(request.prefix)
    if request.headers:
        fields["headers"] = {name: json_of(value) for name, value in request.headers}
    if request.where is not None:
        fields["where"] = request.where
    start = request.start
    fields["from"] = (
        {str(partition): offset for partition, offset in start.items()}
        if isinstance(start, dict)
        else start
    )
    fields["policy"] = request.policy.value
    if request.buffer is not None:
        fields["buffer"] = request.buffer
    fields["encoding"] = request.encoding.value
    if request.decode is not Decode.NONE:
        fields["decode"] = request.decode.value
    return fields


def _parse_subscribe(fields: dict[str, Any]) -> Subscribe:
    if len(fields.keys() & {"key", "keys", "prefix"}) > 1:
        raise ValueError('give one of "key", "keys" and "prefix"; for more, subscribe again')
    return Subscribe(
        _id(fields),
        _text(fields, "topic"),
        _keys(fields),
        _key(fields.pop("prefix"), "prefix") if "prefix" in fields else None,
        _headers(fields.pop("headers", {})),
        _text(fields, "where") if "where" in fields else None,
        _start(fields.pop("from", "latest")),
        Policy(_choice(fields, "policy", list(Policy))),
        _buffer(fields),
        Encoding(_choice(fields, "encoding", list(Encoding))),
        Decode(_choice(fields, "decode", list(Decode))),
    )


def _id(fields: dict[str, Any]) -> int:
    value = fields.pop("id", None)
    if not _is_whole(value, _MOST_ID):
        raise ValueError(f'"id" is a whole number from 0 to {_MOST_ID}, not {_shown(value)}')
    return int(value)


def _text(fields: dict[str, Any], name: str) -> str:
    value = fields.pop(name, None)
    if not isinstance(value, str) or not value:
        raise ValueError(f'"{name}" is a text that is not empty, not {_shown(value)}')
    return value


def _keys(fields: dict[str, Any]) -> tuple[bytes, ...] | None:
    if "key" in fields:
        return (_key(fields.pop("key"), "key"),)
    if "keys" not in fields:
        return None
    keys = fields.pop("keys")
    if not isinstance(keys, list) or not keys:
        raise ValueError('"keys" is a list of one key or more; leave it out for all keys')
    return tuple(dict.fromkeys(_key(key, "keys") for key in keys))


def _key(value: Any, name: str) -> bytes:
    try:
        data = bytes_of(value)
    except ValueError:
        data = None
    if data is None:
        raise ValueError(f'in "{name}", write a string or {{"base64":"…"}}, not {_shown(value)}')
    return data


def _headers(value: Any) -> tuple[tuple[str, bytes], ...]:
    if not isinstance(value, dict):
        raise ValueError(f'"headers" is an object, as in {{"source":"web"}}, not {_shown(value)}')
    return tuple((name, _key(data, "headers")) for name, data in value.items())


def _start(value: Any) -> Start:
    if value == "latest" or value == "earliest":
        return "latest" if value == "latest" else "earliest"
    if _is_whole(value, _MOST_OFFSET):
        return int(value)
    if isinstance(value, dict):
        return {_partition(name): _offset(offset) for name, offset in value.items()}
    raise ValueError(
        '"from" is "latest", "earliest", a timestamp in ms or the offsets to go on with, '
        f'as in {{"0":12}}, not {_shown(value)}'
    )


def _partition(name: str) -> int:
    if name.isascii() and name.isdigit() and len(name) <= 10 and int(name) <= _MOST_PARTITION:
        return int(name)
    raise ValueError(f'"from" has offsets by partition, as in {{"0":12}}, not by {_shown(name)}')


def _offset(value: Any) -> int:
    if not _is_whole(value, _MOST_OFFSET):
        raise ValueError(f'an offset of "from" is a whole number, 0 or more, not {_shown(value)}')
    return int(value)


def _choice(fields: dict[str, Any], name: str, choices: list[Any]) -> str:
    value = fields.pop(name, choices[0])
    if value not in choices:
        raise ValueError(f'"{name}" is one of {", ".join(choices)}, not {_shown(value)}')
    return str(value)


def _buffer(fields: dict[str, Any]) -> int | None:
    value = fields.pop("buffer", None)
    if value is not None and (not _is_whole(value, _MOST_ID) or value == 0):
        raise ValueError(f'"buffer" is a number of messages, 1 or more, not {_shown(value)}')
    return value  # type: ignore[no-any-return]


def _is_whole(value: Any, most: int) -> bool:
    return type(value) is int and 0 <= value <= most


def _shown(value: Any) -> str:
    text = orjson.dumps(value).decode()
    return text if len(text) <= 60 else f"{text[:60]}…"


_PARSERS: Final[dict[str, Callable[[dict[str, Any]], Request]]] = {
    "subscribe": _parse_subscribe,
    "unsubscribe": lambda fields: Unsubscribe(_id(fields)),
    "position": lambda fields: Position(_id(fields)),
    "ping": lambda _fields: Ping(),
    "token": lambda fields: Token(_text(fields, "token")),
}
