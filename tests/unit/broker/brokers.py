"""A whole broker without sockets and without regular work, on a disk with faults by path."""

import asyncio
import errno
import os
import threading
from collections.abc import Awaitable, Callable, Mapping
from inspect import isawaitable
from itertools import count
from pathlib import Path
from typing import Any

from tests.faulty_files import FaultyFiles
from tests.unit.broker.state_logs import Now

from kafkaesque.broker.apis import APIS, Context
from kafkaesque.broker.broker import Broker
from kafkaesque.broker.config import BrokerConfig, Listener
from kafkaesque.broker.partition import Partition
from kafkaesque.broker.topics import NewTopic
from kafkaesque.log.files import File
from kafkaesque.protocol.header import RequestHeader
from kafkaesque.protocol.messages import MESSAGES
from kafkaesque.records.batch import Record, new_batch
from kafkaesque.types import Buffer, TopicPartition


class PathFiles(FaultyFiles):
    """Faults for the files whose path has one of these in it."""

    def __init__(self) -> None:
        super().__init__()
        self.full: set[str] = set()
        self.unsynced: set[str] = set()
        self.held: set[str] = set()
        self.unreadable: set[str] = set()
        self._changed = threading.Condition()

    def open(self, path: str, *, create: bool = False) -> File:
        return _PathFile(self, path, super().open(path, create=create))

    def check_write(self, path: str) -> None:
        if any(part in path for part in self.full):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def check_read(self, path: str) -> None:
        if any(part in path for part in self.unreadable):
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    def check_sync_of(self, path: str) -> None:
        with self._changed:
            self._changed.wait_for(lambda: not any(part in path for part in self.held))
        if any(part in path for part in self.unsynced):
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    def release(self) -> None:
        with self._changed:
            self.held.clear()
            self._changed.notify_all()

    def mend(self) -> None:
        self.full.clear()
        self.unsynced.clear()
        self.unreadable.clear()
        self.release()


class _PathFile:
    def __init__(self, files: PathFiles, path: str, file: File) -> None:
        self._files = files
        self._path = path
        self._file = file

    def pwrite(self, data: Buffer, position: int) -> None:
        self._files.check_write(self._path)
        self._file.pwrite(data, position)

    def pread(self, size: int, position: int) -> bytes:
        self._files.check_read(self._path)
        return self._file.pread(size, position)

    def pread_nowait(self, size: int, position: int) -> Buffer | None:
        self._files.check_read(self._path)
        return self._file.pread_nowait(size, position)

    def sync(self) -> None:
        self._files.check_sync_of(self._path)
        self._file.sync()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


class HeldSlices:
    """Each thing that is done in slices takes one whole, and only the first is to be had."""

    def __init__(self, broker: Broker) -> None:
        self.waits = False
        self._may_go_on = asyncio.Event()
        self._turn = broker.slices.turn
        broker.slices._clock = count().__next__
        broker.slices.turn = self._held_turn  # type: ignore[method-assign]

    async def _held_turn(self, *, is_first: bool = False) -> None:
        self.waits = True
        await self._may_go_on.wait()
        await self._turn(is_first=is_first)

    def let_go(self) -> None:
        self._may_go_on.set()


async def call(broker: Broker, request: Any, version: int) -> Any:
    """What a client is answered, without a connection."""
    (key,) = [key for key, api in MESSAGES.items() if api.request is type(request)]
    api = APIS[key]
    header = RequestHeader(api.key, version, 1, "client")
    context = Context(broker, Listener("127.0.0.1", 9092), header, "127.0.0.1")
    answer = api.handle(context, request)
    try:
        return await answer if isawaitable(answer) else answer
    finally:
        context.give_back()


class ShiftedLoop(asyncio.SelectorEventLoop):
    """A loop whose time can be put forward."""

    shift_ms = 0

    def time(self) -> float:
        return super().time() + self.shift_ms / 1000


def time_passes(now: Now, duration_ms: int) -> None:
    """By both clocks."""
    now.ms += duration_ms
    loop = asyncio.get_running_loop()
    assert isinstance(loop, ShiftedLoop)
    loop.shift_ms += duration_ms


def with_broker(
    path: Path | None,
    work: Callable[[Broker, PathFiles, Now], Awaitable[Any]],
    *,
    files: PathFiles | None = None,
    now: Now | None = None,
    settings: Mapping[str, str] | None = None,
) -> None:
    """Open a broker, let `work` have it, and close it."""
    files, now = files or PathFiles(), now or Now()

    async def main() -> None:
        broker = await Broker.open(BrokerConfig.of([], path, settings or {}), now, files)
        try:
            await work(broker, files, now)
        finally:
            files.mend()
            broker.stop_waiting()
            await broker.close()

    with asyncio.Runner(loop_factory=ShiftedLoop) as runner:
        runner.run(main())


async def new_topic(broker: Broker, name: str, partitions: int = 1) -> Partition:
    """Its first partition."""
    return (await broker.topics.create(NewTopic(name, partitions))).partition(0)


async def until(condition: Callable[[], object]) -> None:
    while not condition():
        await asyncio.sleep(0)


def transactional_batch(producer_id: int, producer_epoch: int, sequence: int = 0) -> memoryview:
    record = Record(0, 0, b"key", b"value")
    return memoryview(
        new_batch(
            [record],
            base_offset=0,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            base_sequence=sequence,
            transactional=True,
        )
    )


async def write(partition: Partition, producer_id: int, producer_epoch: int) -> None:
    """A record of a transaction, durably."""
    header = partition.append(transactional_batch(producer_id, producer_epoch))
    if waiting := partition.flushed(header.next_offset):
        await waiting


def with_unopened(
    path: Path,
    partition: TopicPartition,
    work: Callable[[Broker, Partition, PathFiles], Awaitable[Any]],
) -> None:
    """After a kill, let `work` have a broker that could not open this partition. `files.broken`
    says why: when it is cleared, `storage.revive` brings the partition back.
    """

    async def with_partition(broker: Broker, files: PathFiles, now: Now) -> None:
        unopened = broker.topics.named(partition.topic).partition(partition.partition)
        assert unopened.offline is not None
        await work(broker, unopened, files)

    (path / ".kafka_cleanshutdown").unlink()
    files = PathFiles()
    files.broken["open"] = f"/{partition}/00000000000000000000.log"
    with_broker(path, with_partition, files=files)
