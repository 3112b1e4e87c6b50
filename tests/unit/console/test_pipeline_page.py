"""What the page of pipelines shows: states, figures of queries, the last minutes, what is asked."""

from dataclasses import replace

import pytest

from kafkaesque.client.pipelines import SILENT_MS, Command, PipelineStatus, QueryStatus, State
from kafkaesque.console.pipelines_figures import (
    BACK_MS,
    OBEYS_WITHIN_MS,
    History,
    pending,
    rows,
    verb_for,
)

NOW_MS = 1_794_794_400_000
MINUTES = QueryStatus(
    "stocks.minutes",
    batch=12,
    rows_in=500,
    rate_in=100.0,
    rate_processed=900.0,
    latency_ms=150,
    watermark_ms=NOW_MS - 10_000,
    state_rows=40,
    state_bytes=4096,
    late_rows=3,
    behind=25,
    source="stock_json_topic",
    sink="stock_ohlc",
)


def status(state: State = "running", name: str = "stocks", at_ms: int = NOW_MS) -> PipelineStatus:
    return PipelineStatus(name, f"run of {name}", state, at_ms, NOW_MS - 60_000, queries=(MINUTES,))


def test_a_query_shows_its_figures_and_how_far_its_watermark_is_behind() -> None:
    (row,) = rows([status()], {}, History(), NOW_MS)
    assert (row["state"], row["verb"], row["pending"]) == ("running", "stop", None)
    assert (row["age"], row["silent"]) == (60_000, None)
    (query,) = row["queries"]
    assert query["name"] == "minutes"
    assert (query["source"], query["sink"]) == ("stock_json_topic", "stock_ohlc")
    assert (query["rate_in"], query["rate_processed"], query["latency"]) == (100.0, 900.0, 150)
    assert (query["watermark"], query["watermark_behind"]) == (NOW_MS - 10_000, 10_000)
    assert (query["state_rows"], query["state_bytes"]) == (40, 4096)
    assert (query["late"], query["behind"]) == (3, 25)


def test_what_is_not_known_yet_stays_unknown() -> None:
    silent = replace(status(), queries=(QueryStatus("stocks.late"),))
    (query,) = rows([silent], {}, History(), NOW_MS)[0]["queries"]
    names = ("batch", "rate_in", "latency", "watermark", "watermark_behind", "behind")
    assert [query[name] for name in names] == [None] * len(names)


def test_a_pipeline_that_stopped_has_no_rate_of_now() -> None:
    (query,) = rows([status("stopped")], {}, History(), NOW_MS)[0]["queries"]
    assert (query["rate_in"], query["rate_processed"], query["rows"]) == (None, None, 500)


def test_a_pipeline_that_says_nothing_is_lost_and_cannot_be_told_anything() -> None:
    silent = status(at_ms=NOW_MS - SILENT_MS - 1)
    stop = Command("stop", "stocks", silent.run, NOW_MS)
    (row,) = rows([silent], {"stocks": stop}, History(), NOW_MS)
    assert (row["state"], row["verb"], row["pending"]) == ("lost", None, None)
    assert row["silent"] == SILENT_MS + 1


@pytest.mark.parametrize(
    ("state", "verb"),
    [
        ("starting", "stop"),
        ("running", "stop"),
        ("restarting", "stop"),
        ("stopped", "start"),
        ("finished", None),
        ("failed", None),
        ("lost", None),
    ],
)
def test_only_what_waits_can_be_started_and_only_what_works_be_stopped(
    state: str, verb: str | None
) -> None:
    assert verb_for(state) == verb


def test_a_command_is_pending_until_the_run_has_followed_it() -> None:
    running, stopped = status(), status("stopped")
    stop = Command("stop", "stocks", running.run, NOW_MS)
    assert pending(running, stop, NOW_MS) == "stop"
    assert pending(stopped, stop, NOW_MS) is None
    assert pending(stopped, replace(stop, verb="start"), NOW_MS) == "start"
    assert pending(running, replace(stop, verb="start"), NOW_MS) is None
    assert pending(running, replace(stop, run="another"), NOW_MS) is None
    assert pending(running, None, NOW_MS) is None
    assert pending(running, stop, NOW_MS + OBEYS_WITHIN_MS + 1) is None


def test_those_that_are_alive_come_first_then_what_ended_last() -> None:
    told = [
        status("failed", "a", NOW_MS - 9000),
        status("finished", "b", NOW_MS - 5000),
        status("running", "z"),
        status("stopped", "m"),
        status("running", "c", NOW_MS - SILENT_MS - 1),
    ]
    assert [row["name"] for row in rows(told, {}, History(), NOW_MS)] == ["m", "z", "b", "a", "c"]


def test_the_last_minutes_are_those_of_what_was_said_while_it_ran() -> None:
    history = History()
    history.add([status(at_ms=NOW_MS - BACK_MS - 1), status(at_ms=NOW_MS - 2000)])
    history.add([status("restarting", at_ms=NOW_MS - 1000), status()])
    points = history.points("stocks", "stocks.minutes")
    assert [point.at_ms for point in points] == [NOW_MS - 2000, NOW_MS]
    (query,) = rows([status()], {}, history, NOW_MS)[0]["queries"]
    assert query["times"] == [NOW_MS - 2000, NOW_MS]
    assert (query["rates"], query["latencies"]) == ([100.0, 100.0], [150, 150])


def test_another_run_begins_its_minutes_anew() -> None:
    history = History()
    history.add([status(), status(name="archive")])
    history.add([replace(status(), run="another")])
    assert len(history.points("stocks", "stocks.minutes")) == 1
    assert len(history.points("archive", "stocks.minutes")) == 1
    history.add([replace(status("starting"), run="a third")])
    assert history.points("stocks", "stocks.minutes") == []
