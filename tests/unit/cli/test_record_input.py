"""Records read by a format: the way back of printing them."""

import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkaesque.cli.topic.record_format import FormatError, parse_format
from kafkaesque.cli.topic.record_input import InputError, records, require_readable
from kafkaesque.cli.topic.record_print import format_printer
from kafkaesque.client.record import Record

TEMPLATE = Record("orders", b"given", b"")


class Trickle(io.BytesIO):
    """An input that comes byte by byte, as through a slow pipe."""

    def read1(self, size: int | None = -1, /) -> bytes:
        return self.read(1)


def read(form: str, data: bytes, template: Record = TEMPLATE) -> list[Record]:
    pieces = parse_format(form)
    require_readable(pieces)
    whole = list(records(io.BytesIO(data), pieces, template))
    assert list(records(Trickle(data), pieces, template)) == whole
    return whole


def pairs(form: str, data: bytes) -> list[tuple[bytes | None, bytes | None]]:
    return [(record.key, record.value) for record in read(form, data)]


def test_each_line_is_a_record_and_the_last_may_lack_its_newline() -> None:
    expected = [(b"given", b"a"), (b"given", b""), (b"given", b"c")]
    assert pairs("%v\\n", b"a\n\nc\n") == expected
    assert pairs("%v\\n", b"a\n\nc") == expected
    assert pairs("%v\\n", b"") == []


def test_a_text_ends_where_the_next_literal_begins() -> None:
    assert pairs("%k %v\\n", b"a 1\nb 2 3\n") == [(b"a", b"1"), (b"b", b"2 3")]
    assert pairs("%k::%v;;", b"a:b::1;2;;") == [(b"a:b", b"1;2")]


def test_a_text_may_have_its_length_before_it() -> None:
    assert pairs("%K %V %k%v", b"1 2 abc2 0 de") == [(b"a", b"bc"), (b"de", b"")]


def test_a_format_without_an_end_reads_everything() -> None:
    assert pairs("%k=%v", b"a=1\n2\n") == [(b"a", b"1\n2\n")]


def test_an_empty_key_is_none() -> None:
    assert pairs("%k %v\\n", b" 1\n") == [(None, b"1")]


def test_topic_partition_and_time_may_be_read() -> None:
    (record,) = read("%t/%p@%d %v\\n", b"prices/2@1625049829475 x\n")
    assert record == Record("prices", b"given", b"x", (), 2, timestamp_ms=1_625_049_829_475)


def test_headers_are_added_to_those_that_were_given() -> None:
    template = Record("orders", None, b"", (("given", b"1"),))
    (record,) = read("%H %h{%k=%v,}%v\\n", b"2 a=x,b=,value\n", template)
    assert record.headers == (("given", b"1"), ("a", b"x"), ("b", b""))
    assert record.value == b"value"


def test_hex_and_base64_are_decoded() -> None:
    assert pairs("%k{hex} %v{base64}\\n", b"6b31 /wA=\n") == [(b"k1", b"\xff\x00")]


@pytest.mark.parametrize(
    ("form", "data", "reason"),
    [
        ("%k %v\\n", b"a 1\nb", "record 2 .*: expected ' '"),
        ("%K %k %v\\n", b"x", "record 1 .*: %K is not a number"),
        ("%K %k %v\\n", b"5 abc", "record 1 .*: the input ends in the middle"),
        ("%v{hex}\\n", b"0g\n", "record 1 .*: %v is not hex"),
        ("%v{base64}\\n", b"=\n", "record 1 .*: %v is not base64"),
        ("%p %v\\n", b"1 a\nx b\n", "record 2 .*: %p is not a number"),
        ("<%v>", b"<a>b>", "record 2 .*: expected '<'"),
        ("%V{v", b"", "not closed"),
    ],
)
def test_input_that_does_not_match_is_named_by_its_number(
    form: str, data: bytes, reason: str
) -> None:
    with pytest.raises((InputError, FormatError), match=reason):
        read(form, data)


@pytest.mark.parametrize(
    ("form", "reason"),
    [
        ("", "it reads nothing"),
        ("text", "it reads nothing"),
        ("%k%v\\n", "where does %k end\\? Put a text between it and %v, or its length, %K"),
        ("%o %v\\n", "%o can be printed so, not read"),
        ("%d{strftime[%F]} %v\\n", "%d can be printed so, not read"),
        ("%h %v\\n", "to read headers"),
        ("%h{%k=%v,}%v\\n", "to read headers"),
        ("%H %h{%k=%v}%v\\n", "where does %v end\\?"),
    ],
)
def test_a_format_that_can_only_be_printed_is_refused(form: str, reason: str) -> None:
    with pytest.raises(FormatError, match=reason):
        require_readable(parse_format(form))


TEXT = st.binary(max_size=20)
HEADERS = st.lists(st.tuples(st.text(max_size=5), TEXT), max_size=3).map(tuple)
RECORDS = st.lists(
    st.builds(
        Record,
        topic=st.from_regex(r"[a-z.]{1,9}", fullmatch=True),
        key=st.one_of(st.none(), st.binary(min_size=1, max_size=20)),
        value=TEXT,
        headers=HEADERS,
        partition=st.integers(0, 2**31 - 1),
        timestamp_ms=st.integers(0, 2**45),
    ),
    max_size=4,
)


def written(form: str, some: list[Record]) -> bytes:
    printer = format_printer(parse_format(form))
    return b"".join(map(printer, some))


@given(RECORDS)
def test_what_is_printed_with_lengths_is_read_again(some: list[Record]) -> None:
    form = "%T,%K,%V,%H,%p,%d:%t%k%v%h{%K %V %k%v}"
    assert read(form, written(form, some)) == some


@given(RECORDS)
def test_what_is_printed_as_hex_and_base64_is_read_again(some: list[Record]) -> None:
    form = "%t %p %d %k{hex} %v{base64} %H %h{%k{hex}=%v{hex},}\\n"
    assert read(form, written(form, some)) == some


@given(st.lists(st.text(st.characters(exclude_characters="\n\r", codec="utf-8"), min_size=1)))
def test_lines_are_read_as_they_were_printed(lines: list[str]) -> None:
    some: list[Any] = [Record("orders", b"given", line.encode()) for line in lines]
    assert read("%v\\n", written("%v\\n", some)) == some
