"""Whatever order, batches, repeats and two writers at once: a table of PostgreSQL ends as a dict
would, also in CockroachDB's dialect."""

import itertools
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.postgres_process import PostgresProcess
from tests.table_contents import in_postgres, model
from tests.table_histories import deliveries, histories

from kafkaesque.pipelines.tables import Table

WORDS = st.sampled_from(["a", "b", "7", "ä"])
names = (f"t{number}" for number in itertools.count())


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresProcess]:
    with PostgresProcess() as process:
        yield process


@pytest.mark.parametrize("scheme", ["postgresql", "cockroachdb"])
@settings(
    max_examples=10,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data())
def test_any_order_ends_in_the_same_table_of_a_server(
    data: st.DataObject, server: PostgresProcess, scheme: str
) -> None:
    rows = data.draw(histories(WORDS))
    batches = data.draw(deliveries(rows))
    table = next(names)
    url = server.url.replace("postgresql", scheme)

    def feed(writer: int) -> None:
        with Table.open(url, table=table) as opened:
            for each in batches:
                if each.writer == writer:
                    opened.compare_and_set(each.rows)

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(feed, (0, 1)))
    assert not rows or in_postgres(server.url, table) == model(rows)


def test_a_large_batch_goes_by_way_of_a_copy(server: PostgresProcess) -> None:
    from benchmarks.upserts import events

    rows = events(6000, 2500)
    deleted = [row._replace(fields=None, kafka_ts=row.kafka_ts + 1) for row in rows[::9]]
    table = next(names)
    url = f"{server.url}?options=-c%20log_statement%3Dall"
    with Table.open(url, table=table) as opened:
        for given in (rows[3000:], deleted, rows, rows[::-1]):
            opened.compare_and_set(given)
    assert in_postgres(server.url, table) == model([*rows, *deleted])
    assert server.log.count("CREATE TEMPORARY TABLE") == 1
