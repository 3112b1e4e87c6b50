"""The Python of the pages on pipelines, run as it stands, but for addresses and places."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from tests import foreign, stocks_run
from tests.broker_process import BrokerProcess

from kafkaesque.client.profiles import connection_of
from kafkaesque.pipelines import archive
from kafkaesque.pipelines.context import Context
from kafkaesque.pipelines.files import load

pytestmark = pytest.mark.slow

DOCS = Path(__file__).parents[2] / "docs"
TICKS = 90
TOPIC = "stock_json_topic"


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """With ticks, a second apart."""
    with BrokerProcess(tmp_path_factory.mktemp("pages") / "data") as process:
        foreign.create_topic(process.bootstrap, TOPIC)
        moments = (f"2026-11-16T10:{each // 60:02}:{each % 60:02}" for each in range(TICKS))
        ticks = [{"event_time": each, "ticker": "AMZN", "price": 74.95} for each in moments]
        foreign.produce(process.bootstrap, TOPIC, [json.dumps(each).encode() for each in ticks])
        yield process.bootstrap


def blocks(page: str, brokers: str, **places: object) -> list[str]:
    """Those of Python, with this broker's address, and each of these places for its own."""
    text = (DOCS / page).read_text()
    for theirs, ours in {"127.0.0.1:9092": brokers, "localhost:9092": brokers, **places}.items():
        assert theirs in text or ours is brokers, f"{page} does not say {theirs} any more"
        text = text.replace(theirs, str(ours))
    return re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S)


def run(block: str, **names: Any) -> dict[str, Any]:
    exec(block, names)
    return names


def finish(queries: list[StreamingQuery]) -> None:
    for query in queries:
        query.processAllAvailable()
        query.stop()


def test_the_source_shows_ticks(spark: SparkSession, brokers: str) -> None:
    (block,) = blocks("reference/spark.md", brokers)
    try:
        run(block)
        (query,) = spark.streams.active
        query.processAllAvailable()
        assert sum(report["numInputRows"] for report in query.recentProgress) == TICKS
    finally:
        finish(spark.streams.active)


def test_stocks_is_used_in_a_program(spark: SparkSession, brokers: str, tmp_path: Path) -> None:
    (block,) = blocks("howto/pipelines-stocks.md", brokers, **{"checkpoints/stocks": tmp_path})
    # It would wait for ever.
    assert "awaitTermination" in block
    run(block.replace("awaitTermination", "processAllAvailable"))
    finish(spark.streams.active)
    counts = [candle["count"] for candle in stocks_run.candles(brokers).values()]
    assert sorted(counts) == [TICKS - 60, 60]


def test_a_pipeline_of_ones_own(spark: SparkSession, brokers: str, tmp_path: Path) -> None:
    (block,) = blocks("howto/pipelines.md", brokers)
    foreign.create_topic(brokers, "orders")
    foreign.create_topic(brokers, "large_orders")
    orders = [b'{"id": "a", "amount": 99}', b'{"id": "b", "amount": 101}']
    foreign.produce(brokers, "orders", orders)
    path = tmp_path / "shop.py"
    path.write_text(block)
    places = str(tmp_path / "checkpoints")
    context = Context("shop", spark, connection_of(brokers), places, once=True)
    for query in load(path).start(context):
        assert query.awaitTermination(60)
    (record,) = foreign.read_all(brokers, "large_orders")
    assert record.key() == b"b"
    assert json.loads(record.value() or b"") == {"id": "b", "amount": 101.0}


def test_the_lake_is_read_and_written(spark: SparkSession, brokers: str, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    context = Context("lake", spark, connection_of(brokers), str(tmp_path / "archive"), once=True)
    for query in archive.start(context, topics=[TOPIC], warehouse=str(lake)):
        assert query.awaitTermination(60)
    places = {
        "sqlite:///lake/": f"sqlite:///{lake}/",
        "file:///abs/lake": f"file://{lake}",
        '"warehouse", "lake"': f'"warehouse", "{lake}"',
        'warehouse="lake"': f'warehouse="{lake}"',
        '"kept"': f'"{tmp_path}/kept"',
        "offset >= 1000": "offset >= 10",
    }
    by_pyiceberg, by_spark, whole, sink = blocks("howto/lake.md", brokers, **places)
    assert len(run(by_pyiceberg)["rows"]) == TICKS - 10
    assert len(run(f"rows = {by_spark.strip()}.collect()", spark=spark)["rows"]) == TICKS
    assert run(whole, spark=spark)["ticks"].count() == TICKS

    ticks = context.read(TOPIC, "ticks", startingOffsets="earliest")
    run(sink, frame=ticks.selectExpr("offset AS end", "value"))
    finish(spark.streams.active)
    table = by_spark.replace(f"lake.{TOPIC}", "lake.candles").strip()
    assert len(run(f"rows = {table}.collect()", spark=spark)["rows"]) == TICKS
