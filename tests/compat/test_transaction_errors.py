"""The table of a transactional producer's mistakes is Apache Kafka's own: the same answers."""

from collections.abc import Iterator

import pytest
from tests.compat.apache_kafka import ApacheKafka
from tests.e2e.transaction_errors import (
    FOREIGN_ROWS,
    ROWS,
    SETTINGS,
    ForeignRow,
    Row,
    answer,
    new_topic,
)

OFTEN = {
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "200",
    "transaction.remove.expired.transaction.cleanup.interval.ms": "500",
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    kafka = ApacheKafka(tmp_path_factory.mktemp("errors") / "data", {**SETTINGS, **OFTEN})
    kafka.start()
    yield kafka.bootstrap, new_topic(kafka.bootstrap)
    kafka.stop()


@pytest.mark.compat
@pytest.mark.parametrize("row", ROWS, ids=str)
def test_apache_kafka_gives_the_same_error(place: tuple[str, str], row: Row) -> None:
    assert answer(*place, row).name == row.error.name


@pytest.mark.compat
@pytest.mark.parametrize("row", FOREIGN_ROWS, ids=lambda row: row.what)
def test_a_foreign_client_of_apache_kafka_too(place: tuple[str, str], row: ForeignRow) -> None:
    assert row.run(*place) == row.error
