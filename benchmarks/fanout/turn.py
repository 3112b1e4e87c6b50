"""One turn: a server is started on a topic of its own, gets its clients, and delivers to them.

The order of things: memory before · clients connect and subscribe · memory after · rounds that warm
up · CPU before · rounds that count, until the last message is there · CPU after · memory again.
Above: the scenarios. Below: servers/, drainer.py, feeding.py, accounting.py.
"""

import itertools
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks import drive
from benchmarks.fanout.accounting import Cpu, Memory, cpu, kernel_memory_kb
from benchmarks.fanout.clients import Scripted
from benchmarks.fanout.drainer import Drained, drainers
from benchmarks.fanout.feeding import Sent, feed
from benchmarks.fanout.load import PARTITIONS, Load, Rounds
from benchmarks.fanout.servers.server import Served, Setting, Variant

LATE_S = 15.0
"""How long the last messages may take before a turn goes on without them."""
QUIET_S = 0.5
TOPIC_SETTINGS = {"write.caching": "true"}
_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Ground:
    """What all turns of a run share: the broker, the disk, how to start a drainer."""

    bootstrap: str
    broker_pid: int
    scratch: Path
    drain: Sequence[str]

    @contextmanager
    def setting(
        self, topic_settings: Mapping[str, str] | None = None, partitions: int = PARTITIONS
    ) -> Iterator[Setting]:
        """A topic and a directory, both gone afterwards."""
        name = f"fan-{next(_numbers)}"
        directory = self.scratch / name
        directory.mkdir()
        configs = {**TOPIC_SETTINGS, **(topic_settings or {})}
        drive.create_topic(self.bootstrap, name, partitions, **configs)
        try:
            yield Setting(self.bootstrap, name, directory)
        finally:
            shutil.rmtree(directory)
        drive.delete_topic(self.bootstrap, name)


@dataclass(frozen=True, slots=True)
class Turn:
    """What was measured. CPU is of the rounds that count, by part of the server."""

    connections: int
    connect_s: float
    drained: Drained
    sent: Sent
    seconds: float
    cpu: Mapping[str, Cpu]
    broker_cpu: Cpu
    connected: Memory
    """Grown by, when all clients had subscribed; and, below, when all was delivered."""
    loaded: Memory
    kernel_kb: float

    @property
    def server_cpu_s(self) -> float:
        return sum(each.total_s for each in self.cpu.values())

    @property
    def core_share(self) -> float:
        return self.server_cpu_s / self.seconds


@dataclass(frozen=True, slots=True)
class Shape:
    """How large a turn is."""

    connections: int = 10_000
    load: Load = field(default_factory=Load)
    rounds: Rounds = field(default_factory=Rounds)

    def clients(self, variant: Variant, topic: str, port: int) -> list[Scripted]:
        """A key for each; the keys go round if there are more clients than keys."""
        numbers = (each % self.load.keys for each in range(self.connections))
        return [Scripted(number, variant.greet(topic, number, port)) for number in numbers]


def take(
    ground: Ground,
    variant: Variant,
    shape: Shape,
    producer: Mapping[str, object] | None = None,
    topic_settings: Mapping[str, str] | None = None,
    partitions: int = PARTITIONS,
) -> Turn:
    with (
        ground.setting(topic_settings, partitions) as setting,
        variant.serve(setting) as served,
    ):
        time.sleep(QUIET_S)
        return _measured(ground, variant, shape, setting, served, producer or {})


def _measured(
    ground: Ground,
    variant: Variant,
    shape: Shape,
    setting: Setting,
    served: Served,
    producer: Mapping[str, object],
) -> Turn:
    clients = shape.clients(variant, setting.topic, served.port)
    empty, kernel, start = served.memory(), kernel_memory_kb(), time.monotonic()
    draining = drainers(clients, served.port, shape.rounds, setting.directory, ground.drain)
    feeding = feed(setting.bootstrap, setting.topic, shape.load, setting.directory, **producer)
    with draining as drains, feeding as producing:
        connect_s = time.monotonic() - start
        time.sleep(QUIET_S + variant.settle_s)
        connected, kernel = served.memory() - empty, kernel_memory_kb() - kernel
        producing.send(shape.rounds.warm_up)
        time.sleep(QUIET_S)
        cpu_before, broker_before, begun = served.cpu(), cpu([ground.broker_pid]), time.monotonic()
        sent = producing.send(shape.rounds.counted)
        drained = drains.finish(LATE_S)
        seconds = time.monotonic() - begun
        cpu_after, broker_after = served.cpu(), cpu([ground.broker_pid])
        return Turn(
            connections=shape.connections,
            connect_s=connect_s,
            drained=drained,
            sent=sent,
            seconds=seconds,
            cpu={part: cpu_after[part] - before for part, before in cpu_before.items()},
            broker_cpu=broker_after - broker_before,
            connected=connected,
            loaded=served.memory() - empty,
            kernel_kb=kernel,
        )
