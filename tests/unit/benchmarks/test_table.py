"""The table shows medians, ratios to the reference, and bars; in a terminal its columns align."""

from dataclasses import replace

import pytest
from benchmarks.drive import Load
from benchmarks.figures.figure import percentile, percentiles
from benchmarks.figures.rate import title
from benchmarks.report import Report, Row
from benchmarks.table import as_markdown, as_text, number

COLD = Row("start", "cold start", "s", {"Kafka": (4.0, 5.0, 6.0), "durable": (0.4,)})
TRIP = Row("trip", "round trip, p99.9", "ms", {"Kafka": (4.0,), "durable": (1.0,), "caching": (2,)})
REPORT = Report(
    taken="2026-01-02T03:04:05Z",
    command="python -m benchmarks --quick",
    seconds=61.5,
    versions={"Java": "17", "cores": "2"},
    variants=("Kafka", "durable", "caching"),
    reference="Kafka",
    rows=(COLD, TRIP),
)


def test_a_line_has_each_median_and_its_ratio_to_the_reference() -> None:
    line = as_markdown(REPORT, [COLD]).splitlines()[-1]
    assert line == "| cold start | s | 5.00 | 0.40 | 0.08 | – | – | durable ≤0.1× ok |"


def test_a_missed_bar_shouts() -> None:
    slow = Row("start", "cold start", "s", {"Kafka": (5.0,), "durable": (1.0,)})
    assert "durable ≤0.1× MISSED" in as_markdown(REPORT, [slow])


def test_columns_of_the_terminal_align() -> None:
    head, *lines, _ = as_text(REPORT).splitlines()
    end = head.index("Kafka") + len("Kafka")
    assert [line[end - 4 : end] for line in lines] == ["5.00", "4.00"]


def test_lines_of_the_terminal_begin_with_their_figure_and_end_with_the_count_of_bars() -> None:
    warm = replace(TRIP, figure="trip-warm")
    _, *lines, last = as_text(replace(REPORT, rows=(*REPORT.rows, warm))).splitlines()
    assert [line.split()[0] for line in lines] == ["start", "trip", "trip-warm"]
    assert last == "1 of 1 bars hold (start 1 of 1)"


@pytest.mark.parametrize(
    ("value", "shown"),
    [(None, "–"), (0.123, "0.12"), (9.99, "9.99"), (12.34, "12.3"), (1234.5, "1,234")],
)
def test_numbers_have_the_digits_that_count(value: float | None, shown: str) -> None:
    assert number(value) == shown


def test_a_percentile_is_a_value_that_was_measured() -> None:
    values = [float(value) for value in range(1000, 0, -1)]
    assert percentile(values, 50) == 500.0
    assert percentile(values, 99) == 990.0
    assert percentile(values, 99.9) == 999.0
    assert percentile([7.0], 50) == 7.0


def test_percentiles_are_named_after_their_percents() -> None:
    names = [measured.name for measured in percentiles("trip", [1.0, 2.0], 50, 99.9)]
    assert names == ["trip, p50", "trip, p99.9"]


def test_a_load_says_what_it_is() -> None:
    assert title(Load(100, 1, partitions=100, producers=10, spread=True)) == (
        "100 B, 100 partitions, 10 producers, spread"
    )
    assert title(Load()) == "1 KB, 1 partition, 1 producer"
