"""Ticks written one by one, so many a second, and when each of them was: by it lateness is told.

Only the flow writes to its topic, in order, so a record's offset is its number in its partition.
"""

import threading
import time
from types import TracebackType

from benchmarks.spark.ticks import PARTITIONS, TOPIC, make_topic, tick
from confluent_kafka import Producer

RATE = 20
"""Ticks a second, over all partitions."""


class Flow:
    """Makes the topic, and writes for as long as it is entered."""

    def __init__(self, brokers: str, rate: float = RATE) -> None:
        self._brokers = brokers
        self._rate = rate
        self._written_s: list[list[float]] = [[] for _ in range(PARTITIONS)]
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._write, name="flow")

    def written_s(self, partition: int, offset: int) -> float:
        """When the producer was given the record: seconds, as time.time() has them."""
        return self._written_s[partition][offset]

    def ends(self) -> dict[int, int]:
        """The next offset of each partition."""
        return {partition: len(times) for partition, times in enumerate(self._written_s)}

    def _write(self) -> None:
        # Each record goes at once: what waits in the producer would be counted as Spark's delay.
        settings = {"bootstrap.servers": self._brokers, "linger.ms": 0, "enable.idempotence": True}
        producer = Producer(settings)
        number = 0
        begun_s = time.monotonic()
        while not self._is_over.wait(begun_s + number / self._rate - time.monotonic()):
            ticker, value = tick(number)
            partition = number % PARTITIONS
            self._written_s[partition].append(time.time())
            producer.produce(TOPIC, value, ticker, partition=partition)
            producer.poll(0)
            number += 1
        assert producer.flush(30) == 0

    def __enter__(self) -> "Flow":
        make_topic(self._brokers)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._is_over.set()
        self._thread.join()
