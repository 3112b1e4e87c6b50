"""One record in each of the forms that go to clients."""

import orjson

from kafkaesque.client.v1 import encode_event
from kafkaesque.gateway.fanout import encodings
from kafkaesque.records.record import Record

RECORD = Record(12, 34, b"dave", b"Hey, Dave", (("source", b"web"),))
FIELDS = {
    "topic": "incoming",
    "partition": 1,
    "offset": 12,
    "timestamp": 34,
    "key": "dave",
    "value": "Hey, Dave",
    "headers": [["source", "web"]],
}


def test_the_sample_has_two_binary_frames() -> None:
    assert encodings.sample(0, "t", 0, RECORD) == b"\x82\x04dave\x82\x09Hey, Dave"


def test_what_is_null_is_an_empty_frame_of_the_sample() -> None:
    assert encodings.sample(0, "t", 0, Record(0, 0, None, None)) == b"\x82\x00\x82\x00"


def test_v1_is_one_frame_over_websocket_and_over_tcp() -> None:
    event = encode_event(7, "incoming", 1, RECORD)
    assert encodings.v1_websocket(7, "incoming", 1, RECORD) == bytes((0x82, len(event))) + event
    assert encodings.v1_tcp(7, "incoming", 1, RECORD) == bytes((0, 0, 0, len(event))) + event


def test_v1_as_json_names_its_subscription() -> None:
    fields = {"type": "event", "id": 7, **FIELDS}
    over_websocket = encodings.v1_json(7, "incoming", 1, RECORD)
    assert over_websocket[:2] == b"\x81\x7e"
    assert orjson.loads(over_websocket[4:]) == fields
    assert orjson.loads(encodings.v1_tcp_json(7, "incoming", 1, RECORD)[4:]) == fields


def test_sse_is_one_line_of_data_whatever_the_value_holds() -> None:
    message = encodings.sse("incoming", 1, RECORD._replace(value=b"a\r\nb\n\ndata: c"))
    assert message.startswith(b"data: {")
    assert message.endswith(b"}\n\n")
    assert len(message.splitlines()) == 2
    assert orjson.loads(message[6:])["value"] == "a\r\nb\n\ndata: c"
