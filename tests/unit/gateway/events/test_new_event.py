"""Events as clients write them: what becomes of each form, and where a mistake is."""

import json

import pytest

from kafkaesque.gateway.events.new_event import (
    InputError,
    NewEvent,
    parse_events,
    parse_json,
    parse_line,
)


def body(found: object) -> bytes:
    return json.dumps(found).encode()


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        ("text", b"text"),
        ("", b""),
        ("é", "é".encode()),
        (None, None),
        ({"base64": "/wA="}, b"\xff\x00"),
        ({"price": 101, "names": ["é"]}, '{"price":101,"names":["é"]}'.encode()),
        ({"base64": "/wA=", "more": 1}, b'{"base64":"/wA=","more":1}'),
        ([1, 2], b"[1,2]"),
        (1.5, b"1.5"),
        (2**80, str(2**80).encode()),
        (True, b"true"),
        ({"half": "\ud800"}, b'{"half":"\\ud800"}'),
    ],
)
def test_a_value_is_stored_as_text_as_its_bytes_or_as_its_json(
    value: object, stored: bytes | None
) -> None:
    assert parse_events(parse_json(body({"value": value}))) == NewEvent(stored)
    assert parse_events(parse_json(body({"value": "v", "key": value}))) == NewEvent(b"v", stored)


@pytest.mark.parametrize(
    "headers", [[["a", "1"], ["b", None]], {"a": "1", "b": None}], ids=["pairs", "object"]
)
def test_headers_are_pairs_or_an_object(headers: object) -> None:
    found = parse_line(body({"value": "v", "headers": headers}))
    assert found.headers == (("a", b"1"), ("b", None))


def test_pairs_may_repeat_a_name() -> None:
    found = parse_line(body({"value": "v", "headers": [["a", "1"], ["a", {"base64": "/w=="}]]}))
    assert found.headers == (("a", b"1"), ("a", b"\xff"))


def test_partition_and_timestamp_are_taken() -> None:
    found = parse_line(body({"value": "v", "partition": 3, "timestamp": 1700000000000}))
    assert found == NewEvent(b"v", partition=3, timestamp=1700000000000)


def test_many_are_a_list_or_an_object_with_a_list() -> None:
    many = [NewEvent(b"a"), NewEvent(b"b")]
    assert parse_events(parse_json(body([{"value": "a"}, {"value": "b"}]))) == many
    assert parse_events(parse_json(body({"events": [{"value": "a"}, {"value": "b"}]}))) == many
    assert parse_events(parse_json(b"[]")) == []


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({}, 'has no "value"'),
        ({"price": 3}, "no 'price', only .* put your data under \"value\""),
        ("text", "an event is an object"),
        ({"value": {"base64": "?"}}, "value: its base64 cannot be read"),
        ({"value": "\ud800"}, "half a surrogate pair"),
        ({"value": "v", "key": {"base64": "?"}}, "key: its base64"),
        ({"value": "v", "headers": [["a"]]}, "headers are pairs"),
        ({"value": "v", "headers": ""}, "headers are pairs"),
        ({"value": "v", "headers": [[1, "a"]]}, "headers are pairs"),
        ({"value": "v", "headers": {"a": {"base64": 1}}}, "header 'a': "),
        ({"value": "v", "partition": -1}, "partition must be a whole number"),
        ({"value": "v", "partition": True}, "partition must be a whole number"),
        ({"value": "v", "partition": "0"}, "partition must be a whole number"),
        ({"value": "v", "timestamp": 0}, "timestamp must be a whole number"),
        ({"value": "v", "timestamp": 2**63}, "timestamp must be a whole number"),
        ({"events": 1}, '"events" must be a list'),
    ],
)
def test_what_is_no_event_is_refused_with_the_reason(wrong: object, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        parse_events(parse_json(body(wrong)))


def test_a_mistake_in_json_has_its_line_and_column() -> None:
    with pytest.raises(InputError, match="line 2, column 10: it is not JSON") as caught:
        parse_events(parse_json(b'{\n"value": oops}'))
    assert caught.value.error == "INVALID_JSON"
    assert caught.value.where == {"line": 2, "column": 10, "position": 11}


def test_a_mistake_in_a_list_has_its_number() -> None:
    with pytest.raises(InputError, match=r"event 1: .* none of the events was sent") as caught:
        parse_events(parse_json(body([{"value": "a"}, {"valu": "b"}])))
    assert caught.value.where == {"event": 1}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"", "it is not JSON"),
        (b'{"value": "\xff"}', "it is not UTF-8"),
        (b'{"value": NaN}', "JSON has no NaN"),
        (b'{"value": ' + b"[" * 100_000, "nested too deeply"),
        (b'{"value": ' + b"1" * 10_000 + b"}", "it cannot be read"),
    ],
)
def test_what_is_not_json_is_refused(text: bytes, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        parse_events(parse_json(text))
