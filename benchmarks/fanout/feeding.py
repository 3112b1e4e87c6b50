"""The producer's process, told when to send; its settings are librdkafka's.

Above: turn.py. Below: producer.py.
"""

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.fanout.load import Load
from benchmarks.fanout.running import Running, running

SETTINGS: Mapping[str, Any] = {
    "linger.ms": 1,
    "acks": "all",
    "compression.type": "none",
    "partitioner": "murmur2_random",
    "log_level": 0,
}


@dataclass(frozen=True, slots=True)
class Sent:
    """`late_ms`: how far the producer was behind its clock at worst."""

    sent: int
    failed: int
    seconds: float
    late_ms: float
    cpu_s: float


class Feed:
    def __init__(self, process: Running, load: Load) -> None:
        self._process = process
        self._load = load

    def send(self, rounds: int) -> Sent:
        self._process.say(str(rounds))
        said = self._process.expect("done", 60 + 5 * rounds * self._load.period_s)
        return Sent(**json.loads(said.partition(" ")[2]))


@contextmanager
def feed(
    bootstrap: str, topic: str, load: Load, directory: Path, **settings: object
) -> Iterator[Feed]:
    told = {
        "topic": topic,
        "load": load.to_dict(),
        "settings": {"bootstrap.servers": bootstrap, **SETTINGS, **settings},
    }
    command = [sys.executable, "-m", "benchmarks.fanout.producer", json.dumps(told)]
    with running("producer", command, directory) as process:
        process.expect("ready", 60)
        yield Feed(process, load)
