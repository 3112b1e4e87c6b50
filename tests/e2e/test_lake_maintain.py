"""`kafkaesque lake maintain` while an archive runs and readers read."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests import foreign
from tests.broker_process import BrokerProcess
from tests.lake_rows import foreign_rows, foreign_table, places
from typer.testing import CliRunner

from kafkaesque.cli.lake.app import app
from kafkaesque.client.profiles import connection_of
from kafkaesque.pipelines import archive
from kafkaesque.pipelines.context import Context
from kafkaesque.pipelines.lake.committing import written_of
from kafkaesque.pipelines.lake.warehouse import table_name

pytestmark = pytest.mark.slow


def test_maintenance_beside_a_running_archive_changes_no_row(
    spark: SparkSession, broker: BrokerProcess, tmp_path: Path
) -> None:
    brokers, lake = broker.bootstrap, tmp_path / "lake"
    topic = foreign.create_topic(brokers, partitions=2)
    values = [b"%05d" % each for each in range(400)]
    for partition in (0, 1):
        foreign.produce(brokers, topic, values, partition=partition)
    context = Context(
        "archive", spark, connection_of(brokers), str(tmp_path / "kept"), interval="0 seconds"
    )
    (query,) = archive.start(context, topics=[topic], warehouse=str(lake), rows_per_batch=100)
    merged = 0
    try:
        name = table_name(topic)
        while len(places(lake, name)) < 800:
            assert query.isActive, query.exception()
            options = ["--keep-snapshots", "1", "--older-than", "0s"]
            done = CliRunner().invoke(app, ["maintain", "--warehouse", str(lake), *options])
            assert done.exit_code == 0, done.output
            merged += int(done.stdout.splitlines()[1].split()[-3])
        query.processAllAvailable()
    finally:
        query.stop()
    assert merged > 0
    rows = [(row["partition"], row["value"]) for row in foreign_rows(lake, name)]
    assert rows == [(partition, value) for partition in (0, 1) for value in values]
    assert written_of(foreign_table(lake, name)).marks == {"0": 399, "1": 399}
