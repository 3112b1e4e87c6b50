"""A subject with a decoder: filters see what a framed value says, and nothing else changes."""

from typing import Any

import pytest

from kafkaesque.client.decoder import NOT_DECODED
from kafkaesque.client.filters import PredicateIndex, Subject, parse
from kafkaesque.records.record import Record

TICK = {"ticker": "AMZN", "price": 101.5, "legs": [{"qty": 2}], "note": None}
FRAMED = b"\0\0\0\0\x07tick"
TEXT = b"\0\0\0\0\x08text"
UNKNOWN = b"\0\0\0\0\x09what"


class Documents:
    """Knows two values; `asked` is how often it was asked."""

    def __init__(self) -> None:
        self.asked = 0

    def document(self, data: bytes) -> Any:
        self.asked += 1
        return {FRAMED: TICK, TEXT: "hello"}.get(data, NOT_DECODED)


def subject(value: bytes | None, documents: Documents | None) -> Subject:
    return Subject("t", 0, Record(1, 2, b"\0\0\0\0\x07key", value), documents)


@pytest.mark.parametrize(
    ("where", "value", "holds"),
    [
        ("value.price > 100", FRAMED, True),
        ("value.legs[0].qty == 2", FRAMED, True),
        ("value.note == null", FRAMED, True),
        ("value.price > 200", FRAMED, False),
        ('contains(value, "AMZN")', FRAMED, True),
        ('value == "hello"', TEXT, True),
        ("value.price > 100", UNKNOWN, False),
        ("value.price > 100", b'{"price": 101}', True),
        ('value == "plain"', b"plain", True),
        ('value == "quoted"', b'"quoted"', True),
        ("value.price == null", None, True),
        ('startswith(key, "key")', FRAMED, False),
    ],
)
def test_filters_see_decoded_values(where: str, value: bytes | None, holds: bool) -> None:
    predicate = parse(where)
    assert predicate.matches(subject(value, Documents())) is holds
    index: PredicateIndex[str] = PredicateIndex()
    index.add(predicate, "it")
    assert index.matches(subject(value, Documents())) == (["it"] if holds else [])


def test_without_a_decoder_framed_bytes_are_bytes() -> None:
    assert not parse("value.price > 100").matches(subject(FRAMED, None))
    assert parse('contains(value, "tick")').matches(subject(FRAMED, None))


def test_a_value_is_decoded_once_and_plain_json_not_at_all() -> None:
    documents = Documents()
    one = subject(FRAMED, documents)
    for where in ("value.price > 100", 'contains(value, "AMZN")', 'value.ticker == "AMZN"'):
        assert parse(where).matches(one)
    assert documents.asked == 1
    assert parse("value.price > 1").matches(subject(b'{"price": 2}', documents))
    assert documents.asked == 1


@pytest.mark.parametrize(
    ("where", "reads"),
    [
        ("value.price > 100", True),
        ('key == "a" and length(value.name) > 3', True),
        ('not (offset > 5 or contains("abc", value.part))', True),
        ("value.bid < value.ask", True),
        ('key == "a" and header.source == "web" and offset in (1, 2)', False),
        ("timestamp > 5 and partition == 1", False),
    ],
)
def test_a_predicate_tells_whether_it_reads_the_value(where: str, reads: bool) -> None:
    assert parse(where).reads_value is reads
