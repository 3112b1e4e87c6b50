"""docs/reference/filters.md says what is so: examples are tried, limits are the real ones."""

import re
from pathlib import Path

import pytest

from kafkaesque.client.filters import FilterError, Subject, parse
from kafkaesque.client.filters.grammar import (
    FUNCTIONS,
    MAX_COMPARISONS,
    MAX_DEPTH,
    MAX_LITERALS,
    MAX_STEPS,
)
from kafkaesque.client.filters.tokens import MAX_TEXT
from kafkaesque.records.record import Record

PAGE = (Path(__file__).parents[4] / "docs" / "reference" / "filters.md").read_text()
VALUE = PAGE.partition("```json\n")[2].partition("```")[0].encode()
RECORD = Record(42, 1_700_000_000_000, b"AMZN", VALUE, (("source", b"web"), ("x-trace", b"7")))
TRIED = re.findall(r"^\|(?: [^|]* \|)? `([^|]+)` \| (yes|no) \|", PAGE, re.MULTILINE)
REFUSED = re.findall(
    r"^\| `([^|]+)` \|", PAGE.partition("| refused |")[2].partition("\n\n")[0], re.MULTILINE
)


def test_there_are_examples() -> None:
    assert len(TRIED) >= 35
    assert len(REFUSED) >= 10


@pytest.mark.parametrize(("text", "holds"), TRIED)
def test_examples_hold_or_not_as_said(text: str, holds: str) -> None:
    assert parse(text).matches(Subject("ticks", 3, RECORD)) is (holds == "yes")


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_said_to_be_refused_is(text: str) -> None:
    with pytest.raises(FilterError):
        parse(text)


def test_the_refusal_reads_as_shown() -> None:
    shown = re.search(r"^>>> parse\('(.*)'\)\n(.*?)\n```", PAGE, re.MULTILINE | re.DOTALL)
    assert shown is not None
    with pytest.raises(FilterError) as refused:
        parse(shown[1])
    assert str(refused.value) == shown[2]


def test_every_function_and_limit_is_named() -> None:
    assert [name for name in FUNCTIONS if f"| `{name}` |" not in PAGE] == []
    limits = (
        f"Limits: {MAX_TEXT:,} characters, {MAX_COMPARISONS} conditions, {MAX_LITERALS:,} literals,"
        f" {MAX_DEPTH} levels of parentheses, `not` and functions, {MAX_STEPS} steps in a field."
    )
    assert limits in PAGE
