"""A broker in this process and a fan-out before it in its own, with keyed records to write."""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from confluent_kafka import Producer
from tests import foreign
from tests.fanout_process import FanoutProcess
from tests.in_process import InProcessBroker

_TOPICS = 24


@dataclass(frozen=True)
class FanoutPair:
    broker: InProcessBroker
    fanout: FanoutProcess
    made: dict[int, list[str]]
    """Topics that the fan-out knew when it started, by their partitions: new ones it meets late."""

    @property
    def web(self) -> str:
        """HOST:PORT."""
        return self.fanout.url.partition("://")[2]

    def stats(self) -> dict[str, Any]:
        with urlopen(f"{self.fanout.url}/stats", timeout=foreign.TIMEOUT_S) as answer:
            found: dict[str, Any] = json.load(answer)
            return found

    def topic(self, partitions: int = 1) -> str:
        """One that nobody has used."""
        return self.made[partitions].pop()

    def write(self, topic: str, records: Iterable[tuple[str | None, str | None]]) -> None:
        """Keys and values, placed as Java's clients do."""
        producer = Producer(
            {
                "bootstrap.servers": self.broker.bootstrap,
                "partitioner": "murmur2_random",
                "log_level": 0,
            }
        )
        for key, value in records:
            producer.produce(topic, value, key)
        assert producer.flush(foreign.TIMEOUT_S) == 0


@contextmanager
def fanout_pair(directory: Path, *args: str) -> Iterator[FanoutPair]:
    with InProcessBroker(None) as broker:
        made = {
            partitions: [
                foreign.create_topic(broker.bootstrap, partitions=partitions)
                for _ in range(_TOPICS)
            ]
            for partitions in (1, 3)
        }
        with FanoutProcess(broker.bootstrap, directory / "fanout.log", *args) as fanout:
            yield FanoutPair(broker, fanout, made)
