"""Rows of events, and the newest of each id."""

from typing import Any

import pytest

from kafkaesque.event import Event
from kafkaesque.pipelines.tables.errors import RowError
from kafkaesque.pipelines.tables.rows import Row, latest, row_of


def event(value: Any, key: Any = None) -> Event:
    return Event("orders", 2, 17, 1_000, key, value)


def test_a_row_has_the_place_of_its_event() -> None:
    row = row_of(event({"number": 7, "price": 1.5}), key="number")
    assert row == Row(7, {"number": 7, "price": 1.5}, 1_000, 2, 17)


@pytest.mark.parametrize(("key", "expected"), [(b"ada", "ada"), ("ada", "ada"), (7, 7)])
def test_an_event_without_a_value_deletes_what_its_key_names(key: Any, expected: Any) -> None:
    assert row_of(event(None, key)) == Row(expected, None, 1_000, 2, 17)


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (event({"price": 1}), "no field 'id'"),
        (event({"id": None}), "no field 'id'"),
        (event(b"{}"), 'value="json"'),
        (event(None), "neither value nor key"),
        (event(None, b"\xff"), "not UTF-8"),
    ],
)
def test_an_event_that_is_no_row_is_named(bad: Event, said: str) -> None:
    with pytest.raises(RowError, match="orders/2 @17: ") as raised:
        row_of(bad)
    assert said in str(raised.value)


def test_time_partition_and_offset_decide_together_which_is_newest() -> None:
    rows = [
        Row("a", {}, 5, 0, 9),
        Row("a", {}, 5, 1, 2),
        Row("a", {}, 5, 1, 1),
        Row("b", {}, 0, 0, 0),
    ]
    for order in (rows, rows[::-1]):
        assert sorted(latest(order)) == [Row("a", {}, 5, 1, 2), Row("b", {}, 0, 0, 0)]
