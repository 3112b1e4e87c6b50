"""How the bytes of a record read."""

import json

from hypothesis import given
from hypothesis import strategies as st

from kafkaesque.console.record_text import (
    HEX_PREVIEW,
    PREVIEW,
    WHOLE,
    hex_dump,
    kind,
    preview,
    whole,
)


def test_json_is_indented_and_keeps_its_letters() -> None:
    assert whole('{"city":"Köln","n":[1]}'.encode()) == (
        '{\n  "city": "Köln",\n  "n": [\n    1\n  ]\n}'
    )
    assert kind(b'{"a":1}') == "JSON"


def test_text_is_shown_as_it_is() -> None:
    assert whole("<b>grüezi</b>\n".encode()) == "<b>grüezi</b>\n"
    assert kind(b"hello") == "text"


def test_null_is_not_the_same_as_empty() -> None:
    assert (preview(None), whole(None), kind(None)) == ("null", "null", "null")
    assert (preview(b""), whole(b""), kind(b"")) == ("", "", "text")


def test_bytes_that_are_no_text_are_shown_in_hex() -> None:
    data = bytes([0, 1, 255]) + b"Kafka"
    assert preview(data) == "0x 00 01 ff 4b 61 66 6b 61"
    assert whole(data) == "00000000  00 01 ff 4b 61 66 6b 61                          ...Kafka"
    assert kind(data) == "binary"


def test_a_hex_dump_has_sixteen_bytes_a_line() -> None:
    lines = hex_dump(bytes(40)).splitlines()
    assert [line[:8] for line in lines] == ["00000000", "00000010", "00000020"]


def test_a_preview_is_one_short_line() -> None:
    assert preview(b"a\n  b\tc") == "a b c"
    assert preview(b"x" * 10_000) == "x" * PREVIEW + " …"
    assert preview(bytes(1000)) == "0x " + " ".join(["00"] * HEX_PREVIEW) + " …"


def test_a_preview_never_cuts_a_character_in_two() -> None:
    assert preview("ä".encode() * 5000).startswith("äää")
    assert preview(b"x" + "😀".encode() * 5000).startswith("x😀")


def test_a_huge_value_is_cut_and_says_so() -> None:
    assert whole(b"x" * (WHOLE + 5)).endswith("\n… 5 more bytes")


def test_json_nested_too_deep_to_read_is_shown_as_text() -> None:
    deep = b"[" * 100_000
    assert whole(deep) == deep.decode()


@given(st.binary(max_size=200))
def test_any_bytes_have_a_preview_of_one_line(data: bytes) -> None:
    line = preview(data)
    assert line.splitlines() in ([], [line])


@given(st.recursive(st.none() | st.integers() | st.text(), st.lists))
def test_what_is_json_stays_the_same_json(value: object) -> None:
    data = json.dumps(value).encode()
    shown = whole(data)
    assert json.loads(shown) == value
