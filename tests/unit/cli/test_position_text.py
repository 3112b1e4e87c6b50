"""Where to start and to end, as it is written on the command line."""

import time

import pytest
import typer

from kafkaesque.cli.topic.position_text import Span, parse_position, parse_span
from kafkaesque.client.positions import END, START, Anchor, Position

JUNE = Position(Anchor.TIME, 1_625_049_829_000)
JULY = Position(Anchor.TIME, 1_625_097_600_000)


def offset(number: int) -> Position:
    return Position(Anchor.OFFSET, number)


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("start", Span(START)),
        ("end", Span(END)),
        ("47", Span(offset(47))),
        ("47:", Span(offset(47))),
        ("47-", Span(offset(47))),
        ("+2", Span(Position(Anchor.START, 2))),
        ("-2", Span(Position(Anchor.END, 2))),
        ("-2:end", Span(Position(Anchor.END, 2), END)),
        ("10:20", Span(offset(10), offset(20))),
        ("10-20", Span(offset(10), offset(20))),
        (":20", Span(START, offset(20))),
        (":end", Span(START, END)),
        ("@1625049829", Span(JUNE)),
        ("@1625049829000", Span(JUNE)),
        ("@2021-06-30T10:43:49Z", Span(JUNE)),
        ("@2021-06-30T10:43:49Z:2021-07-01", Span(JUNE, JULY)),
        ("@2021-06-30T10:43:49Z:2021-07-01T00:00:00Z", Span(JUNE, JULY)),
        ("@1625049829:end", Span(JUNE, END)),
        ("@:2021-07-01", Span(START, JULY)),
    ],
)
def test_a_span_is_read(text: str, span: Span) -> None:
    assert parse_span(text) == span


def test_a_time_may_be_so_long_ago() -> None:
    before = time.time() * 1000
    span = parse_span("@-1h30m:-0.5s")
    assert span.end is not None
    assert {span.start.anchor, span.end.anchor} == {Anchor.TIME}
    assert 0 <= span.start.number + 5_400_000 - int(before) < 60_000
    assert span.end.number - span.start.number == pytest.approx(5_400_000 - 500, abs=1000)


@pytest.mark.parametrize("text", ["", "x", "1:x", "--1", "1.5", "+", "end:x", "9" * 19, "٣"])
def test_what_is_no_offset_is_told_the_forms(text: str) -> None:
    with pytest.raises(typer.BadParameter, match="is no offset: write start, end, 47"):
        parse_span(text)


@pytest.mark.parametrize("text", ["@", "@x", "@2021-06-30:x", "@-1y", "@1:2"])
def test_what_is_no_time_is_told_the_forms(text: str) -> None:
    with pytest.raises(typer.BadParameter, match="is no point in time"):
        parse_span(text)


def test_one_place_is_no_range() -> None:
    assert parse_position("47") == offset(47)
    assert parse_position("@1625049829") == JUNE
    with pytest.raises(typer.BadParameter, match="is a range"):
        parse_position("10:20")
