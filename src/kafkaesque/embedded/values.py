"""Python values as record bytes, and back.

    str      UTF-8, as any Kafka client would write it
    bytes    as they are, with the header content-type: application/octet-stream
    None     null: a tombstone
    others   JSON, with the header content-type: application/json

So what was put comes back as it was, but for what JSON changes: a tuple comes back as a list.
A record of another client has no such header: it is text where it is UTF-8, else bytes.
A key is bytes for every client alike, so that its partition is: a str is UTF-8, others are JSON.
"""

import json
from typing import Any, TypeAlias

from kafkaesque.records.record import Headers

Key: TypeAlias = Any
"""A str, bytes, None, or what JSON can write."""

CONTENT_TYPE = "content-type"
_JSON = b"application/json"
_BYTES = b"application/octet-stream"


def encode_value(value: Any) -> tuple[bytes | None, Headers]:
    if value is None:
        return None, ()
    if isinstance(value, str):
        return _utf_8(value, value, "a value"), ()
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value), ((CONTENT_TYPE, _BYTES),)
    return _json(value, "a value"), ((CONTENT_TYPE, _JSON),)


def decode_value(value: bytes | None, headers: Headers) -> Any:
    if value is None:
        return None
    kind = dict(headers).get(CONTENT_TYPE)
    if kind == _BYTES:
        return value
    text = _text(value)
    if kind == _JSON and isinstance(text, str):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return text  # Someone else's claim: the text is all there is.
    return text


def encode_key(key: Key) -> bytes | None:
    if key is None:
        return None
    if isinstance(key, str):
        return _utf_8(key, key, "a key")
    if isinstance(key, bytes | bytearray | memoryview):
        return bytes(key)
    return _json(key, "a key")


def decode_key(key: bytes | None) -> str | bytes | None:
    return None if key is None else _text(key)


def _json(value: Any, what: str) -> bytes:
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise _refused(value, what, error) from None
    return _utf_8(text, value, what)


def _utf_8(text: str, value: Any, what: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise _refused(value, what, error) from None


def _refused(value: Any, what: str, error: Exception) -> TypeError:
    # It is not shown: it may be too large, too deep or have no repr.
    kind = type(value).__name__
    return TypeError(f"{what} is str, bytes, None or what JSON can write, not this {kind}: {error}")


def _text(data: bytes) -> str | bytes:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data
