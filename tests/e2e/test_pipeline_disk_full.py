"""Pipelines whose disk is full: each says so, and goes on without a loss when there is room."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from tests import foreign
from tests.broker_process import BrokerProcess
from tests.lake_rows import foreign_rows
from tests.queries import finish
from tests.small_disks import no_room_left
from tests.table_contents import in_sqlite

from kafkaesque.client.profiles import connection_of
from kafkaesque.pipelines import archive, upsert
from kafkaesque.pipelines.context import Context
from kafkaesque.pipelines.failures import reason_of
from kafkaesque.pipelines.lake.warehouse import table_name
from kafkaesque.pipelines.tables.errors import DatabaseAwayError

pytestmark = pytest.mark.slow

Run = Callable[[Callable[[Context], Sequence[StreamingQuery]]], None]


@pytest.fixture
def topic(broker: BrokerProcess) -> str:
    return foreign.create_topic(broker.bootstrap)


@pytest.fixture
def run(broker: BrokerProcess, spark: SparkSession, tmp_path: Path) -> Run:
    def run_it(start: Callable[[Context], Sequence[StreamingQuery]]) -> None:
        connection = connection_of(broker.bootstrap)
        place = str(tmp_path / "checkpoints")
        finish(start(Context("full", spark, connection, place, once=True)))

    return run_it


def events(first: int, stop: int) -> list[str]:
    return [f'{{"id": "{each}", "n": {each}}}' for each in range(first, stop)]


def test_an_archive_goes_on_when_there_is_room(
    run: Run, broker: BrokerProcess, topic: str, small_disk: Path
) -> None:
    archiving = partial(archive.start, topics=[topic], warehouse=str(small_disk / "lake"))
    foreign.produce(broker.bootstrap, topic, events(0, 5))
    run(archiving)
    foreign.produce(broker.bootstrap, topic, events(5, 9))
    with no_room_left(small_disk), pytest.raises(PySparkException) as failed:
        run(archiving)
    assert "No space left on device" in reason_of(failed.value)
    run(archiving)
    rows = foreign_rows(small_disk / "lake", table_name(topic))
    assert [row["value"].decode() for row in rows] == events(0, 9)


def test_an_upsert_goes_on_when_there_is_room(
    run: Run, broker: BrokerProcess, topic: str, small_disk: Path
) -> None:
    path = small_disk / "t.db"
    upserting = partial(upsert.start, topic=topic, to=f"sqlite:///{path}", table="t", patience_s=0)
    foreign.produce(broker.bootstrap, topic, events(0, 5))
    run(upserting)
    foreign.produce(broker.bootstrap, topic, events(5, 2000))
    with no_room_left(small_disk), pytest.raises(DatabaseAwayError, match="that the disk has room"):
        run(upserting)
    run(upserting)
    found = {key: fields for key, (_, fields) in in_sqlite(path, "t").items()}
    assert found == {str(each): {"n": each} for each in range(2000)}
