"""The page says what was measured on which brokers, and in which figure a bar was missed."""

from benchmarks.page import page
from benchmarks.report import Report, Row

COLD = Row("start", "cold start", "s", {"Kafka": (4.0, 5.0), "durable": (0.4, 0.4)})
TRIP = Row("trip", "round trip, p50", "ms", {"Kafka": (1.0,) * 4, "caching": (0.5,) * 4})
WARM = Row("trip-warm", "round trip, p50", "ms", {"Kafka": (1.0,) * 3, "caching": (0.9,) * 3})


def written(*rows: Row) -> str:
    return page(
        Report(
            taken="2026-01-02T03:04:05Z",
            command="python -m benchmarks --quick",
            seconds=61.5,
            versions={"Java": "17", "cores": "2"},
            variants=("Kafka", "durable", "caching"),
            reference="Kafka",
            rows=rows,
        )
    )


def test_the_page_has_the_command_the_versions_and_the_rows_of_each_figure() -> None:
    text = written(COLD, TRIP)
    assert "`python -m benchmarks --quick` on 2026-01-02" in text
    assert "Java 17, cores 2." in text
    assert text.index("## `start`") < text.index("| cold start |") < text.index("## `trip`")
    assert "## `loads`" not in text
    assert "2 of 2 bars hold (start 1 of 1, trip 1 of 1).\n\n" in text


def test_a_missed_bar_is_named_with_its_figure() -> None:
    text = written(TRIP, WARM)
    assert "1 of 2 bars hold (trip 1 of 1, trip-warm 0 of 1). Missed:" in text
    assert "- `trip-warm`: round trip, p50, ms: caching ≤0.5×\n" in text
    assert "- `trip`: round trip" not in text


def test_a_figure_says_how_many_rounds_there_were_and_on_what() -> None:
    text = written(COLD, TRIP, WARM)
    assert "\nRounds: 2, on a broker of its own in each turn.\n" in text
    assert "\nRounds: 4, on brokers just started: " in text
    assert "\nRounds: 3, on brokers that have been warmed up.\n" in text
