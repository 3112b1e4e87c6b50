"""Records as clients get them that asked for decode=json, in every form; and who needs schemas."""

import json
from typing import Any

import pytest

from kafkaesque.client import v1
from kafkaesque.client.decoder import NOT_DECODED
from kafkaesque.client.filters import parse
from kafkaesque.client.registry import Schema
from kafkaesque.client.schemas import frame
from kafkaesque.client.v1 import Decode, Policy, Subscribe, V1Error, decode_event
from kafkaesque.gateway.fanout import encodings
from kafkaesque.gateway.fanout.decoded_encodings import DecodedEncodings
from kafkaesque.gateway.fanout.http_head import BadRequestError, parse_head
from kafkaesque.gateway.fanout.sse_client import decode_of
from kafkaesque.gateway.fanout.stats import Stats
from kafkaesque.gateway.fanout.stream import Stream
from kafkaesque.gateway.fanout.subscription import Subscription
from kafkaesque.gateway.fanout.wants import EVERYTHING, Wants
from kafkaesque.gateway.schemas import Schemas
from kafkaesque.records.record import Record

SAID = frame(7, b"\x06abc")
PLAIN = Record(1, 2, b"k", b'{"a": 1}')
FRAMED = Record(1, 2, SAID, SAID)


class Registry:
    def schema(self, id: int, *, subject: str | None = None, format: str | None = None) -> Schema:  # noqa: A002
        return Schema('"string"')


@pytest.fixture
def decoding() -> DecodedEncodings:
    registry: Any = Registry()
    schemas = Schemas(registry, Stats())
    schemas.decoder.learn({7})
    return DecodedEncodings(schemas)


def test_bytes_have_json_text(decoding: DecodedEncodings) -> None:
    assert decoding.sample(0, "t", 0, FRAMED) == b'\x82\x05"abc"\x82\x05"abc"'
    _, event = decode_event(decoding.v1_tcp(1, "t", 0, FRAMED)[4:])
    assert (event.key, event.value) == (b'"abc"', b'"abc"')
    _, event = decode_event(decoding.v1_websocket(1, "t", 0, FRAMED)[2:])
    assert event.value == b'"abc"'


def test_json_has_the_value_itself_and_the_id_of_its_schema(decoding: DecodedEncodings) -> None:
    event = json.loads(decoding.v1_tcp_json(5, "t", 0, FRAMED)[4:])
    assert (event["type"], event["id"], event["value"], event["key"]) == ("event", 5, "abc", "abc")
    assert (event["value_schema_id"], event["key_schema_id"]) == (7, 7)
    assert json.loads(decoding.sse(0, "t", 0, FRAMED)[6:])["value"] == "abc"
    assert decoding.v1_json(5, "t", 0, FRAMED).endswith(decoding.v1_tcp_json(5, "t", 0, FRAMED)[4:])


def test_what_is_not_decoded_is_as_it_is_without(decoding: DecodedEncodings) -> None:
    for record in (PLAIN, PLAIN._replace(key=None, value=None), Record(1, 2, b"", frame(9, b"x"))):
        for plain in (encodings.sample, encodings.v1_websocket, encodings.v1_tcp):
            assert decoding.like(plain)(3, "t", 1, record) == plain(3, "t", 1, record)
        for plain in (encodings.v1_json, encodings.v1_tcp_json):
            assert decoding.like(plain)(3, "t", 1, record) == plain(3, "t", 1, record)
        assert decoding.sse(0, "t", 1, record) == encodings.sse("t", 1, record)


def test_a_request_may_ask_for_decoding() -> None:
    asked = Subscribe(1, "t", decode=Decode.JSON)
    assert v1.parse_request(v1.request_json(asked)) == asked
    # Servers that do not know the field are not told of it in vain.
    assert "decode" not in json.loads(v1.request_json(Subscribe(1, "t")))
    with pytest.raises(V1Error, match="none, json"):
        v1.parse_request('{"type":"subscribe","id":1,"topic":"t","decode":"yaml"}')


@pytest.mark.parametrize(
    ("query", "found"),
    [("", Decode.NONE), ("?decode=json", Decode.JSON), ("?decode=none", Decode.NONE)],
)
def test_an_address_may_ask_for_decoding(query: str, found: Decode) -> None:
    assert decode_of(parse_head(f"GET /ws{query} HTTP/1.1\r\nHost: a".encode())) is found


@pytest.mark.parametrize("query", ["decode=", "decode=avro", "decode=json&decode=json"])
def test_an_address_that_asks_for_something_else_is_refused(query: str) -> None:
    with pytest.raises(BadRequestError):
        decode_of(parse_head(f"GET /ws?{query} HTTP/1.1\r\nHost: a".encode()))


class Documents:
    def document(self, data: bytes) -> Any:
        return NOT_DECODED


def test_a_stream_knows_whether_anybody_needs_schemas() -> None:
    client: Any = None
    where = Wants(predicate=parse("value.price > 1"))
    elsewhere = Wants(predicate=parse("offset > 1"))
    for documents, factor in ((Documents(), 1), (None, 0)):
        stream = Stream("t", 1, documents)
        stream.begin(0, 0)
        made = [
            Subscription(number, client, stream, wants, encodings.sample, Policy.PAUSE, 1, decodes)
            for number, (wants, decodes) in enumerate(
                [(where, False), (EVERYTHING, True), (elsewhere, False), (EVERYTHING, False)]
            )
        ]
        for each in made:
            stream.add(each, {0: 0}, {})
        assert (stream.reading_values, stream.reading_keys) == (2 * factor, factor)
        for each in made:
            stream.remove(each)
        assert (stream.reading_values, stream.reading_keys) == (0, 0)
