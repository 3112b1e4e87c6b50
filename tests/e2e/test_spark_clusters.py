"""Source, sink and every pipeline with executors in processes of their own, as on a cluster."""

import json
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from tests import foreign
from tests.broker_process import BrokerProcess
from tests.lake_rows import foreign_rows
from tests.spark_cluster import SparkCluster
from tests.stock_candles import assert_same, latest, of_kind, reckoned, walk
from tests.stocks_run import JSON, START_US, Feed

pytestmark = pytest.mark.cluster

COUNT = 60
PLACE = Path(__file__).parents[2]


def on(master: str, brokers: str, directory: Path) -> None:
    """Run everything, and compare what came out with what went in."""
    values = [b'{"id": "%d", "n": %d}' % (each, each) for each in range(COUNT)]
    for topic in ("numbers", "doubled", JSON):
        foreign.create_topic(brokers, topic, partitions=2)
    for partition in (0, 1):
        foreign.produce(brokers, "numbers", values[partition::2], partition=partition)
    ticks = Feed(brokers).send(JSON, walk(200, ["AMZN", "GOOG"], START_US, 1_000_000, 1000))
    command = [sys.executable, "-m", "tests.cluster_driver", master, brokers, str(directory)]
    done = subprocess.run(command, cwd=PLACE, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr[-3000:]

    doubled = [
        json.loads(each.value() or b"")
        for number in (0, 1)
        for each in foreign.read_all(brokers, "doubled", number)
    ]
    assert sorted(each["n"] for each in doubled) == [2 * each for each in range(COUNT)]
    rows = foreign_rows(directory / "lake", "lake.numbers")
    assert sorted(row["value"] for row in rows) == sorted(values)
    with sqlite3.connect(directory / "numbers.db") as database:
        kept = database.execute("SELECT id, n FROM numbers").fetchall()
    assert sorted(kept) == sorted((str(each), each) for each in range(COUNT))
    records = [
        (each.key(), each.value())
        for number in range(3)
        for each in foreign.read_all(brokers, "stock_ohlc", number)
    ]
    assert_same(of_kind(latest(records), "1m"), reckoned(ticks))
    homes = json.loads(done.stdout.splitlines()[-1])
    assert len(homes) >= 2, "both executors have worked"
    assert all(".zip/" in home for home in homes), "and with the code that the driver sent"


@pytest.mark.timeout(300)
def test_a_standalone_master_with_two_workers(tmp_path: Path, broker: BrokerProcess) -> None:
    with SparkCluster(tmp_path / "cluster") as cluster:
        on(cluster.url, broker.bootstrap, tmp_path)


@pytest.mark.timeout(300)
def test_two_executors_of_a_local_cluster(tmp_path: Path, broker: BrokerProcess) -> None:
    on("local-cluster[2,1,1024]", broker.bootstrap, tmp_path)
