"""Reads of one partition that wait for the disk, in threads. Bytes in the page cache need none.

A disk that hangs keeps the thread of every read, and nobody can end it. So that this is trouble for
one partition only:

- A partition has four reads under way at most, and a second one only while less than half of all
  reading threads are taken (`Disk.has_room_to_read`): four partitions that hang keep half of them,
  and each further one keeps a single one.
- A read keeps its place until its thread is free, even if the client who asked has gone. Clients
  who come back cannot take one thread after the other.
- Whoever waits is told after five seconds (`ReadHangsError`): that its read hangs, or that it waits
  for its turn and none of the reads before it has ended. Behind a disk that is only slow, everybody
  keeps their place.
- When the partition is closed, all who wait are told that it is gone.
Above: partition.py. Below: disk.py.
"""

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from kafkaesque.broker.disk import Disk
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.types import TopicPartition

T = TypeVar("T")

logger = logging.getLogger(__name__)

PATIENCE_SECONDS = 5.0
_MOST_UNDER_WAY = 4


class ReadHangsError(KafkaError):
    """The disk does not answer. The read goes on, and nobody waits for it any longer."""

    def __init__(self) -> None:
        super().__init__(ErrorCode.KAFKA_STORAGE_ERROR, "the disk does not answer")


class _Read:
    __slots__ = ("begun", "done", "ended", "job", "since", "timer")

    def __init__(
        self,
        job: Callable[[], Any],
        done: "asyncio.Future[Any]",
        begun: Callable[[], None] | None,
        ended: Callable[[], None] | None,
    ) -> None:
        self.job = job
        self.done = done
        self.begun = begun
        self.ended = ended
        self.since = done.get_loop().time()
        """Since when it is under way or, before, waits for its turn."""
        self.timer: asyncio.TimerHandle | None = None


class ColdReads:
    def __init__(self, disk: Disk, name: TopicPartition) -> None:
        self._disk = disk
        self._name = name
        # In order: dicts, because those who have gone leave from the middle.
        self._waiting: dict[_Read, None] = {}
        self._under_way: dict[_Read, None] = {}
        self._ended_at = 0.0
        self._is_closed = False

    def run(
        self,
        job: Callable[[], T],
        begun: Callable[[], None] | None = None,
        ended: Callable[[], None] | None = None,
        *,
        is_patient: bool = False,
    ) -> "asyncio.Future[T]":
        """Cancel the result to wait no longer. `begun` is called when a thread is there for it, and
        then `ended` when that is free again, whoever has gone.
        """
        loop = asyncio.get_running_loop()
        done: asyncio.Future[T] = loop.create_future()
        read = _Read(job, done, begun, ended)
        done.add_done_callback(partial(self._leave, read))
        if self._is_closed:
            done.set_exception(_gone())
            return done
        if not is_patient:
            read.timer = loop.call_later(PATIENCE_SECONDS, self._lose_patience, read)
        self._waiting[read] = None
        self._begin()
        return done

    @property
    def hangs(self) -> bool:
        """Whether a read under way has been so for long."""
        return self._count_hanging() > 0

    @property
    def is_stuck(self) -> bool:
        """Whether all reads under way hang, and no other can begin."""
        return not self._may_begin and self._count_hanging() == len(self._under_way)

    def _count_hanging(self) -> int:
        if not self._under_way:
            return 0
        before = asyncio.get_running_loop().time() - PATIENCE_SECONDS
        return sum(read.since <= before for read in self._under_way)

    def close(self) -> None:
        self._is_closed = True
        for read in [*self._under_way, *self._waiting]:
            if not read.done.done():
                read.done.set_exception(_gone())

    @property
    def _may_begin(self) -> bool:
        count = len(self._under_way)
        return not count or (count < _MOST_UNDER_WAY and self._disk.has_room_to_read)

    def _begin(self) -> None:
        while self._waiting and self._may_begin:
            read = next(iter(self._waiting))
            del self._waiting[read]
            if read.done.done():
                continue
            self._under_way[read] = None
            read.since = read.done.get_loop().time()
            if read.begun:
                read.begun()
            self._disk.run_read(read.job).add_done_callback(partial(self._end, read))

    def _end(self, read: _Read, reading: "asyncio.Future[Any]") -> None:
        del self._under_way[read]
        self._ended_at = reading.get_loop().time()
        if read.ended:
            read.ended()
        error = reading.exception()
        if read.done.done():
            pass
        elif error is None:
            read.done.set_result(reading.result())
        else:
            read.done.set_exception(error)
        self._begin()

    def _lose_patience(self, read: _Read) -> None:
        if read.done.done():
            return
        waits = read in self._waiting
        loop = read.done.get_loop()
        due = (max(read.since, self._ended_at) if waits else read.since) + PATIENCE_SECONDS
        if loop.time() < due:
            read.timer = loop.call_at(due, self._lose_patience, read)
            return
        if not waits:
            logger.warning("%s: a read hangs at the disk, and keeps its thread", self._name)
        read.done.set_exception(ReadHangsError())

    def _leave(self, read: _Read, done: "asyncio.Future[Any]") -> None:
        self._waiting.pop(read, None)
        if read.timer is not None:
            read.timer.cancel()
        if not done.cancelled():
            done.exception()  # Whoever waited may have been cancelled: nobody has to hear of it.


def _gone() -> KafkaError:
    return KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
