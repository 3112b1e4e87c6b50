"""Lengths of time: how they are written, read, and refused."""

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

from kafkaesque.cli.durations import duration_text, parse_duration, read_duration

SECOND_MS = 1000
DAY_MS = 86_400_000


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("0s", 0),
        ("500ms", 500),
        ("30s", 30_000),
        ("5m", 300_000),
        ("1h30m", 5_400_000),
        ("1.5d", 129_600_000),
        ("1m1m", 120_000),
    ],
)
def test_a_length_of_time_is_read(text: str, ms: int) -> None:
    assert parse_duration(text) == ms


@pytest.mark.parametrize("text", ["", "5", "m", "5 m", "-5m", "5y", "1h30", "٣s", "1e3s"])
def test_what_is_none_is_told_the_form(text: str) -> None:
    assert read_duration(text) is None
    with pytest.raises(typer.BadParameter, match="is no length of time: write it as in 500ms"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "0ms"),
        (999, "999ms"),
        (1000, "1s"),
        (59_999, "59s"),
        (60_000, "1m"),
        (192_400, "3m12s"),
        (7_500_000, "2h5m"),
        (3_605_000, "1h"),
        (DAY_MS + 60_000, "1d"),
        (100 * DAY_MS, "100d"),
        (None, None),
    ],
)
def test_it_is_printed_in_its_two_largest_units(ms: int | None, text: str | None) -> None:
    assert duration_text(ms) == text


@given(st.integers(0, 1000 * DAY_MS))
def test_what_is_printed_is_read_as_no_more_and_almost_as_much(ms: int) -> None:
    again = read_duration(duration_text(ms) or "")
    assert again is not None
    assert again <= ms
    # What is left out is smaller than the second unit.
    assert ms - again < max(SECOND_MS, ms / 12)
