"""Records as text: JSON, one object each, or by a format of record_format.py.

In JSON a key, a value or a header that is UTF-8 is a string; other bytes are an object,
`{"base64": "…"}`, so that nothing is lost and nothing can be mistaken; what is not there is null.
A format prints bytes as they are, and nothing for what is not there.

Of a decoded record (decoding.py), JSON has what key and value say in their place, and the ids of
their schemas; a format prints what they say as JSON, a text without quotes. `%v{hex}` and
`%v{base64}` are the bytes as they lie in the topic, in any case.
Pure. Above: consume.py, produce.py.
"""

import base64
import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from itertools import count
from typing import TypeAlias

import orjson

from kafkaesque.cli.moments import moment_text
from kafkaesque.cli.topic.decoding import DecodedRecord
from kafkaesque.cli.topic.record_format import LENGTHS, TEXTS, Field, Literal, Piece, strftime_of
from kafkaesque.client.decoder import NOT_DECODED
from kafkaesque.client.record import Record

Printer: TypeAlias = Callable[[Record], bytes]


def json_printer(*, with_topic: bool, pretty: bool = True) -> Printer:
    def print_json(record: Record) -> bytes:
        fields: dict[str, object] = {"topic": record.topic} if with_topic else {}
        fields |= {"key": _json_text(record.key), "message": _json_text(record.value)}
        if isinstance(record, DecodedRecord):
            fields |= _said(record)
        if record.headers:
            fields["headers"] = [
                {"key": name, "value": _json_text(value)} for name, value in record.headers
            ]
        fields |= {
            "partition": record.partition,
            "offset": record.offset,
            "timestamp": moment_text(record.timestamp_ms),
        }
        text = json.dumps(fields, indent=1 if pretty else None, ensure_ascii=False)
        return text.encode() + b"\n"

    return print_json


def format_printer(pieces: Sequence[Piece]) -> Printer:
    parts = [_part(piece) for piece in pieces]
    return lambda record: b"".join(part(record) for part in parts)


def utc(timestamp_ms: int) -> datetime:
    return datetime.fromtimestamp(timestamp_ms / 1000, UTC)


def _part(piece: Piece) -> Printer:
    if isinstance(piece, Literal):
        text = piece.text
        return lambda record: text
    if piece.letter in TEXTS:
        return _text_part(piece)
    if piece.letter in LENGTHS:
        field = LENGTHS[piece.letter]
        return lambda record: b"%d" % len(_text(record, field) or b"")
    return _OTHERS[piece.letter](piece)


def _text_part(field: Field) -> Printer:
    if field.modifier is None:
        return lambda record: _text(record, field.letter) or b""
    encode = _ENCODERS[field.modifier]
    return lambda record: encode(_bytes(record, field.letter) or b"")


def _time_part(field: Field) -> Printer:
    form = strftime_of(field.modifier or "")
    if form is None:
        return lambda record: b"%d" % _timestamp(record)
    return lambda record: utc(_timestamp(record)).strftime(form).encode()


def _headers_part(field: Field) -> Printer:
    """`name=value,…` as kcat's, or each by the format in the braces."""
    if field.modifier is None:
        return lambda record: b",".join(
            name.encode() + b"=" + (value or b"") for name, value in record.headers
        )
    each = format_printer(field.inner)
    return lambda record: b"".join(
        each(Record("", name.encode(), value)) for name, value in record.headers
    )


def _number_part(_: Field) -> Printer:
    numbers = count(1)
    return lambda record: b"%d" % next(numbers)


_ENCODERS: dict[str, Callable[[bytes], bytes]] = {
    "hex": lambda data: data.hex().encode(),
    "base64": base64.b64encode,
}
_OTHERS: dict[str, Callable[[Field], Printer]] = {
    "p": lambda _: lambda record: b"%d" % record.partition,
    "o": lambda _: lambda record: b"%d" % record.offset,
    "H": lambda _: lambda record: b"%d" % len(record.headers),
    "d": _time_part,
    "h": _headers_part,
    "i": _number_part,
}


def _said(record: DecodedRecord) -> dict[str, object]:
    fields: dict[str, object] = {}
    if record.key_said is not NOT_DECODED:
        fields |= {"key": record.key_said, "key_schema_id": record.key_schema_id}
    if record.value_said is not NOT_DECODED:
        fields |= {"message": record.value_said, "value_schema_id": record.value_schema_id}
    return fields


def _text(record: Record, letter: str) -> bytes | None:
    if isinstance(record, DecodedRecord) and letter in "kv":
        said = record.key_said if letter == "k" else record.value_said
        if said is not NOT_DECODED:
            return said.encode() if isinstance(said, str) else orjson.dumps(said)
    return _bytes(record, letter)


def _bytes(record: Record, letter: str) -> bytes | None:
    if letter == "t":
        return record.topic.encode()
    return record.key if letter == "k" else record.value


def _timestamp(record: Record) -> int:
    return -1 if record.timestamp_ms is None else record.timestamp_ms


def _json_text(data: bytes | None) -> object:
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}
