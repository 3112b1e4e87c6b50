"""What a terminal shows of a pipeline that runs."""

import pytest

from kafkaesque.cli.pipeline.progress import summary
from kafkaesque.client.pipelines import PipelineStatus, QueryStatus, State


def status(*queries: QueryStatus, state: State = "running") -> PipelineStatus:
    return PipelineStatus("prices", "5e0c", state, at_ms=2, started_ms=1, queries=queries)


def half(rate_in: float = 25.0) -> QueryStatus:
    return QueryStatus("q", 3, rows_in=500, rate_in=rate_in, latency_ms=1200, behind=500)


def test_before_there_are_figures_it_says_what_it_is_doing() -> None:
    assert summary(status(state="starting")) == "prices: starting"
    assert summary(status()) == "prices: running"
    assert summary(status(QueryStatus("q"))) == "prices: running, no batch is done yet"
    assert summary(status(half(), state="restarting")) == "prices: restarting"


def test_the_bar_is_what_is_read_of_what_there_is() -> None:
    bar = "[##########----------]  50%"
    figures = "500 rows, 25/s, 500 behind, 20 s left, 1.2 s a batch"
    assert summary(status(half())) == f"prices {bar}  {figures}"


def test_a_bar_is_full_when_nothing_is_left_and_not_before() -> None:
    done = QueryStatus("q", 9, rows_in=999_999, rate_in=0.0, latency_ms=80, behind=0)
    assert "[####################] 100%  999,999 rows, 0/s, 0.1 s a batch" in summary(status(done))
    nearly = QueryStatus("q", 9, rows_in=999_999, rate_in=0.0, behind=1)
    assert "[###################-]  99%" in summary(status(nearly))


@pytest.mark.parametrize("unknown", [None, 0.0])
def test_after_one_batch_the_rate_is_that_of_its_work(unknown: float | None) -> None:
    first = QueryStatus("q", 0, rows_in=500, rate_in=unknown, rate_processed=100.0, behind=500)
    assert "500 rows, 100/s, 500 behind, 5 s left" in summary(status(first))


def test_the_slowest_query_says_how_long_it_takes() -> None:
    line = summary(status(half(), half(rate_in=2.0)))
    assert "1,000 rows, 27/s, 1,000 behind, 4 min left" in line


def test_where_no_source_says_what_there_is_there_is_no_bar() -> None:
    rates = QueryStatus("q", 3, rows_in=500, rate_in=25.0, latency_ms=1200)
    assert summary(status(rates)) == "prices 500 rows, 25/s, 1.2 s a batch"
