"""Requests of kafkaesque.v1: what is understood, and what is refused with which words."""

import pytest

from kafkaesque.client.v1 import (
    Encoding,
    Ping,
    Policy,
    Position,
    Request,
    Subscribe,
    Token,
    Unsubscribe,
    V1Error,
    parse_request,
    request_json,
)


def test_a_subscription_needs_an_id_and_a_topic_only() -> None:
    request = parse_request('{"type":"subscribe","id":1,"topic":"ticks"}')
    assert request == Subscribe(1, "ticks")
    assert isinstance(request, Subscribe)
    assert request.start == "latest"
    assert request.policy is Policy.DROP_OLDEST
    assert request.encoding is Encoding.BINARY


def test_a_subscription_may_say_everything() -> None:
    text = (
        '{"type":"subscribe","id":4294967295,"topic":"ticks","keys":["AMZN",{"base64":"/w=="}],'
        '"headers":{"source":"web"},"where":"value.price > 100","from":{"0":12,"11":7},'
        '"policy":"pause","buffer":10,"encoding":"json"}'
    )
    assert parse_request(text) == Subscribe(
        4294967295,
        "ticks",
        keys=(b"AMZN", b"\xff"),
        headers=(("source", b"web"),),
        where="value.price > 100",
        start={0: 12, 11: 7},
        policy=Policy.PAUSE,
        buffer=10,
        encoding=Encoding.JSON,
    )


def test_one_key_is_a_tuple_of_one_and_no_key_is_none() -> None:
    def keys(more: str) -> tuple[bytes, ...] | None:
        request = parse_request(f'{{"type":"subscribe","id":0,"topic":"t"{more}}}')
        assert isinstance(request, Subscribe)
        return request.keys

    assert keys(',"key":"K"') == (b"K",)
    assert keys(',"key":""') == (b"",)
    assert keys(',"keys":["K","K","L"]') == (b"K", b"L")
    assert keys("") is None


@pytest.mark.parametrize(
    ("text", "start"),
    [('"earliest"', "earliest"), ("1700000000000", 1700000000000), ("{}", {})],
)
def test_a_subscription_begins_where_it_says(text: str, start: object) -> None:
    request = parse_request(f'{{"type":"subscribe","id":0,"topic":"t","from":{text}}}')
    assert isinstance(request, Subscribe)
    assert request.start == start


def test_the_other_requests_are_short() -> None:
    assert parse_request(b'{"type":"unsubscribe","id":3}') == Unsubscribe(3)
    assert parse_request(b'{"type":"position","id":3}') == Position(3)
    assert parse_request(b'{"type":"ping"}') == Ping()
    assert parse_request(b'{"type":"token","token":"secret"}') == Token("secret")


@pytest.mark.parametrize(
    "request_",
    [
        Subscribe(1, "ticks", keys=(b"K", b"\xff"), where="value.a = 1", start={3: 4}, buffer=2),
        Subscribe(1, "ticks", prefix=b"", headers=(("a", b"b"),), start=5, policy=Policy.CONFLATE),
        Unsubscribe(1),
        Position(2),
        Ping(),
        Token("t"),
    ],
)
def test_what_a_client_writes_is_what_the_server_reads(request_: Request) -> None:
    assert parse_request(request_json(request_)) == request_


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no JSON"),
        ("{", "no JSON"),
        (b"\xff", "no JSON"),
        ("[" * 5000, "no JSON"),
        ("[]", "a JSON object"),
        ("{}", '"type" is one of subscribe, unsubscribe, position, ping, token, not null'),
        ('{"type":["x"]}', '"type" is one of'),
        ('{"type":"ping","id":1}', 'ping has no field "id"'),
        ('{"type":"subscribe","topic":"t"}', '"id" is a whole number'),
        ('{"type":"subscribe","id":true,"topic":"t"}', '"id" is a whole number'),
        ('{"type":"subscribe","id":4294967296,"topic":"t"}', '"id" is a whole number'),
        ('{"type":"subscribe","id":1}', '"topic" is a text'),
        ('{"type":"unsubscribe","id":-1}', '"id" is a whole number'),
        ('{"type":"token","token":1}', '"token" is a text'),
    ],
)
def test_what_is_no_request_is_refused(text: str | bytes, reason: str) -> None:
    with pytest.raises(V1Error) as raised:
        parse_request(text)
    assert reason in str(raised.value)


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ('"key":"a","prefix":"b"', 'give one of "key", "keys" and "prefix"'),
        ('"key":null', 'in "key", write a string'),
        ('"key":{"base64":"?"}', 'in "key", write a string'),
        ('"keys":[]', '"keys" is a list of one key or more'),
        ('"keys":"a"', '"keys" is a list of one key or more'),
        ('"prefix":7', 'in "prefix", write a string'),
        ('"headers":[]', '"headers" is an object'),
        ('"headers":{"a":1}', 'in "headers", write a string'),
        ('"where":""', '"where" is a text that is not empty'),
        ('"from":"soon"', '"from" is "latest", "earliest", a timestamp'),
        ('"from":-1', '"from" is'),
        ('"from":1.5', '"from" is'),
        ('"from":{"x":1}', 'by "x"'),
        ('"from":{"٣":1}', "offsets by partition"),
        ('"from":{"2147483648":1}', "offsets by partition"),
        ('"from":{"0":"1"}', "an offset"),
        ('"from":{"0":9223372036854775808}', "an offset"),
        ('"policy":"drop"', '"policy" is one of drop-oldest, conflate, pause, disconnect'),
        ('"policy":[]', '"policy" is one of'),
        ('"encoding":"xml"', '"encoding" is one of binary, json, not "xml"'),
        ('"buffer":0', '"buffer" is a number of messages, 1 or more, not 0'),
        ('"wher":"value.a = 1"', 'subscribe has no field "wher"'),
    ],
)
def test_a_wrong_subscription_is_refused_with_its_id(more: str, reason: str) -> None:
    with pytest.raises(V1Error) as raised:
        parse_request(f'{{"type":"subscribe","id":5,"topic":"t",{more}}}')
    assert reason in str(raised.value)
    assert raised.value.id == 5


def test_a_reason_does_not_repeat_a_long_mistake() -> None:
    with pytest.raises(V1Error) as raised:
        parse_request(f'{{"type":"{"x" * 10_000}"}}')
    assert len(str(raised.value)) < 200
