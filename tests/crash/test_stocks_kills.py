"""The pipeline `stocks` while its workers, its broker and its driver are killed.

What is in the topic and in the lake at the end is what an undisturbed run would have left there.
"""

import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests import foreign, stocks_run
from tests.broker_process import BrokerProcess
from tests.crash.pipeline_kills import Kills, Scene
from tests.lake_rows import foreign_table
from tests.stock_candles import Placed, assert_same, closed_by, moment, walk
from tests.stocks_run import JSON, START_US

from kafkaesque.pipelines import stocks
from kafkaesque.pipelines.stocks import Stocks

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc"),
]

TICKERS = ("AAPL", "AMZN", "GOOG")


class Candles:
    def __init__(self, broker: BrokerProcess, place: Path) -> None:
        self._brokers, self._warehouse = broker.bootstrap, place / "lake"
        foreign.create_topic(self._brokers, JSON, partitions=stocks_run.PARTITIONS)
        self._placed: list[Placed] = []
        self._ticks = iter(walk(500_000, TICKERS, START_US, 400_000, 5_000_000))
        self._feed = stocks_run.Feed(self._brokers)
        scene = Scene(
            "stocks",
            ["stocks", "--warehouse", str(self._warehouse)],
            lambda context: stocks.start(context, Stocks(warehouse=str(self._warehouse))),
            self._send_some,
            queries=3,
        )
        self.kills = Kills(scene, broker, place)

    def compare(self) -> None:
        stocks_run.assert_complete(self._brokers, self._placed)
        rows = foreign_table(self._warehouse, "lake.stock_ohlc").scan().to_arrow().to_pylist()
        for row in rows:
            for name in ("start", "end"):
                row[name] = moment(round(row[name].timestamp() * 1e6))
        found = {f"{row['ticker']}|{row['window']}|{row['start']}": row for row in rows}
        assert len(found) == len(rows)
        assert_same(found, {**closed_by(self._placed, 1), **closed_by(self._placed, 5)})

    def _send_some(self) -> None:
        self._placed += self._feed.send(JSON, [next(self._ticks) for _ in range(5)])


@pytest.mark.timeout(600)
def test_a_killed_worker_broker_or_driver_changes_no_candle(
    broker: BrokerProcess, spark: SparkSession, tmp_path: Path
) -> None:
    candles = Candles(broker, tmp_path)
    kills = candles.kills
    kills.play([kills.worker, kills.broker, kills.driver], spark)
    candles.compare()


@pytest.mark.crash
@pytest.mark.timeout(3600)
def test_topic_and_lake_are_right_whatever_is_killed_again_and_again(
    broker: BrokerProcess, spark: SparkSession, tmp_path: Path
) -> None:
    candles = Candles(broker, tmp_path)
    kills = candles.kills
    workers = [kills.worker, kills.committer, kills.planner]
    kills.play_at_random([*workers, kills.broker, kills.driver], spark)
    candles.compare()
