"""Events as JSON, and back."""

import base64

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkaesque.client.event_json import bytes_of, event_json, event_of, json_of
from kafkaesque.event import Event
from kafkaesque.records.record import Record


def test_text_is_text_and_other_bytes_are_base64() -> None:
    record = Record(12, 1700000000000, b"AMZN", b"\xff\x00", (("source", b"web"), ("x", None)))
    assert orjson.loads(event_json("ticks", 3, record)) == {
        "topic": "ticks",
        "partition": 3,
        "offset": 12,
        "timestamp": 1700000000000,
        "key": "AMZN",
        "value": {"base64": "/wA="},
        "headers": [["source", "web"], ["x", None]],
    }


def test_a_value_that_is_json_stays_the_text_that_it_is() -> None:
    assert json_of(b'{"price":101}') == '{"price":101}'
    assert json_of(b"null") == "null"
    assert json_of(None) is None


def test_a_headers_name_that_is_not_utf8_is_still_json() -> None:
    record = Record(0, 0, None, None, (("\udcff", b""),))
    assert orjson.loads(event_json("t", 0, record))["headers"] == [["\ufffd", ""]]


@given(key=st.none() | st.binary(), value=st.none() | st.binary(), header=st.none() | st.binary())
def test_an_event_comes_back_as_it_was(
    key: bytes | None, value: bytes | None, header: bytes | None
) -> None:
    record = Record(1, 2, key, value, (("h", header), ("h", header)))
    there = event_of(orjson.loads(event_json("t", 4, record)))
    assert there == Event("t", 4, 1, 2, key, value, [("h", header), ("h", header)])


@pytest.mark.parametrize(
    "wrong", [1, 1.5, True, [], {}, {"base64": 1}, {"base64": "?"}, {"base64": "", "more": 1}]
)
def test_what_stands_for_no_bytes_is_refused(wrong: object) -> None:
    with pytest.raises(ValueError):
        bytes_of(wrong)


def test_base64_stands_for_its_bytes() -> None:
    assert bytes_of({"base64": base64.b64encode(b"\x80").decode()}) == b"\x80"
    assert bytes_of("é") == "é".encode()
