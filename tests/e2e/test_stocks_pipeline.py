"""The pipeline `stocks`: its candles beside those of a plain reckoning, and what it leaves out."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from tests import foreign, stocks_run
from tests.broker_process import BrokerProcess
from tests.registry_process import RegistryProcess
from tests.stock_candles import Placed, assert_same, closed_by, moment, of_kind, reckoned, walk
from tests.stocks_run import AVRO, JSON, START_US

from kafkaesque.client.registry import RegistryClient
from kafkaesque.demo.avro_ticks import avro_encoder
from kafkaesque.demo.ticks import Tick
from kafkaesque.pipelines.stocks.windows import candles, closed, sliding

TICKERS = ("AAPL", "AMZN", "GOOG")


@pytest.fixture(scope="module")
def broker_process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    with BrokerProcess(tmp_path_factory.mktemp("stocks") / "data") as process:
        yield process


@pytest.fixture
def brokers(broker_process: BrokerProcess) -> Iterator[str]:
    yield broker_process.bootstrap
    for topic in foreign.admin(broker_process.bootstrap).list_topics(timeout=60).topics:
        if topic.startswith("stock_"):
            foreign.delete_topic(broker_process.bootstrap, topic)


def make_inputs(brokers: str) -> None:
    for topic in (JSON, AVRO):
        foreign.create_topic(brokers, topic, partitions=stocks_run.PARTITIONS)


def frame(spark: SparkSession, ticks: list[Placed]) -> DataFrame:
    rows = [
        (
            datetime.fromtimestamp(each.tick.event_time_us / 1e6, UTC),
            each.tick.ticker,
            each.tick.price,
            each.topic,
            each.partition,
            each.offset,
        )
        for each in ticks
    ]
    columns = "event_time TIMESTAMP, ticker STRING, price DOUBLE, topic STRING, partition INT"
    return spark.createDataFrame(rows, f"{columns}, offset LONG").repartition(3)


def as_told(rows: DataFrame) -> dict[str, dict[str, Any]]:
    found = [row.asDict() for row in rows.collect()]
    for each in found:
        for name in ("start", "end"):
            each[name] = moment(round(each[name].astimezone(UTC).timestamp() * 1e6))
    told = {f"{each['ticker']}|{each['window']}|{each['start']}": each for each in found}
    assert len(told) == len(found)
    return told


@pytest.mark.slow
def test_windows_are_those_of_a_plain_reckoning_whatever_the_order(spark: SparkSession) -> None:
    ticks = walk(2000, TICKERS, START_US, 300_000, 5_000_000)
    # Many have the same time: then their places decide.
    placed = [
        Placed(Tick(tick.event_time_us // 500_000 * 500_000, tick.ticker, tick.price), "t", 0, n)
        for n, tick in enumerate(ticks)
    ]
    expected = {**reckoned(placed), **reckoned(placed, 5)}
    Random(1).shuffle(placed)
    assert_same(as_told(closed(sliding(candles(frame(spark, placed), stocks_run.JSON)))), expected)


@pytest.mark.timeout(400)
def test_ticks_of_both_topics_become_candles_and_what_is_left_out_is_sent_elsewhere(
    spark: SparkSession, brokers: str, tmp_path: Path
) -> None:
    make_inputs(brokers)
    with (
        RegistryProcess(brokers, tmp_path / "registry.log") as registry,
        RegistryClient(registry.url) as schemas,
    ):
        encode = avro_encoder(schemas, AVRO)
        context = stocks_run.context(spark, brokers, tmp_path / "c", registry.url, once=True)
        feed = stocks_run.Feed(brokers)
        first = walk(600, TICKERS, START_US, 600_000, 5_000_000)
        good = feed.send(JSON, first[::2])
        good += feed.send(AVRO, first[1::2], encode)
        junk = [b"junk", b'{"ticker": "AAPL", "price": 1.0}']
        foreign.produce(brokers, JSON, junk)
        stocks_run.run_once(context)
        assert_same(of_kind(stocks_run.candles(brokers), "1m"), reckoned(good))

        # Six minutes are over: the first is closed, the last is not.
        late = [Tick(START_US + 5_000_000 + n, "AAPL", 1.0) for n in range(3)]
        feed.send(JSON, late[:2])
        feed.send(AVRO, late[2:], encode)
        ahead = Tick(START_US + 10**15, "GOOG", 5.0)
        feed.send(JSON, [ahead])
        foreign.produce(brokers, AVRO, [b"\x00\x00\x00\x00\x63junk"])
        rest = walk(300, TICKERS, START_US + 600 * 600_000, 600_000, 5_000_000, seed=8)
        good += feed.send(JSON, rest)
        query, _ = stocks_run.run_once(context)
        assert query.late.rows == 5

        found = stocks_run.candles(brokers)
        assert_same(of_kind(found, "1m"), reckoned(good))
        assert_same(of_kind(found, "5m"), closed_by(good, 5))
        assert _letters(brokers, "stock_late") == sorted(
            [late[0].to_json(), late[1].to_json(), encode(late[2])]
        )
        bad = [*junk, ahead.to_json(), b"\x00\x00\x00\x00\x63junk"]
        assert _letters(brokers, "stock_refused") == sorted(bad)
        assert foreign.topic_configs(brokers, "stock_ohlc")["cleanup.policy"].value == "compact"


def _letters(brokers: str, topic: str) -> list[bytes]:
    found = stocks_run.messages(brokers, topic)
    for each in found:
        headers: Any = dict(each.headers() or [])
        assert set(headers) == {"reason"}
        assert len(headers["reason"]) > 10
    return sorted(each.value() or b"" for each in found)
