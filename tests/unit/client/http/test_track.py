"""A reader's track through a stream: what comes of each message."""

import json
from typing import Any

import pytest
from httpx_sse import ServerSentEvent

from kafkaesque.client.http.track import Away, End, Gap, Track
from kafkaesque.client.serde import DecodeEventError, serde
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.event import Event
from kafkaesque.types import TopicPartition

EVENT: dict[str, Any] = {
    "topic": "t",
    "partition": 0,
    "offset": 11,
    "timestamp": 5,
    "key": "k",
    "value": '{"a":1}',
    "headers": [["h", None]],
}


def track() -> Track:
    return Track(("t",), serde("str"), serde("json"))


def message(data: object, vector: str = "0:12", event: str = "message") -> ServerSentEvent:
    return ServerSentEvent(event=event, data=json.dumps(data), id=vector)


def test_an_event_moves_the_track() -> None:
    it = track()
    assert it.position == {}
    assert it.take(message(EVENT)) == Event("t", 0, 11, 5, "k", {"a": 1}, [("h", None)])
    assert (it.vector, it.position, it.count) == ("0:12", {TopicPartition("t", 0): 12}, 1)


def test_an_id_alone_moves_it_too() -> None:
    it = track()
    assert it.take(ServerSentEvent(data="", id="0:40")) is None
    assert it.vector == "0:40"


def test_gaps_ends_and_absences_are_told_apart() -> None:
    gap = {"topic": "t", "partition": 0, "first": 3, "last": 10, "reason": "expired"}
    away = {"error": "BROKER_NOT_AVAILABLE", "message": "away"}
    assert track().take(message(gap, event="gap")) == Gap("t", 0, 3, 10, "expired")
    assert isinstance(track().take(message({}, event="end")), End)
    assert isinstance(track().take(message(away, event="error")), Away)
    assert track().take(message({}, event="something new")) is None


def test_a_bad_end_is_raised() -> None:
    gone = {"error": "UNKNOWN_TOPIC_OR_PARTITION", "message": "gone"}
    with pytest.raises(KafkaError, match="gone") as caught:
        track().take(message(gone, event="error"))
    assert caught.value.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_what_cannot_be_decoded_keeps_its_bytes() -> None:
    found = track().take(message({**EVENT, "value": "not json"}))
    assert isinstance(found, DecodeEventError)
    assert (found.part, found.event.value) == ("value", b"not json")
    found = track().take(message({**EVENT, "key": {"base64": "/w=="}}))
    assert isinstance(found, DecodeEventError)
    assert (found.part, found.event.key) == ("key", b"\xff")
