"""Every row comes back from every shelf, and pandas reads every file."""

import math
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from kafkaesque.embedded.stale import StaleEvent, open_shelf
from kafkaesque.event import Event

TOPIC_ID = UUID(int=1)
AWKWARD = st.sampled_from(
    ['"', '""', ",", "\n", "\r", "\r\n", "\0", "data:;base64,", "data:;base64,YQ==", " ", "NA", "1"]
)
TEXT = st.lists(AWKWARD | st.text(st.characters(exclude_categories=["Cs"]), max_size=3)).map(
    "".join
)
NOT_UTF_8 = st.binary(min_size=1).map(lambda data: b"\xff" + data)
NUMBERS = st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False)
KEYS = st.none() | TEXT | NOT_UTF_8
VALUES = KEYS | NUMBERS
ROWS = st.lists(st.tuples(st.integers(-1, 2**62), KEYS, VALUES), min_size=1, max_size=6)


def _events(rows: list[tuple[int, Any, Any]]) -> list[Event]:
    return [Event("t", 3, offset, *row) for offset, row in enumerate(rows)]


def _put_away(path: Path, events: list[Event]) -> list[StaleEvent]:
    """Written in two goes, and read by a shelf that was opened anew."""
    for part in (events[:2], events[2:]):
        shelf = open_shelf(path, is_durable=True)
        shelf.check_topic("t")
        shelf.add(TOPIC_ID, part)
    again = open_shelf(path, is_durable=True)
    again.check_topic("t")
    return again.rows("t")


def _same(rows: list[StaleEvent], events: list[Event]) -> bool:
    expected = [StaleEvent(e.partition, e.offset, e.timestamp, e.key, e.value) for e in events]
    return [(row, repr(row)) for row in rows] == [(row, repr(row)) for row in expected]


@given(ROWS)
def test_a_csv_gives_back_what_was_put_away_and_pandas_reads_it(
    rows: list[tuple[int, Any, Any]],
) -> None:
    events = _events(rows)
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "x.csv"
        assert _same(_put_away(path, events), events)
        frame = import_module("pandas").read_csv(path)
    assert list(frame["offset"]) == [event.offset for event in events]
    assert list(frame["timestamp"]) == [event.timestamp for event in events]


@given(ROWS)
def test_pandas_reads_texts_as_they_were(rows: list[tuple[int, Any, Any]]) -> None:
    texts = [(at, key, value) for at, key, value in rows if isinstance(value, str)]
    texts = [row for row in texts if "\0" not in row[2] and not row[2].startswith("data:")]
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "x.csv"
        _put_away(path, [Event("t", 0, -1, 0, None, "first"), *_events(texts)])
        frame = import_module("pandas").read_csv(path, keep_default_na=False, dtype={"value": str})
    assert list(frame["value"])[1:] == [value for _, _, value in texts]


@given(ROWS)
def test_sqlite_gives_back_what_was_put_away(rows: list[tuple[int, Any, Any]]) -> None:
    events = _events(rows)
    with tempfile.TemporaryDirectory() as directory:
        assert _same(_put_away(Path(directory) / "x.sqlite", events), events)


@given(st.lists(st.binary(), min_size=1, max_size=4))
def test_bytes_are_not_lost_whichever_they_are(values: list[bytes]) -> None:
    """In a CSV, bytes that are UTF-8 come back as text: a CSV has no bytes."""
    with tempfile.TemporaryDirectory() as directory:
        rows = _put_away(Path(directory) / "x.csv", _events([(0, None, v) for v in values]))
    found = [row.value.encode() if isinstance(row.value, str) else row.value for row in rows]
    assert found == values


def test_numbers_that_json_lacks_are_read_from_a_csv_too(tmp_path: Path) -> None:
    values = [math.inf, -math.inf, math.nan, -0.0]
    rows = _put_away(tmp_path / "x.csv", _events([(0, None, value) for value in values]))
    assert [repr(row.value) for row in rows] == ["inf", "-inf", "nan", "-0.0"]
