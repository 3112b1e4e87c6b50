"""Scenario `latency`: from produce to receive, with one constant changed at a time.

The line `as it comes` is the base: 1,000 connections with a message a second each, over
kafkaesque.v1, `write.caching=true`. It is taken at the beginning, in the middle and at the end, so
that one can see what the machine adds of itself.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from benchmarks.fanout.load import PARTITIONS, Rounds
from benchmarks.fanout.report import Report, sample
from benchmarks.fanout.servers.ours import ours
from benchmarks.fanout.turn import Ground, Shape, take

ROUNDS = Rounds(warm_up=2, counted=6)
CONNECTIONS = 1000


@dataclass(frozen=True, slots=True)
class Change:
    """`part` is whose constant it is; the other fields say what is changed."""

    part: str
    name: str
    producer: Mapping[str, object] = field(default_factory=dict)
    topic: Mapping[str, str] = field(default_factory=dict)
    fanout: tuple[str, ...] = ()
    protocol: str = "v1"
    workers: int = 1
    connections: int = CONNECTIONS
    partitions: int = PARTITIONS

    @property
    def title(self) -> str:
        return f"{self.part}: {self.name}"


def _producer(name: str, **settings: object) -> Change:
    return Change("producer", name, {key.replace("_", "."): each for key, each in settings.items()})


BASE = Change("base", "as it comes")
CHANGES = (
    BASE,
    _producer("`linger.ms` 0", linger_ms=0),
    _producer("`linger.ms` 5 (librdkafka's default)", linger_ms=5),
    _producer("`linger.ms` 20", linger_ms=20),
    _producer("`acks` 1", acks="1"),
    _producer("`acks` 0", acks="0"),
    _producer("`compression.type` lz4", compression_type="lz4"),
    _producer("`compression.type` zstd", compression_type="zstd"),
    _producer("`batch.num.messages` 1", batch_num_messages=1),
    Change("broker", "`write.caching` false: synced first", topic={"write.caching": "false"}),
    Change("broker", "1 partition", partitions=1),
    Change("broker", "100 partitions", partitions=100),
    BASE,
    Change("fetch", "`--max-wait` 10", fanout=("--max-wait", "10")),
    Change("fetch", "`--max-wait` 500", fanout=("--max-wait", "500")),
    Change("fetch", "`--read-uncommitted`", fanout=("--read-uncommitted",)),
    Change("gateway", "`--linger` 0", fanout=("--linger", "0")),
    Change("gateway", "`--linger` 1", fanout=("--linger", "1")),
    Change("gateway", "`--linger` 20", fanout=("--linger", "20")),
    Change("gateway", "`/ws`", protocol="ws"),
    Change("gateway", "SSE", protocol="sse"),
    Change("gateway", "TCP", protocol="tcp"),
    Change("gateway", "2 workers", workers=2),
    Change("gateway", "`--send-buffer-bytes` 4096", fanout=("--send-buffer-bytes", "4096")),
    Change("gateway", "100 connections", connections=100),
    Change("gateway", "5,000 connections", connections=5000),
    BASE,
)


def run(
    ground: Ground, report: Report, say: Callable[[str], None], shape: Shape, scale: float = 1.0
) -> None:
    for change in CHANGES:
        count = max(10, int(change.connections * scale))
        say(f"latency: {change.title}")
        load = replace(shape.load, keys=count)
        sized = Shape(count, load, ROUNDS)
        variant = ours(change.protocol, change.workers, change.title, *change.fanout)
        turn = take(ground, variant, sized, change.producer, change.topic, change.partitions)
        report.add(sample("latency", change.title, turn, ROUNDS))
