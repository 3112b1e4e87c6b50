"""The forms of a stream, byte for byte, and which of them a client gets."""

import pytest

from kafkaesque.client.vectors import Vector
from kafkaesque.gateway.events.forms import JSON, NDJSON, SSE, Lines, ServerSentEvents, chosen_form
from kafkaesque.gateway.events.reading import Gap, Match
from kafkaesque.records.record import Record
from kafkaesque.types import TopicPartition

PLACE = TopicPartition("ticks", 0)
VECTOR = Vector({PLACE: 12, TopicPartition("ticks", 1): 7}, "ticks")
MATCH = Match(PLACE, Record(11, 5, b"k", b"a\nb\r\xe2\x80\xa8c"))
TOLD = b'{"topic":"ticks","partition":0,"offset":11,"timestamp":5,"key":"k",'
GAP = Gap(PLACE, 3, 10, "expired")
GAP_TOLD = b'{"topic":"ticks","partition":0,"first":3,"last":10,"reason":"expired"}'


def test_server_sent_events_carry_the_vector_with_everything() -> None:
    form = ServerSentEvents(1000)
    assert form.head(VECTOR) == b"retry: 1000\nid: 0:12,1:7\n\n"
    event = form.event(MATCH, VECTOR)
    assert event.startswith(b"id: 0:12,1:7\ndata: " + TOLD)
    # A line end in a value must not be one on the wire.
    assert event.count(b"\n") == 3
    assert b"\r" not in event
    assert form.gap(GAP, VECTOR) == b"event: gap\nid: 0:12,1:7\ndata: " + GAP_TOLD + b"\n\n"
    assert form.silence(VECTOR) == b": nothing new\nid: 0:12,1:7\n\n"
    assert form.problem("A", "b") == b'event: error\ndata: {"error":"A","message":"b"}\n\n'
    assert form.end(VECTOR) == b"event: end\nid: 0:12,1:7\ndata: {}\n\n"


def test_lines_are_json_each() -> None:
    form = Lines()
    assert form.head(VECTOR) == form.end(VECTOR) == b""
    assert form.event(MATCH, VECTOR).startswith(TOLD)
    assert form.event(MATCH, VECTOR).count(b"\n") == 1
    assert form.gap(GAP, VECTOR) == b'{"gap":' + GAP_TOLD + b"}\n"
    assert form.silence(VECTOR) == b"\n"
    assert form.problem("A", "b") == b'{"error":"A","message":"b"}\n'


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        ("", JSON),
        ("*/*", JSON),
        ("text/html", JSON),
        ("text/event-stream", SSE),
        ("Text/Event-Stream; charset=utf-8", SSE),
        ("application/x-ndjson", NDJSON),
        ("application/jsonl", NDJSON),
        ("application/json, text/event-stream;q=0.9", JSON),
        ("application/json;q=0.1, text/event-stream;q=0.9", SSE),
        ("*/*;q=0.1, application/ndjson", NDJSON),
        ("text/event-stream;q=0", JSON),
        ("text/event-stream;q=high", JSON),
    ],
)
def test_accept_chooses_the_form(accept: str, form: str) -> None:
    assert chosen_form(accept) == form
