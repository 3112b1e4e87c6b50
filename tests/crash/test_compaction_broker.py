"""Power cuts while a broker's cleaner compacts a topic with transactions.

After each cut a reader of committed records, which believes the broker's list of aborted
transactions as Kafka's clients do, must come to the values that were committed, whatever is gone of
records and markers. The broker listens to nobody; its files are the forgetting disk. A failure
names its seed: `asyncio.run(World(seed).run(1))` repeats it.
"""

import asyncio
import threading
from pathlib import Path
from random import Random
from typing import cast

import pytest
from tests.crash.forgetting import ForgettingFiles, PowerCut
from tests.crash.power import Disk, _OneAtATime, is_of_the_cut
from tests.unit.log.compacting import all_batches, table

from kafkaesque.broker.broker import Broker
from kafkaesque.broker.config import BrokerConfig
from kafkaesque.broker.partition import Partition
from kafkaesque.broker.topics import NewTopic
from kafkaesque.errors import KafkaError
from kafkaesque.log.files import Files
from kafkaesque.records.batch import Record, new_batch, records
from kafkaesque.records.control import Marker, read_marker
from kafkaesque.types import AbortedTransaction

pytestmark = pytest.mark.slow

TOPIC = "table"
CONFIGS = {
    "cleanup.policy": "compact",
    "segment.bytes": "1024",
    "index.interval.bytes": "150",
    "min.cleanable.dirty.ratio": "0",
    "delete.retention.ms": "100",
}
KEYS = [b"a", b"b", b"c", b"d"]
WORLDS, BLOCKS = 60, 4
EXPIRES_MS = 1000


class World:
    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.files = ForgettingFiles(seed=seed)
        self.now_ms = 1_700_000_000_000
        self.appended: dict[int, tuple[Record, int | None]] = {}
        self.markers: dict[int, tuple[int, Marker]] = {}
        self.acknowledged = 0
        self.last_producer = 0
        self.broker: Broker

    async def run(self, cuts: int) -> None:
        for _ in range(cuts):
            cut_at = self.random.randint(150, 900)
            disk = Disk(self.files, cut_at, self.random)
            try:
                await self._live(disk)
            except (PowerCut, KafkaError, OSError) as error:
                if disk.survivor is None or not is_of_the_cut(error):
                    raise
            self.broker.disk.close()
            assert disk.survivor is not None
            self.files = disk.survivor
            await self._check()

    async def _open(self, disk: Disk) -> Partition:
        files = cast(Files, _OneAtATime(disk, threading.RLock(), lambda operation, *what: None))
        config = BrokerConfig((), Path("/data"), {})
        self.broker = await Broker.open(config, lambda: self.now_ms, files)
        if TOPIC not in self.broker.topics:
            return (await self.broker.topics.create(NewTopic(TOPIC, 1, CONFIGS))).partition(0)
        return self.broker.topics.named(TOPIC).partition(0)

    async def _live(self, disk: Disk) -> None:
        """Until the power goes."""
        partition = await self._open(disk)
        while True:
            self.now_ms += self.random.randint(0, 200)
            for _ in range(self.random.randint(1, 10)):
                self._act(partition)
            if waiting := partition.flushed(partition.log.end_offset):
                await waiting
            self.acknowledged = partition.log.flushed_offset
            for producer in partition.producers.describe():
                if producer.last_timestamp < self.now_ms - EXPIRES_MS:
                    partition.forget_producer(producer.producer_id)
            await self.broker.storage.checkpoint()
            await self.broker.cleaner.clean()

    def _act(self, partition: Partition) -> None:
        open_now = [each.producer_id for each in partition.open_transactions()]
        if open_now and self.random.random() < 0.5:
            self._end(partition, self.random.choice(open_now))
        elif self.random.random() < 0.5:
            self.last_producer += 1
            self._append(partition, self.last_producer)
        else:
            self._append(partition, None)

    def _append(self, partition: Partition, producer: int | None) -> None:
        base = partition.log.end_offset
        wanted = [
            Record(
                base + i,
                self.now_ms,
                self.random.choice(KEYS),
                self.random.choice([None, b"v" * 40 + b"%d" % (base + i)]),
            )
            for i in range(self.random.randint(1, 3))
        ]
        self.appended |= {record.offset: (record, producer) for record in wanted}
        if producer is None:
            batch = new_batch(wanted, base_offset=base)
        else:
            batch = new_batch(
                wanted,
                base_offset=base,
                producer_id=producer,
                producer_epoch=0,
                base_sequence=0,
                transactional=True,
            )
        partition.append(memoryview(batch))

    def _end(self, partition: Partition, producer: int) -> None:
        marker = self.random.choice(list(Marker))
        self.markers[partition.log.end_offset] = producer, marker
        partition.append_marker(producer, 0, marker)

    async def _check(self) -> None:
        """Start again, with the power on."""
        disk = Disk(self.files, None, self.random)
        partition = await self._open(disk)
        log = partition.log
        assert log.end_offset >= self.acknowledged
        self.appended = {o: each for o, each in self.appended.items() if o < log.end_offset}
        self.markers = {o: each for o, each in self.markers.items() if o < log.end_offset}
        stable = partition.last_stable_offset
        assert table(read_committed(partition, stable)) == table(self._committed(stable))
        there = {header.base_offset for _, header in all_batches(log) if header.is_control}
        assert {each.last_offset for each in partition.aborted(0, stable)} <= there
        self.broker.disk.close()
        disk.pull_the_plug()
        assert disk.survivor is not None
        self.files = disk.survivor

    def _committed(self, stable: int) -> list[Record]:
        ends = dict(self.markers.values())
        return [
            record
            for offset, (record, producer) in self.appended.items()
            if offset < stable and (producer is None or ends[producer] is Marker.COMMIT)
        ]


def read_committed(partition: Partition, stable: int) -> list[Record]:
    """As Kafka's clients do: hide a producer from its aborted record on, until its marker comes."""
    pending = sorted(partition.aborted(0, stable), key=lambda each: each.first_offset)
    hidden: set[int] = set()
    found: list[Record] = []
    for batch, header in all_batches(partition.log):
        if header.base_offset >= stable:
            break
        while pending and pending[0].first_offset <= header.last_offset:
            hidden.add(_pop(pending).producer_id)
        if header.is_control:
            if read_marker(batch) is Marker.ABORT:
                hidden.discard(header.producer_id)
        elif not (header.is_transactional and header.producer_id in hidden):
            found += records(batch)
    return found


def _pop(pending: list[AbortedTransaction]) -> AbortedTransaction:
    return pending.pop(0)


@pytest.mark.parametrize("block", range(BLOCKS))
def test_committed_values_survive_power_cuts_of_a_broker_that_compacts(block: int) -> None:
    for seed in range(block, WORLDS, BLOCKS):
        try:
            asyncio.run(World(seed).run(3))
        except BaseException as error:
            error.add_note(f"repeat with asyncio.run(World({seed}).run(3))")
            raise
