"""`-o`: where to start reading and where to end, as rpk's users write it.

    start  end   the first record there is; only what comes from now on
    N  +N  -N    offset N; N records after the start; N records before the end
    N:M  N-M     from offset N to before offset M; N: is N, :M is start:M, and M may be `end`
    @T  @T:T     by time: from the first record of that time or later, to before the second's

A time T is as moments.py reads it, or `-1h30m`: so long ago. Pure but for the clock of `-1h30m`.
"""

import re
import time
from dataclasses import dataclass

import typer

from kafkaesque.cli.durations import read_duration
from kafkaesque.cli.moments import parse_moment
from kafkaesque.client.positions import END, START, Anchor, Position


@dataclass(frozen=True, slots=True)
class Span:
    start: Position
    end: Position | None = None


def parse_span(text: str) -> Span:
    if text.startswith("@"):
        return _time_span(text)
    if exact := re.fullmatch(r"([0-9]+)-([0-9]*)", text):
        text = f"{exact[1]}:{exact[2]}"
    start, colon, end = text.partition(":")
    return Span(
        START if colon and not start else _position(start, text),
        _position(end, text) if end else None,
    )


def parse_position(text: str) -> Position:
    """One place: N, start, end or @T."""
    span = parse_span(text)
    if span.end is not None:
        raise typer.BadParameter(f"{text!r} is a range: give one place, as in 47, @-1h or end")
    return span.start


def _position(text: str, whole: str) -> Position:
    if text in ("start", "end"):
        return START if text == "start" else END
    if found := re.fullmatch(r"([+-]?)([0-9]{1,18})", text):
        anchors = {"": Anchor.OFFSET, "+": Anchor.START, "-": Anchor.END}
        return Position(anchors[found[1]], int(found[2]))
    raise typer.BadParameter(
        f"{whole!r} is no offset: write start, end, 47, +2, -2, 10:20, :end or @2021-06-30"
    )


def _time_span(text: str) -> Span:
    """A time may hold colons itself: the span is cut where both halves can be read."""
    body = text[1:]
    cuts = [len(body), *(at for at, character in enumerate(body) if character == ":")]
    for cut in cuts:
        start, end = body[:cut], body[cut + 1 :]
        try:
            return Span(
                START if end and not start else _moment(start), _moment(end) if end else None
            )
        except typer.BadParameter as error:
            reason = error
    raise reason


def _moment(text: str) -> Position:
    if text == "end":
        return END
    ago_ms = read_duration(text[1:]) if text.startswith("-") else None
    if ago_ms is not None:
        return Position(Anchor.TIME, int(time.time() * 1000) - ago_ms)
    return Position(Anchor.TIME, parse_moment(text))
