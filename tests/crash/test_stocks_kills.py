"""`make crash`: the pipeline `stocks` while its driver and its broker are killed, 30 times over.

What is in the topic and in the lake at the end is what an undisturbed run would have left there.
"""

import threading
from pathlib import Path
from random import Random

import pytest
from tests import foreign, stocks_run
from tests.broker_process import BrokerProcess
from tests.lake_rows import foreign_table
from tests.stock_candles import Placed, assert_same, closed_by, moment, walk
from tests.stocks_run import JSON, START_US

from kafkaesque.pipelines.session import session, stop
from kafkaesque.pipelines.stocks import Stocks

ROUNDS = 30
TICKERS = ("AAPL", "AMZN", "GOOG")


class Feeding:
    """Ticks one after the other, until it is told to end; brokers may come and go."""

    def __init__(self, brokers: str) -> None:
        self.placed: list[Placed] = []
        self._feed = stocks_run.Feed(brokers)
        self._ticks = iter(walk(500_000, TICKERS, START_US, 400_000, 5_000_000))
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def end(self) -> list[Placed]:
        self._ended.set()
        self._thread.join()
        return self.placed

    def _run(self) -> None:
        while not self._ended.wait(0.05):
            self.placed += self._feed.send(JSON, [next(self._ticks) for _ in range(5)])


@pytest.mark.crash
@pytest.mark.timeout(3600)
def test_topic_and_lake_are_right_after_every_kill(tmp_path: Path) -> None:
    random, checkpoints, lake = Random(11), tmp_path / "c", tmp_path / "lake"
    with BrokerProcess(tmp_path / "data") as broker:
        foreign.create_topic(broker.bootstrap, JSON, partitions=stocks_run.PARTITIONS)
        feeding = Feeding(broker.bootstrap)
        for number in range(ROUNDS):
            driver = stocks_run.Driver(broker.bootstrap, checkpoints, lake)
            driver.wait_until_it_runs()
            threading.Event().wait(random.uniform(0, 12))
            if number % 3 == 2:
                broker.kill()
                threading.Event().wait(random.uniform(0, 1))
                broker.start()
                threading.Event().wait(random.uniform(0, 3))
            driver.kill()
        good = feeding.end()
        spark = session("finish", "local[2]", {"spark.driver.memory": "1g"})
        context = stocks_run.context(spark, broker.bootstrap, checkpoints, once=True)
        stocks_run.run_once(context, Stocks(warehouse=str(lake)))
        stop(spark)
        stocks_run.assert_complete(broker.bootstrap, good)
    rows = foreign_table(lake, "lake.stock_ohlc").scan().to_arrow().to_pylist()
    for row in rows:
        for name in ("start", "end"):
            row[name] = moment(round(row[name].timestamp() * 1e6))
    found = {f"{row['ticker']}|{row['window']}|{row['start']}": row for row in rows}
    assert len(found) == len(rows)
    assert_same(found, {**closed_by(good, 1), **closed_by(good, 5)})
