"""The broker: builds every part and holds them together. One event loop owns all of it.

`open` replays the internal topics, `start` begins the regular work, `close` stops it and marks the
data clean. It listens to nobody: server.py does.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from itertools import count
from uuid import UUID

from kafkaesque.broker.budget import Budget
from kafkaesque.broker.cleaner import Cleaner
from kafkaesque.broker.compactors import (
    ChildProcess,
    Compactor,
    DiskCompactor,
    FilesInSlices,
    MemoryCompactor,
)
from kafkaesque.broker.config import BrokerConfig, Config, Listener
from kafkaesque.broker.connection_limits import ConnectionLimits
from kafkaesque.broker.coordinator import Coordinator
from kafkaesque.broker.disk import Disk
from kafkaesque.broker.fetch_sessions import FetchSessions
from kafkaesque.broker.long_requests import LongRequests
from kafkaesque.broker.metadata import Metadata
from kafkaesque.broker.partition import Watcher
from kafkaesque.broker.producer_ids import ProducerIds
from kafkaesque.broker.slices import Slices
from kafkaesque.broker.state_log import StateLog
from kafkaesque.broker.storage import DiskStorage, MemoryStorage, Storage
from kafkaesque.broker.topics import (
    METADATA_TOPIC,
    OFFSETS_TOPIC,
    TRANSACTIONS_TOPIC,
    Topic,
    Topics,
)
from kafkaesque.broker.traffic import Traffic
from kafkaesque.broker.transactions import Transactions
from kafkaesque.broker.turn import Turn
from kafkaesque.errors import KafkaError, StartError
from kafkaesque.groups.group import GroupConfig
from kafkaesque.log.directory import DataDirectory
from kafkaesque.log.files import Files, OsFiles
from kafkaesque.transactions.table import TransactionTable
from kafkaesque.transactions.transaction import TransactionConfig
from kafkaesque.types import Clock, TopicPartition

logger = logging.getLogger(__name__)

_METADATA_TOPIC_ID = UUID(int=1)
"""Kafka's own id of the metadata topic."""

_INTERNAL = {"cleanup.policy": "compact"}
_REVIVE_SECONDS = 1.0
_EXPIRE_SECONDS = 60.0
_TRANSACTION_SECONDS = 0.5
_SCRATCH_BYTES = 256 * 1024
_UNPACKED_AT_ONCE, _LITTLE_UNPACKED_AT_ONCE = 2, 16
_LONG_SEARCHES, _LARGE_SEARCHES = 64, 2
"""By time, at once: each keeps a batch open that comes to 1 MiB, or to 64. They take turns, so who
has a slot is served; who waits for one, waits until those before it have been through a batch.
"""


def loop_clock(loop: asyncio.AbstractEventLoop) -> Clock:
    """Milliseconds that only go forward, for deadlines: the wall's clock can be set back."""
    return lambda: int(loop.time() * 1000)


def _storage(
    config: Config,
    directory: DataDirectory | None,
    disk: Disk,
    clock: Clock,
    producer_ids: ProducerIds,
    files: Files | None,
) -> tuple[Storage, Compactor]:
    if directory is None:
        return MemoryStorage(disk, clock, producer_ids), MemoryCompactor()
    state_topics = METADATA_TOPIC, OFFSETS_TOPIC, TRANSACTIONS_TOPIC
    storage = DiskStorage(directory, disk, clock, producer_ids, state_topics)
    runner = FilesInSlices(files) if files else ChildProcess(config["log.cleaner.niceness"])
    return storage, DiskCompactor(storage.path, runner)


