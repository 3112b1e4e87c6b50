"""Reads what is committed of a topic, all partitions, over the deaths of its broker."""

import time
from collections.abc import Callable

from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition
from tests.crash.copier import STEADFAST

Records = list[tuple[bytes | None, bytes | None]]
PATIENCE_S = 120.0


class CommittedReader:
    """`records` has the key and value of everything read so far."""

    def __init__(self, bootstrap: str, topic: str, partitions: int) -> None:
        settings = {"group.id": "unused", "enable.auto.commit": False}
        isolation = {"isolation.level": "read_committed"}
        self._consumer = Consumer(
            {**STEADFAST, "bootstrap.servers": bootstrap, **settings, **isolation}
        )
        places = [TopicPartition(topic, number, OFFSET_BEGINNING) for number in range(partitions)]
        self._consumer.assign(places)
        self.records: Records = []

    def read_until(self, count: int, meanwhile: Callable[[], object] = lambda: None) -> None:
        """Read on until there are so many; `meanwhile` is called all the time."""
        deadline = time.monotonic() + PATIENCE_S
        while len(self.records) < count:
            assert time.monotonic() < deadline, f"{len(self.records)} of {count} came"
            meanwhile()
            self._poll(0.2)

    def rest(self, seconds: float = 2.0) -> None:
        """Read what comes when nothing more should."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self._poll(0.2)

    def close(self) -> None:
        self._consumer.close()

    def _poll(self, seconds: float) -> None:
        for message in self._consumer.consume(500, timeout=seconds):
            if message.error() is None:
                self.records.append((message.key(), message.value()))
