"""A broker with a cleaner, its clock, and what its tests share:

pytest_plugins = ["tests.unit.broker.cleaner_rig"]
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import pytest
from tests.unit.broker.brokers import ShiftedLoop
from tests.unit.log.compacting import pairs
from tests.unit.log.logs import NOW

from kafkaesque.broker.broker import Broker
from kafkaesque.broker.cleaner import CleanerState
from kafkaesque.broker.config import BrokerConfig
from kafkaesque.broker.partition import Partition
from kafkaesque.broker.topics import NewTopic
from kafkaesque.records.batch import Record, new_batch

HOUR_MS = 3_600_000
SMALL = {"cleanup.policy": "compact", "segment.bytes": "1024"}


class Rig:
    """A broker, its clock, and a way to run it again on the same data."""

    def __init__(self, data_dir: Path | None) -> None:
        self.data_dir = data_dir
        self.now_ms = NOW
        self.broker: Broker

    async def open(self, **settings: str) -> Broker:
        given = {name.replace("_", "."): text for name, text in settings.items()}
        # Beside a busy machine's other work the children would take minutes.
        config = BrokerConfig((), self.data_dir, {"log.cleaner.niceness": "0", **given})
        self.broker = await Broker.open(config, lambda: self.now_ms)
        return self.broker

    async def topic(self, configs: Mapping[str, str] = SMALL, name: str = "table") -> Partition:
        topic = await self.broker.topics.create(NewTopic(name, 1, configs))
        return topic.partition(0)

    def append(self, partition: Partition, *keys: str, value: str = "v") -> None:
        batch = new_batch(
            [
                Record(i, self.now_ms, key.encode(), f"{value}{i}".encode())
                for i, key in enumerate(keys)
            ]
        )
        partition.append(memoryview(batch))

    async def fill(self, partition: Partition, rounds: int = 40) -> None:
        for number in range(rounds):
            self.append(partition, f"{number % 5}", f"{number % 7}", value="v" * 60)
        await self.settle(partition)

    async def settle(self, partition: Partition) -> None:
        """All of it flushed, and covered by a checkpoint."""
        if waiting := partition.flushed(partition.log.end_offset):
            await waiting
        await self.broker.storage.checkpoint()
        # Of one that takes longer than that has patience for, its end.
        await partition.checkpoint()

    def state(self, partition: Partition) -> CleanerState:
        return self.broker.cleaner.state(partition)

    def leftovers(self) -> list[Path]:
        assert self.data_dir is not None
        return [*self.data_dir.rglob("*.cleaned"), *self.data_dir.rglob("*.swap")]


@pytest.fixture(params=["disk", "memory"])
def rig(request: pytest.FixtureRequest, tmp_path: Path) -> Rig:
    return Rig(tmp_path / "data" if request.param == "disk" else None)


@pytest.fixture
def on_disk(tmp_path: Path) -> Rig:
    return Rig(tmp_path / "data")


def run(story: Callable[[], Awaitable[None]]) -> None:
    with asyncio.Runner(loop_factory=ShiftedLoop) as runner:
        runner.run(story())  # type: ignore[arg-type]


def time_passes(duration_ms: int) -> None:
    """By the loop's clock."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, ShiftedLoop)
    loop.shift_ms += duration_ms


def latest(partition: Partition) -> dict[str, str | None]:
    return {key: value for _, key, value in pairs(partition.log)}
