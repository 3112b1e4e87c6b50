"""Writes the end of a transaction into its partitions.

A marker is on its way until its partition is flushed, whoever has written it: a partition where
nothing is open any more is waited for, too. Those of many partitions are written in slices.

Above: transactions.py. Below: partition.py, coordinator.py (committed offsets).
"""

import asyncio
from collections.abc import Callable

from kafkaesque.broker.coordinator import Coordinator
from kafkaesque.broker.partition import Partition
from kafkaesque.broker.slices import Slices
from kafkaesque.broker.topics import OFFSETS_TOPIC, Topics
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.records.control import Marker
from kafkaesque.transactions.events import WriteMarkers
from kafkaesque.types import TopicPartition

_AT_ONCE = 8


class _Written:
    """How far the markers of one transaction are."""

    def __init__(self) -> None:
        self.pending: list[asyncio.Future[None]] = []
        self.failure: Exception | None = None


class Markers:
    def __init__(self, topics: Topics, coordinator: Coordinator, slices: Slices) -> None:
        self._topics = topics
        self._coordinator = coordinator
        self._slices = slices
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_stopped = False

    def stop(self) -> None:
        """Leave what is not written yet to the next start."""
        self._is_stopped = True

    def partition(self, name: TopicPartition) -> Partition | None:
        """None: its topic has been deleted, and nothing is left to end."""
        try:
            return self._topics.named(name.topic).partition(name.partition)
        except KafkaError:
            return None

    def end_in(
        self, partition: Partition, producer_id: int, producer_epoch: int, marker: Marker
    ) -> "asyncio.Future[None] | None":
        """End a transaction in a partition; a future until that is on disk, even if the partition
        is cached: a marker that is lost would leave one half of a transaction without the other.
        """
        # One that is offline may have lost a marker that it seems to have.
        partition.check_online()
        if partition.name.topic == OFFSETS_TOPIC:
            return self._coordinator.end_transaction(producer_id, producer_epoch, marker)
        if not partition.is_open_for(producer_id):
            return partition.flushed(partition.log.end_offset)
        return partition.flushed(partition.append_marker(producer_id, producer_epoch, marker))

    def write(
        self, effect: WriteMarkers, marker_in: Callable[[TopicPartition], Marker]
    ) -> "asyncio.Future[list[None]] | asyncio.Task[None] | None":
        """End a transaction in all of its partitions; a future until that is on disk. None: it is.
        What fails in one stops no other, but is told, here or by the future.
        """
        if len(effect.partitions) > _AT_ONCE:
            task = asyncio.get_running_loop().create_task(self._write_in_slices(effect, marker_in))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            return task
        written = _Written()
        for name in effect.partitions:
            self._write_in(name, effect, marker_in(name), written)
        if written.failure is not None:
            raise written.failure
        return asyncio.gather(*written.pending) if written.pending else None

    async def _write_in_slices(
        self, effect: WriteMarkers, marker_in: Callable[[TopicPartition], Marker]
    ) -> None:
        written = _Written()
        async for name in self._slices.paced(effect.partitions):
            if self._is_stopped:
                raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, "the broker stops")
            self._write_in(name, effect, marker_in(name), written)
        async for waiting in self._slices.paced(written.pending):
            try:
                await waiting
            except KafkaError as error:
                written.failure = error
        if written.failure is not None:
            raise written.failure

    def _write_in(
        self, name: TopicPartition, effect: WriteMarkers, marker: Marker, written: _Written
    ) -> None:
        partition = self.partition(name)
        if partition is None:
            return
        try:
            waiting = self.end_in(partition, effect.producer_id, effect.producer_epoch, marker)
        except Exception as error:
            written.failure = error
        else:
            if waiting is not None:
                written.pending.append(waiting)
