"""What each form of the language says of a record."""

import pytest

from kafkaesque.client.filters import Subject, parse
from kafkaesque.records.record import Record

VALUE = (
    b'{"price": 150.5, "ticker": "AMZN", "open": true, "none": null, "zero": 0, "one": 1,'
    b' "big": 9007199254740993, "huge": 123456789012345678901234567890,'
    b' "a": {"b": {"c": "deep"}}, "items": [10, {"x": "y"}], "odd name": 1, "in": 2,'
    b' "snow": "\xe2\x98\x83man", "text": "say \\"hi\\"\\n", "bid": 1, "ask": 2, "same": "AMZN"}'
)


def subject(
    value: bytes | None = VALUE,
    key: bytes | None = b"dave",
    headers: tuple[tuple[str, bytes | None], ...] = (),
) -> Subject:
    return Subject("ticks", 3, Record(42, 1_700_000_000_000, key, value, headers))


def holds(text: str, of: Subject | None = None) -> bool:
    return parse(text).matches(of or subject())


@pytest.mark.parametrize(
    "text",
    [
        'value.price > 100 and value.ticker in ("AMZN", "GOOG")',
        "value.price == 150.5",
        "value.price == 1505e-1",
        "value.price != 150",
        "100 < value.price",
        "100 <= value.price < 200",
        "150 < value.price < 151 <= 151",
        "value.price >= 150.5 and value.price <= 150.5",
        "value.price not in (1, 2)",
        "value.price in (1, 150.5,)",
        "value.open",
        "not not value.open",
        "value.open == true",
        "value.open != false",
        "value.open in (true, false)",
        'value.a.b.c == "deep"',
        'value["a"]["b"].c == "deep"',
        "value.items[0] == 10",
        'value.items[1].x == "y"',
        'value["odd name"] == 1',
        "value.in == 2",
        "value.none == null",
        "value.missing == null",
        "null == value.missing",
        "value.price != null",
        "exists(value.price)",
        "not exists(value.none)",
        "not exists(value.missing.deeper)",
        'key == "dave"',
        "'dave' == key",
        'topic == "ticks" and partition == 3 and offset == 42',
        "timestamp > 1699999999999",
        "value.bid < value.ask",
        "value.ask >= value.bid",
        "value.ticker == value.same",
        "value.bid != value.ask",
        'startswith(value.ticker, "AM")',
        'endswith(value.ticker, "ZN")',
        'contains(value.ticker, "MZ")',
        "contains(value.ticker, value.same)",
        'lower(value.ticker) == "amzn"',
        "length(value.ticker) == 4",
        "length(value.snow) == 4",
        'value.snow == "☃man"',
        'value.snow == "\\u2603man"',
        'value.text == "say \\"hi\\"\\n"',
        'value.ticker > "AM" and value.ticker < "B"',
        '"AMZ" <= value.ticker < "AMZZ"',
        'contains(value, "\\"ticker\\"")',
        "value.big == 9007199254740993",
        "value.big != 9007199254740992",
        "value.huge == 123456789012345678901234567890",
        "value.huge > 1e29",
        "(value.price) > 100",
        "((value.price > 100))",
        "true",
        "not false",
        "1 < 2",
        'startswith("abc", "a")',
        'lower("ABC") == "abc"',
        "value.one == 1 or value.zero == 1 and value.zero == 2",
        "not value.zero == 1 and value.one == 1",
    ],
)
def test_holds(text: str) -> None:
    assert holds(text)


@pytest.mark.parametrize(
    "text",
    [
        "value.missing > 0",
        "value.missing < 0",
        "value.missing == 0",
        'value.price == "150.5"',
        'value.price < "2"',
        "value.ticker > 0",
        "value.ticker < 0",
        "value.open == 1",
        "value.open in (0, 1)",
        "value.open > 0",
        "value.one == true",
        "value.one",
        "value.zero == false",
        "value.a == 1",
        "value.items == 1",
        'value.a in ("x", "y")',
        "value.a in (1, 2)",
        "value.items in (true, false)",
        "value.items[7] == 1",
        "value[0] == 1",
        "value.price.cents == 5",
        'value.items.x == "y"',
        "value.none > 0",
        "exists(value.none)",
        "value.ticker < value.price",
        "value.open < value.open",
        "value.a == value.a",
        "startswith(value.price, value.ticker)",
        "length(value.items) >= 0",
        'lower(value.price) == "150.5"',
        'header.source == "web"',
        'key > "dave"',
        "value > 1",
        "value.price > 1 and value.price < 1",
    ],
)
def test_does_not_hold(text: str) -> None:
    assert not holds(text)


def test_not_equal_is_the_opposite_of_equal() -> None:
    """Also of a missing field, or one of another kind."""
    assert holds("value.missing != 1")
    assert holds("value.missing not in (1, 2)")
    assert holds("value.ticker != 1")
    assert holds("not value.missing > 1")
    assert not holds("exists(value.missing) and value.missing != 1")


@pytest.mark.parametrize("value", [b"not json", b"", b"\xff\xfe", None, b"[1]", b"NaN", b'{"a":'])
def test_a_value_that_is_no_json_object_has_no_fields(value: bytes | None) -> None:
    assert not holds("value.price > 0", subject(value))
    assert holds("value.price == null", subject(value))
    assert not holds("value.price == 0", subject(value))


def test_the_bare_value() -> None:
    assert holds("value == 5", subject(b"5"))
    assert holds('value == "5"', subject(b"5"))
    assert holds('value == "plain"', subject(b"plain"))
    assert holds('value == "in quotes"', subject(b' "in quotes"'))
    assert holds("value", subject(b"true"))
    assert not holds("value", subject(b"1"))
    assert holds("value == null", subject(None))
    assert holds("value == null", subject(b"null"))
    assert not holds("value == null", subject(b"\xff"))
    assert not holds('value == "\\u00ff"', subject(b"\xff"))
    assert holds("value == key", subject(b"dave"))
    assert holds("value[1] == 7", subject(b"[6, 7]"))


def test_keys() -> None:
    assert holds("key == null", subject(key=None))
    assert not holds("exists(key)", subject(key=None))
    assert holds("exists(key)", subject(key=b"\xff"))
    assert not holds('key == "\\u00ff"', subject(key=b"\xff"))
    assert holds('key == ""', subject(key=b""))


def test_headers() -> None:
    sent = subject(headers=(("source", b"old"), ("x-y", b"1"), ("source", b"web"), ("n", None)))
    assert holds('header.source == "web"', sent)
    assert not holds('header.source == "old"', sent)
    assert holds('header["x-y"] == "1"', sent)
    assert holds("header.n == null and header.none == null", sent)
    assert not holds("exists(header.n)", sent)


def test_the_value_is_decoded_once() -> None:
    asked = subject()
    parse("value.price > 100").matches(asked)
    assert asked.document() is asked.document()
    assert asked.headers() is asked.headers()
