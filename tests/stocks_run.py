"""The pipeline `stocks` on a test's own broker: ticks in, and what came out.

python -m tests.stocks_run BROKERS CHECKPOINTS [WAREHOUSE]     runs until it is killed
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from confluent_kafka import Message, Producer, TopicPartition
from tests import foreign
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
END_S = 200
_TOGETHER = 5


def context(
    spark: "SparkSession", brokers: str, checkpoints: Path, registry: str | None = None, **more: Any
) -> Context:
    return Context("stocks", spark, connection_of(brokers), str(checkpoints), registry, **more)


class Feed:
    """Sends ticks in their order, a few at a time: so no partition is far ahead of another."""

    def __init__(self, brokers: str) -> None:
        settings = {"enable.idempotence": True, "linger.ms": 5, "log_level": 0}
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
    for query in queries:
        try:
            assert query.awaitTermination(END_S), f"{query.name} does not end"
        finally:
            query.stop()
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


def has_any(brokers: str, topic: str) -> bool:
    return any(foreign.watermarks(brokers, topic, each)[1] for each in range(PARTITIONS))


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


class Driver:
    """The pipeline in processes of its own: Python, the JVM and its workers, killed all at once."""

    def __init__(self, brokers: str, checkpoints: Path, *warehouse: Path) -> None:
        command = [sys.executable, "-m", "tests.stocks_run", brokers, checkpoints, *warehouse]
        self._process = subprocess.Popen(
            list(map(str, command)), stdout=subprocess.PIPE, start_new_session=True
        )

    def wait_until_it_runs(self) -> None:
        assert self._process.stdout is not None
        self._process.stdout.readline()

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()


def main() -> None:
    from kafkaesque.pipelines.session import session
    from kafkaesque.pipelines.stocks import Stocks

    brokers, checkpoints, *warehouse = sys.argv[1:]
    spark = session("stocks", "local[2]", {"spark.driver.memory": "1g"})
    spark.sparkContext.setLogLevel("OFF")
    found = context(spark, brokers, Path(checkpoints), interval="100 milliseconds")
    stocks = Stocks(warehouse=warehouse[0] if warehouse else None)
    while True:
        # What fails, as when the broker is away, is tried again.
        with suppress(Exception):
            run_on(found, stocks)
        for query in spark.streams.active:
            query.stop()
        time.sleep(0.5)


def run_on(found: Context, stocks: Any) -> None:
    """Until one of the queries fails."""
    from kafkaesque.pipelines.stocks import start

    queries = start(found, stocks)
    sys.stdout.write("runs\n")
    sys.stdout.flush()
    while all(query.isActive for query in queries):
        time.sleep(0.1)


if __name__ == "__main__":
    main()
