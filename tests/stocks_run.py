"""The pipeline `stocks` on a test's own broker: ticks in, and what came out."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from confluent_kafka import Message, Producer, TopicPartition
from tests import foreign
from tests.queries import finish
from tests.stock_candles import (
    Placed,
    assert_same,
    closed_by,
    latest,
    of_kind,
    reckoned,
)

from kafkaesque.client.profiles import connection_of
from kafkaesque.demo.ticks import Encode, Tick
from kafkaesque.pipelines.context import Context

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JSON, AVRO = "stock_json_topic", "stock_avro_topic"
PARTITIONS = 3
START_US = 1_700_000_040_000_000
"""A full minute."""
_TOGETHER = 5


def context(
    spark: "SparkSession", brokers: str, checkpoints: Path, registry: str | None = None, **more: Any
) -> Context:
    return Context("stocks", spark, connection_of(brokers), str(checkpoints), registry, **more)


class Feed:
    """Sends ticks in their order, a few at a time: so no partition is far ahead of another."""

    def __init__(self, brokers: str) -> None:
        settings = {"enable.idempotence": True, "reconnect.backoff.max.ms": 200, "log_level": 0}
        self._producer = Producer({"bootstrap.servers": brokers, **settings})

    def send(
        self, topic: str, ticks: Sequence[Tick], encode: Encode = Tick.to_json
    ) -> list[Placed]:
        placed: list[Placed] = []
        for start in range(0, len(ticks), _TOGETHER):
            for tick in ticks[start : start + _TOGETHER]:
                told = partial(_delivered, placed, tick)
                partition = sum(tick.ticker.encode()) % PARTITIONS
                value = encode(tick)
                self._producer.produce(topic, value, partition=partition, on_delivery=told)
            assert self._producer.flush(60) == 0, "ticks are not acknowledged"
        assert len(placed) == len(ticks)
        return placed


def _delivered(placed: list[Placed], tick: Tick, error: Any, message: Message) -> None:
    if error is None:
        place = message.topic() or "", message.partition() or 0, message.offset() or 0
        placed.append(Placed(tick, *place))


def run_once(found: Context, stocks: Any = None) -> list[Any]:
    """All there is: the queries, which have ended."""
    from kafkaesque.pipelines.stocks import start

    queries = start(found, stocks)
    finish(queries)
    return queries


def messages(brokers: str, topic: str) -> list[Message]:
    """All that is committed in a topic."""
    found: list[Message] = []
    for partition in range(PARTITIONS):
        reader = foreign.consumer(brokers, enable_partition_eof=True)
        reader.assign([TopicPartition(topic, partition, 0)])
        while (message := reader.poll(foreign.TIMEOUT_S)) is not None and not message.error():
            found.append(message)
        reader.close()
    return found


def candles(brokers: str) -> dict[str, dict[str, Any]]:
    return latest((each.key(), each.value()) for each in messages(brokers, "stock_ohlc"))


def assert_complete(brokers: str, good: list[Placed]) -> None:
    """All minutes as they are, closed windows once each, and nothing left out."""
    told = messages(brokers, "stock_ohlc")
    found = latest((each.key(), each.value()) for each in told)
    assert_same(of_kind(found, "1m"), reckoned(good))
    assert_same(of_kind(found, "5m"), closed_by(good, 5))
    wide = [each.key() for each in told if b"|5m|" in (each.key() or b"")]
    assert len(wide) == len(set(wide))
    assert not messages(brokers, "stock_late")
