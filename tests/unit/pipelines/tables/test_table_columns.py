"""Which column a value needs, and which values a column takes."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from kafkaesque.pipelines.tables.columns import ColumnType, MisfitError, fitted, type_for

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["a", None], "text"),
        ([1, None], "bigint"),
        ([1.5], "double"),
        ([1, 2.5], "double"),
        ([True], "boolean"),
        ([NOON], "timestamp"),
        ([{"a": 1}, [1]], "json"),
        (["2026-01-02T12:00:00Z"], "text"),
        ([None], None),
    ],
)
def test_values_choose_their_column(values: list[Any], expected: ColumnType | None) -> None:
    assert type_for(values) == expected


@pytest.mark.parametrize("values", [[1, "a"], [None, True, 1], ["a", {}], ["a", b"a"]])
def test_values_that_no_column_holds_together_are_refused_at_the_later_one(
    values: list[Any],
) -> None:
    with pytest.raises(MisfitError) as raised:
        type_for(values)
    assert raised.value.index == len(values) - 1


@pytest.mark.parametrize(
    ("column_type", "values", "expected"),
    [
        ("text", ["ä", None], ["ä", None]),
        ("bigint", [2**63 - 1, -(2**63)], [2**63 - 1, -(2**63)]),
        ("double", [1, 0.5], [1.0, 0.5]),
        ("boolean", [True, None], [True, None]),
        ("timestamp", ["2026-01-02T12:00:00Z", None], [NOON, None]),
        ("timestamp", [NOON.astimezone(timezone(timedelta(hours=3)))], [NOON]),
        ("timestamp", [NOON.replace(tzinfo=None)], [NOON]),
        ("json", [{"a": [1]}, "x", None], ['{"a":[1]}', '"x"', None]),
    ],
)
def test_values_that_fit(column_type: ColumnType, values: list[Any], expected: list[Any]) -> None:
    stored = fitted(values, column_type)
    assert stored == expected
    assert list(map(type, stored)) == list(map(type, expected))


@pytest.mark.parametrize(
    ("column_type", "value"),
    [
        ("text", 1),
        ("text", "a\0b"),
        ("text", "\ud800"),
        ("bigint", 2**63),
        ("bigint", True),
        ("bigint", 1.0),
        ("bigint", "1"),
        ("double", float("nan")),
        ("double", 10**400),
        ("double", False),
        ("boolean", 1),
        ("timestamp", "yesterday"),
        ("timestamp", 5),
        ("json", b"x"),
        ("json", {1: 2}),
    ],
)
def test_a_value_that_does_not_fit_is_found(column_type: ColumnType, value: Any) -> None:
    with pytest.raises(MisfitError, match=f"does not fit a column of type {column_type}") as raised:
        fitted([None, value], column_type)
    assert raised.value.index == 1
