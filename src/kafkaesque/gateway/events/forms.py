"""The forms of a stream: what stands on the wire for an event, a gap, silence and a failure.

    Server-Sent Events                     NDJSON
    retry: 1000                            {"topic":"ticks","partition":0,"offset":11,…}
    id: 0:11,1:7                           {"gap":{"topic":"ticks",…}}
                                           {"error":"…","message":"…"}
    id: 0:12,1:7
    data: {"topic":"ticks",…}

    event: gap
    id: 0:90,1:7
    data: {"topic":"ticks","partition":0,"first":12,"last":89,"reason":"expired"}

An `id` says where to go on after what it stands with. One without data comes first, and again when
nothing has come for a while: a browser keeps it and tells its page nothing. A stream that has come
to its end, by its limit or `until=end`, says `event: end`. Pure.
Above: streams.py, read.py. Below: client/event_json.py, client/vectors.py.

A form is told how the fields of an event are made: as they are, or decoded (../schemas.py).
"""

from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

import orjson

from kafkaesque.client.event_json import event_fields
from kafkaesque.client.vectors import Vector
from kafkaesque.gateway.events.reading import Gap, Match
from kafkaesque.records.record import Record

SSE = "text/event-stream"
NDJSON = "application/x-ndjson"
JSON = "application/json"

Fields: TypeAlias = Callable[[str, int, Record], dict[str, Any]]
"""(topic, partition, record) -> what is told of an event."""


class Form(Protocol):
    media_type: str
    begins_in_trouble: bool
    """Does it begin even if it cannot go on, so that its reader comes back?"""

    def head(self, vector: Vector) -> bytes: ...

    def event(self, match: Match, vector: Vector) -> bytes: ...

    def gap(self, gap: Gap, vector: Vector) -> bytes: ...

    def silence(self, vector: Vector) -> bytes: ...

    def problem(self, error: str, message: str) -> bytes: ...

    def end(self, vector: Vector) -> bytes: ...


class ServerSentEvents:
    media_type = SSE
    begins_in_trouble = True

    def __init__(self, retry_ms: int, fields: Fields = event_fields) -> None:
        self._retry_ms = retry_ms
        self._fields = fields

    def head(self, vector: Vector) -> bytes:
        return f"retry: {self._retry_ms}\nid: {vector}\n\n".encode()

    def event(self, match: Match, vector: Vector) -> bytes:
        return b"id: %b\ndata: %b\n\n" % (
            str(vector).encode(),
            orjson.dumps(self._fields(*match.place, match.record)),
        )

    def gap(self, gap: Gap, vector: Vector) -> bytes:
        return b"event: gap\nid: %b\ndata: %b\n\n" % (
            str(vector).encode(),
            orjson.dumps(gap_fields(gap)),
        )

    def silence(self, vector: Vector) -> bytes:
        return f": nothing new\nid: {vector}\n\n".encode()

    def problem(self, error: str, message: str) -> bytes:
        return b"event: error\ndata: %b\n\n" % orjson.dumps({"error": error, "message": message})

    def end(self, vector: Vector) -> bytes:
        return f"event: end\nid: {vector}\ndata: {{}}\n\n".encode()


class Lines:
    """NDJSON has no comments: silence is an empty line, which its readers skip."""

    media_type = NDJSON
    begins_in_trouble = False

    def __init__(self, fields: Fields = event_fields) -> None:
        self._fields = fields

    def head(self, vector: Vector) -> bytes:
        return b""

    def event(self, match: Match, vector: Vector) -> bytes:
        return orjson.dumps(self._fields(*match.place, match.record)) + b"\n"

    def gap(self, gap: Gap, vector: Vector) -> bytes:
        return orjson.dumps({"gap": gap_fields(gap)}) + b"\n"

    def silence(self, vector: Vector) -> bytes:
        return b"\n"

    def problem(self, error: str, message: str) -> bytes:
        return orjson.dumps({"error": error, "message": message}) + b"\n"

    def end(self, vector: Vector) -> bytes:
        return b""


def gap_fields(gap: Gap) -> dict[str, Any]:
    return {
        "topic": gap.place.topic,
        "partition": gap.place.partition,
        "first": gap.first,
        "last": gap.last,
        "reason": gap.reason,
    }


def chosen_form(accept: str) -> str:
    """The media type that a header Accept prefers; pages, if it has nothing to say."""
    best, best_weight = JSON, 0.0
    for part in accept.split(","):
        name, *parameters = (each.strip() for each in part.split(";"))
        found = _NAMES.get(name.lower())
        weight = _weight(parameters)
        if found is not None and weight > best_weight:
            best, best_weight = found, weight
    return best


_NAMES = {
    SSE: SSE,
    NDJSON: NDJSON,
    "application/ndjson": NDJSON,
    "application/jsonl": NDJSON,
    JSON: JSON,
    "*/*": JSON,
    "application/*": JSON,
}


def _weight(parameters: list[str]) -> float:
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "q":
            try:
                return float(value)
            except ValueError:
                return 0.0
    return 1.0
