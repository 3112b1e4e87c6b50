"""Records as JSON, and by a format."""

import json

import pytest

from kafkaesque.cli.topic.record_format import parse_format
from kafkaesque.cli.topic.record_print import format_printer, json_printer
from kafkaesque.client.record import Record

RECORD = Record(
    topic="orders",
    key=b"key1",
    value="größe\n".encode(),
    headers=(("source", b"web"), ("trace", None)),
    partition=2,
    offset=47,
    timestamp_ms=1_625_049_829_475,
)
BARE = Record("orders", None, None)


def printed(form: str, record: Record = RECORD) -> str:
    return format_printer(parse_format(form))(record).decode()


def test_json_is_indented_by_one_and_keeps_letters_readable() -> None:
    record = Record("orders", b"key1", "größe\n".encode(), (), 2, 47, 1_625_049_829_475)
    assert json_printer(with_topic=False)(record).decode() == (
        "{\n"
        ' "key": "key1",\n'
        ' "message": "größe\\n",\n'
        ' "partition": 2,\n'
        ' "offset": 47,\n'
        ' "timestamp": "2021-06-30T10:43:49.475Z"\n'
        "}\n"
    )


def test_json_shows_the_topic_if_asked_to_and_headers_if_there_are_any() -> None:
    line = json_printer(with_topic=True, pretty=False)(RECORD).decode()
    assert line.count("\n") == 1
    assert json.loads(line) == {
        "topic": "orders",
        "key": "key1",
        "message": "größe\n",
        "headers": [{"key": "source", "value": "web"}, {"key": "trace", "value": None}],
        "partition": 2,
        "offset": 47,
        "timestamp": "2021-06-30T10:43:49.475Z",
    }


def test_what_is_not_there_is_null_and_what_is_no_text_is_base64() -> None:
    found = json.loads(json_printer(with_topic=False)(Record("t", None, b"\xff\x00")))
    assert (found["key"], found["message"]) == (None, {"base64": "/wA="})
    assert found["timestamp"] is None


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("%t %p %o %d", "orders 2 47 1625049829475"),
        ("%k=%v", "key1=größe\n"),
        ("%T %K %V %H", "6 4 8 2"),
        ("%k{hex} %k{base64}", "6b657931 a2V5MQ=="),
        ("%d{strftime[%Y-%m-%dT%H:%M:%S.%f]}", "2021-06-30T10:43:49.475000"),
        ("%h", "source=web,trace="),
        ("%h{<%k:%V:%v>}", "<source:3:web><trace:0:>"),
        ("100%%", "100%"),
    ],
)
def test_a_format_prints_the_fields_it_names(form: str, text: str) -> None:
    assert printed(form) == text


def test_what_a_record_does_not_have_is_printed_as_nothing() -> None:
    assert printed("[%k][%v][%K][%V][%h][%H]", BARE) == "[][][0][0][][0]"
    assert printed("%p %o %d", BARE) == "-1 -1 -1"


def test_bytes_are_printed_as_they_are() -> None:
    every_byte = bytes(range(256))
    printer = format_printer(parse_format("%v"))
    assert printer(Record("t", None, every_byte)) == every_byte


def test_records_are_counted_from_one() -> None:
    printer = format_printer(parse_format("%i:%i "))
    assert [printer(BARE), printer(BARE)] == [b"1:1 ", b"2:2 "]