class Broker:
    """One node: its topics, groups and producers."""

    def __init__(
        self,
        config: Config,
        storage: Storage,
        disk: Disk,
        clock: Clock,
        producer_ids: ProducerIds,
        compactor: Compactor,
    ) -> None:
        self.config = config
        self.storage = storage
        self.disk = disk
        self.clock = clock
        self.monotonic = loop_clock(asyncio.get_running_loop())
        self.producer_ids = producer_ids
        self.cluster_id = storage.cluster_id
        self.topics = Topics(storage, config)
        self.cleaner = Cleaner(self.topics, storage, config, compactor, clock, self.monotonic)
        self.fetch_sessions = FetchSessions(
            config["max.incremental.fetch.session.cache.slots"], self.monotonic
        )
        self.long_polls: set[Watcher] = set()
        self.is_stopping = False
        self.listeners: list[Listener] = []
        """Where server.py takes connections for it, as they are bound."""
        self.turn = Turn()
        # What is read from a socket is parsed before the next read, so that all connections share
        # one buffer; two brokers may be in two threads.
        self.scratch = memoryview(bytearray(_SCRATCH_BYTES))
        self.connection_numbers = count(1)
        self.connection_limits = ConnectionLimits(
            config["max.connections"],
            config["max.connections.per.ip"],
            lambda: self.topics.partition_total if storage.is_durable else 0,
        )
        self.budget = Budget(config["queued.max.request.bytes"], asyncio.get_running_loop())
        self.long_requests = LongRequests(self.budget, asyncio.get_running_loop())
        self.slices = Slices(flushes=disk.flushes)
        self.searching = asyncio.Lock()
        self.long_searches = asyncio.Semaphore(_LONG_SEARCHES)
        self.large_searches = asyncio.Semaphore(_LARGE_SEARCHES)
        self.unpacking = asyncio.Semaphore(_UNPACKED_AT_ONCE)
        self.unpacking_little = asyncio.Semaphore(_LITTLE_UNPACKED_AT_ONCE)
        self.traffic = Traffic()
        self.metadata: Metadata
        self.coordinator: Coordinator
        self.transactions: Transactions
        self._regular_work: list[asyncio.Task[None]] = []
        self._closing = asyncio.Event()

    @classmethod
    async def open(
        cls,
        given: BrokerConfig,
        clock: Clock,
        files: Files | None = None,
        new_disk: Callable[[asyncio.AbstractEventLoop], Disk] = Disk,
    ) -> "Broker":
        """Open the data and replay it. Raises StartError if it cannot be used."""
        disk = new_disk(asyncio.get_running_loop())
        directory = None
        if given.data_dir is not None:
            directory = DataDirectory.open(files or OsFiles(), str(given.data_dir))
        try:
            config = Config(dict(given.settings))
            producer_ids = ProducerIds(config, loop_clock(asyncio.get_running_loop()))
            storage, compactor = _storage(config, directory, disk, clock, producer_ids, files)
            broker = cls(config, storage, disk, clock, producer_ids, compactor)
            await broker._load()
            storage.forget_strangers()
        except (KafkaError, OSError) as error:
            where = "memory"
            if directory is not None:
                where = directory.path
                directory.close(clean=False)
            disk.close()
            raise StartError(f"{where}: {error}. Mend that, then start again") from error
        if storage.scanned_bytes:
            logger.info("the last stop was not clean: scanned %d bytes", storage.scanned_bytes)
        for stray in storage.strays():
            logger.warning("%s is on disk, but no topic of that name is known: left alone", stray)
        return broker

    def start(self) -> None:
        """Begin what has to be done from time to time."""
        checkpoint_ms = self.config["log.flush.offset.checkpoint.interval.ms"]
        retention_ms = self.config["log.retention.check.interval.ms"]
        offsets_ms = self.config["offsets.retention.check.interval.ms"]
        cleaner_ms = self.config["log.cleaner.backoff.ms"]
        for seconds, work in (
            (checkpoint_ms / 1000, self.metadata.compact),
            (checkpoint_ms / 1000, self.storage.checkpoint_log_starts),
            (checkpoint_ms / 1000, self.storage.checkpoint),
            (checkpoint_ms / 1000, self.storage.remove_deleted),
            (retention_ms / 1000, self._enforce_retention),
            (cleaner_ms / 1000, self.cleaner.clean),
            (_REVIVE_SECONDS, self.storage.revive),
            (_REVIVE_SECONDS, self.topics.finish_deletions),
            (_REVIVE_SECONDS, self._remove_strays),
            (_EXPIRE_SECONDS, self._expire_producers),
            (offsets_ms / 1000, self._expire_offsets),
            (_TRANSACTION_SECONDS, self.transactions.tick),
        ):
            self._regular_work.append(asyncio.create_task(self._every(seconds, work)))
        self.coordinator.start()

    def stop_waiting(self) -> None:
        """Answer everyone who waits for something that may never come: the broker is stopping."""
        self.is_stopping = True
        self.coordinator.stop()
        for watcher in tuple(self.long_polls):
            watcher.wake()

    async def close(self) -> None:
        # Not cancelled: what runs in a thread would go on, and meet the last checkpoint there.
        self._closing.set()
        self.cleaner.stop()
        self.transactions.stop()
        await asyncio.gather(*self._regular_work)
        await self.cleaner.ended()
        await self.topics.ended()
        await self.storage.close()
        await self.disk.ended()
        self.disk.close()

    async def delete_topic(self, topic: Topic) -> None:
        """Delete a topic, and with it what groups have committed for it."""
        await self.topics.delete(topic)

    async def _load(self) -> None:
        name = TopicPartition(METADATA_TOPIC, 0)
        config = self.topics.effective(METADATA_TOPIC, _INTERNAL)
        partition = self.storage.open(name, _METADATA_TOPIC_ID, config)
        self.metadata = Metadata(StateLog(partition, self.clock), self.topics, self.config)
        self.topics.journal = self.metadata
        self.metadata.load()
        await self._remove_strays()
        if OFFSETS_TOPIC not in self.topics:
            await self._create_internal(OFFSETS_TOPIC, "offsets.topic.segment.bytes")
        offsets = StateLog(self.topics.named(OFFSETS_TOPIC).partition(0), self.clock)
        clocks = self.clock, self.monotonic
        self.coordinator = Coordinator.load(offsets, self._group_config(), *clocks, self.slices)
        self.topics.forget_offsets = self.coordinator.delete_topic
        await self._finish_deletions()
        await self._load_transactions()

    async def _create_internal(self, name: str, segment_bytes: str) -> None:
        """Small segments: the cleaner leaves the last one alone, and a start has to read it."""
        overrides = {**_INTERNAL, "segment.bytes": str(self.config[segment_bytes])}
        await self.topics.create_internal(name, overrides)

    async def _load_transactions(self) -> None:
        config = TransactionConfig(
            max_timeout_ms=self.config["transaction.max.timeout.ms"],
            expiration_ms=self.config["transactional.id.expiration.ms"],
        )
        self.transactions = Transactions(
            TransactionTable(config),
            self._open_transaction_log,
            self.topics,
            self.coordinator,
            self.metadata.new_producer_id,
            self.clock,
            self.monotonic,
            self.slices,
        )
        if TRANSACTIONS_TOPIC in self.topics:
            await self.transactions.load()

    async def _open_transaction_log(self) -> StateLog:
        if TRANSACTIONS_TOPIC not in self.topics:
            await self._create_internal(TRANSACTIONS_TOPIC, "transaction.state.log.segment.bytes")
        return StateLog(self.topics.named(TRANSACTIONS_TOPIC).partition(0), self.clock)

    async def _remove_strays(self) -> None:
        removed = self.metadata.removed_topics
        self.metadata.removed_topics = await self.storage.remove_strays(removed)

    async def _finish_deletions(self) -> None:
        """A power cut may come after a topic is deleted and before its offsets are."""
        for topic in sorted(self.coordinator.table.offsets.all_topics()):
            if topic not in self.topics:
                self.topics.leave_offsets(topic)
        await self.topics.finish_deletions()

    def _group_config(self) -> GroupConfig:
        return GroupConfig(
            min_session_timeout_ms=self.config["group.min.session.timeout.ms"],
            max_session_timeout_ms=self.config["group.max.session.timeout.ms"],
            max_size=self.config["group.max.size"],
            initial_rebalance_delay_ms=self.config["group.initial.rebalance.delay.ms"],
        )

    async def _enforce_retention(self) -> None:
        now_ms = self.clock()
        for topic in list(self.topics):
            for partition in topic.partitions:
                try:
                    partition.enforce_retention(now_ms)
                except (OSError, KafkaError) as error:
                    logger.error("%s keeps what is too old: %s", partition.name, error)
        await self.storage.checkpoint_log_starts()

    async def _expire_producers(self) -> None:
        silent_ms = self.config["producer.id.expiration.ms"]
        await self.slices.run(self.producer_ids.expire(silent_ms))

    async def _expire_offsets(self) -> None:
        await self.coordinator.expire(self.config["offsets.retention.minutes"] * 60_000)

    async def _every(self, seconds: float, work: Callable[[], Awaitable[None]]) -> None:
        while not await self._is_closing_within(seconds):
            try:
                await work()
            except (OSError, KafkaError) as error:
                logger.error("%s failed, and will be tried again: %s", work.__name__, error)
            except Exception:
                logger.exception("%s failed, and will be tried again", work.__name__)

    async def _is_closing_within(self, seconds: float) -> bool:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._closing.wait()
        return self._closing.is_set()
