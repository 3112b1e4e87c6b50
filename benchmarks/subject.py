"""What a figure is measured on: a broker, the settings its topics get, and how much is put on it.

Above: figures/. Below: peers/, drive.py.
"""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks import drive, machine
from benchmarks.drive import Load
from benchmarks.peers.peer import Broker, Variant

_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Subject:
    """`scratch` is on the disk of the brokers' data; `scale` is 1, or less for a quick look."""

    broker: Broker
    variant: Variant
    scratch: Path
    scale: float = 1.0
    half_load_mb_per_s: float = 0.0

    def scaled(self, amount: float) -> int:
        return max(1, round(amount * self.scale))

    @property
    def bootstrap(self) -> str:
        return self.broker.bootstrap

    @contextmanager
    def running(self) -> Iterator[None]:
        """Start the broker, for figures that get one which is not; stop it whatever happens."""
        try:
            self.broker.start()
            yield
        finally:
            self.broker.stop()

    @contextmanager
    def topic(self, partitions: int = 1) -> Iterator[str]:
        """A topic with the variant's settings, deleted at the end to bound what the disk holds."""
        name = f"bench-{next(_numbers)}"
        drive.create_topic(self.bootstrap, name, partitions, **self.variant.topic_settings)
        yield name
        drive.delete_topic(self.bootstrap, name)

    def produce(self, topic: str, load: Load) -> drive.Rate:
        machine.warm_memory(self.scratch, load.megabytes * 1e6 + drive.CLIENT_BYTES)
        return drive.produce(self.bootstrap, self.broker.pid, topic, load)

    def consume(self, topic: str, load: Load, offset: int = 0) -> drive.Rate:
        return drive.consume(self.bootstrap, self.broker.pid, topic, load, offset)
