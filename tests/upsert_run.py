"""The pipeline `upsert` in a process of its own, to be killed, and the events it is fed with.

python -m tests.upsert_run BROKERS CHECKPOINTS TOPIC URL     runs until it is killed
"""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any

from confluent_kafka import Producer
from tests import foreign

from kafkaesque.event import Event
from kafkaesque.pipelines.tables import Row, row_of

TABLE = "t"
PARTITIONS = 2
BATCH_ROWS = 300
KEYS = 200


def make_topic(brokers: str, topic: str | None = None) -> str:
    """For events whose times are long past: none of them is deleted for it."""
    return foreign.create_topic(brokers, topic, PARTITIONS, {"retention.ms": "-1"})


def produce(brokers: str, topic: str, chance: random.Random, count: int, start_ms: int) -> None:
    """Events that set and delete, and do not come in the order of their times; many share one, so
    that partitions and offsets have to decide too."""
    producer = Producer({"bootstrap.servers": brokers, "log_level": 0})
    for number in range(count):
        key = f"k{chance.randrange(KEYS)}"
        fields: dict[str, Any] = {"id": key, "n": chance.randrange(1000), "x": chance.random()}
        if chance.random() < 0.3:
            fields["s"] = "ä" * chance.randrange(4)
        value = None if chance.random() < 0.15 else json.dumps(fields)
        time_ms = start_ms + number // 50 + chance.randrange(20)
        producer.produce(
            topic, value, key, partition=chance.randrange(PARTITIONS), timestamp=time_ms
        )
    assert producer.flush(foreign.TIMEOUT_S) == 0


def rows(brokers: str, topic: str) -> list[Row]:
    """What the table should have been made of: all that is in the topic."""
    found = []
    for partition in range(PARTITIONS):
        for message in foreign.read_all(brokers, topic, partition):
            value = message.value()
            fields = None if value is None else json.loads(value)
            offset, time_ms = message.offset(), message.timestamp()[1]
            assert offset is not None
            found.append(row_of(Event(topic, partition, offset, time_ms, message.key(), fields)))
    return found


class UpsertProcess:
    """The driver and all that it has started are killed together."""

    def __init__(self, directory: Path, brokers: str, topic: str, url: str) -> None:
        self._log_path = directory / "upsert.log"
        self._words = [brokers, str(directory / "checkpoints"), topic, url]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> "UpsertProcess":
        with self._log_path.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.upsert_run", *self._words],
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        return self

    def require_running(self) -> None:
        assert self._process is not None
        assert self._process.poll() is None, self._log_path.read_text()[-5000:]

    def kill(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            with contextlib.suppress(ProcessLookupError):  # It may have ended by itself.
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(timeout=30)

    def __enter__(self) -> "UpsertProcess":
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.kill()


def main() -> None:
    from kafkaesque.client.profiles import connection_of
    from kafkaesque.pipelines.context import Context
    from kafkaesque.pipelines.session import session
    from kafkaesque.pipelines.upsert import start

    brokers, checkpoints, topic, url = sys.argv[1:]
    spark = session("upsert", "local[2]", {"spark.driver.memory": "1g"})
    context = Context("upsert", spark, connection_of(brokers), checkpoints, interval="0 seconds")
    (query,) = start(context, topic=topic, to=url, table=TABLE, batch_rows=BATCH_ROWS)
    query.awaitTermination()


if __name__ == "__main__":
    main()
