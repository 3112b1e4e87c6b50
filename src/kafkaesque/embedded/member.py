"""One consumer of this process in a group of the broker: it joins, reads its share, and leaves.

It speaks to the coordinator directly, as a Kafka client does over the wire: JoinGroup, SyncGroup,
heartbeats. While the group changes it hands nothing out; every share begins where the group has
committed, and it has committed before it joins again. So a hand-over neither loses nor doubles.
Above: members.py. Below: node.py, the broker's coordinator. All of it runs on the broker's loop.
"""

import asyncio
import struct
from collections.abc import Hashable, Mapping, Sequence
from contextlib import suppress
from hashlib import blake2b
from typing import cast
from uuid import UUID

from kafkaesque.broker.partition import Partition
from kafkaesque.embedded.events import event_of
from kafkaesque.embedded.node import Node
from kafkaesque.embedded.reading import Found, page
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.event import Event
from kafkaesque.groups.assignors import range_assignment
from kafkaesque.groups.events import (
    Heartbeat,
    Join,
    JoinReply,
    Leave,
    Leaving,
    Reply,
    Sync,
    SyncReply,
)
from kafkaesque.groups.subscription import (
    CONSUMER_PROTOCOL_TYPE,
    decode_assignment,
    encode_assignment,
    encode_subscription,
    subscribed_topics,
)
from kafkaesque.types import TopicPartition

_ASSIGNOR = "range"
HOST = "/embedded"
_SESSION_TIMEOUT_MS = 10_000
_REBALANCE_TIMEOUT_MS = 60_000
HEARTBEAT_SECONDS = 0.5


class _Bell:
    """Rings when a partition that it watches has more to read."""

    def __init__(self) -> None:
        self.rung = asyncio.Event()

    def more(self, partition: Partition, size: int) -> None:
        self.rung.set()

    def wake(self) -> None:
        self.rung.set()


class Member:
    """One consumer. It is settled when it knows its share of the current generation."""

    def __init__(self, node: Node, group: str, name: str, topics: frozenset[str] | None) -> None:
        self._node = node
        self._group = group
        self._name = name
        self._topics = topics
        self._id = ""
        self._generation = -1
        self._layout: dict[str, tuple[UUID, int]] = {}
        self._asked = asyncio.Event()
        self._wake = asyncio.Event()
        self._settled: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._task: asyncio.Task[None] | None = None
        self._bells: set[_Bell] = set()
        self.partitions: list[TopicPartition] = []
        # Where this consumer reads on, and what has been read ahead of that.
        self._positions: dict[TopicPartition, int] = {}
        self._ahead: dict[TopicPartition, list[Found]] = {}
        self._uncommitted: dict[TopicPartition, int] = {}

    @property
    def member_id(self) -> str:
        return self._id

    async def knock(self) -> None:
        """Begin to join; returns when the group knows of it, and expects the others again."""
        self._task = asyncio.create_task(self._stay())
        await self._asked.wait()

    async def settled(self) -> None:
        """Returns when its share is known; raises what keeps it from being known."""
        await asyncio.shield(self._settled)

    def rejoin(self) -> None:
        """The group is about to change, or the topics have."""
        self._unsettle()
        self._wake.set()

    def _unsettle(self) -> None:
        """From here on nothing is handed out: what was, can still be committed."""
        if self._settled.done():
            self._settled = asyncio.get_running_loop().create_future()

    async def leave(self) -> None:
        await self._commit()
        await self.stop()
        if self._id:
            reply = self._node.broker.coordinator.future()
            self._node.broker.coordinator.ask(self._group, Leave(reply, (Leaving(self._id),)))
            await reply
        self.partitions = []

    async def stop(self) -> None:
        """Those who wait for it wait no longer."""
        if self._task:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        for bell in self._bells:
            bell.wake()
        if not self._settled.done():
            self._settled.set_exception(not_in(self._group, self._name))
            # Nobody need have waited.
            self._settled.exception()

    async def next(self) -> Event | None:
        """The next event of its partitions, taken in turns; None where there is none yet. Raises
        what keeps a partition from being read when the others have nothing more.
        """
        while True:
            await self.settled()
            await self._commit()
            generation = self._generation
            failure: KafkaError | None = None
            for name in tuple(self.partitions):
                try:
                    found = await self._read(name)
                except KafkaError as error:
                    failure, found = error, None
                if not self._is_still_in(generation):
                    break  # What is handed out now, another member would hand out again.
                if found is not None:
                    return self._hand_out(name, found)
            if self._is_still_in(generation):
                if failure is not None:
                    raise failure
                return None

    def _is_still_in(self, generation: int) -> bool:
        return self._settled.done() and self._generation == generation

    def _hand_out(self, name: TopicPartition, found: Found) -> Event:
        self.partitions.remove(name)
        self.partitions.append(name)
        self._positions[name] = self._uncommitted[name] = found.record.offset + 1
        return event_of(name, found)

    async def wait_for_more(self, seconds: float) -> None:
        """Until something may have come to its partitions, or the time is up."""
        bell = _Bell()
        self._bells.add(bell)
        watched = []
        for name in self.partitions:
            with suppress(KafkaError):
                watched.append(self._node.find(*name))
        for partition in watched:
            partition.watch(bell)
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await bell.rung.wait()
        finally:
            self._bells.discard(bell)
            for partition in watched:
                partition.unwatch(bell)

    def sees_new_partitions(self) -> bool:
        return self._layout != self._current_layout()

    async def _read(self, name: TopicPartition) -> Found | None:
        try:
            partition = self._node.find(*name)
        except KafkaError:
            return None  # The topic is gone; the next rebalance will say so.
        # One that could not be opened looks as if nothing was ever there.
        partition.check_online()
        offset = self._position(name, partition)
        ahead = self._ahead.get(name, [])
        while ahead and ahead[-1].record.offset < offset:
            ahead.pop()
        if not ahead:
            ahead = self._ahead[name] = await page(partition, offset)
            ahead.reverse()
        return ahead[-1] if ahead else None

    def _position(self, name: TopicPartition, partition: Partition) -> int:
        if name not in self._positions:
            committed = self._node.broker.coordinator.table.offsets.fetch(self._group, name)
            position = committed.offset if committed else 0
            # Nothing was ever there: as Kafka's clients do, begin at the earliest.
            self._positions[name] = position if position <= partition.high_watermark else 0
        # What has fallen off the old end cannot be read any more: go on with what there is.
        return max(self._positions[name], partition.log.log_start_offset)

    async def _commit(self) -> None:
        topics = self._current_layout()
        done = {
            name: offset
            for name, offset in self._uncommitted.items()
            if _id_of(name, topics) == _id_of(name, self._layout)
        }
        self._uncommitted = {}
        if not done:
            return
        try:
            await self._node.commit(self._group, done, self._id, self._generation)
        except KafkaError:
            # Another member has these partitions now, and will hand their last events out again.
            self.rejoin()

    async def _stay(self) -> None:
        """Join, and join again whenever the group changes, until cancelled."""
        try:
            while True:
                self._wake.clear()
                # It may have been told to join again while it was joining.
                self._unsettle()
                await self._commit()
                if not await self._join_once():
                    continue
                if not self._settled.done():
                    self._settled.set_result(None)
                await self._until_the_group_changes()
        except KafkaError as error:
            if not self._settled.done():
                self._settled.set_exception(error)

    async def _until_the_group_changes(self) -> None:
        while not self._wake.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(HEARTBEAT_SECONDS):
                    await self._wake.wait()
            reply = self._node.broker.coordinator.future()
            self._node.broker.coordinator.ask(
                self._group, Heartbeat(reply, self._generation, self._id)
            )
            error = cast(Reply, await reply).error
            if error is ErrorCode.UNKNOWN_MEMBER_ID:
                self._id = ""
            if error or self.sees_new_partitions():
                self.rejoin()

    async def _join_once(self) -> bool:
        """One round of JoinGroup and SyncGroup; False: the group has moved on meanwhile."""
        joined = await self._ask_to_join()
        if joined.error in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.REBALANCE_IN_PROGRESS):
            self._id = ""
            return False
        if joined.error:
            raise KafkaError(joined.error, f"{self._name} could not join {self._group}")
        self._id, self._generation = joined.member_id, joined.generation
        reply = self._node.broker.coordinator.future()
        shares = self._shares(joined) if joined.leader == self._id else {}
        self._node.broker.coordinator.ask(
            self._group, Sync(reply, self._generation, self._id, assignments=shares)
        )
        synced = cast(SyncReply, await reply)
        if synced.error:
            return False
        self._take(assigned(synced.assignment))
        return True

    async def _ask_to_join(self) -> JoinReply:
        self._layout = self._current_layout()
        reply = self._node.broker.coordinator.future()
        join = Join(
            token=reply,
            member_id=self._id,
            group_instance_id=None,
            client_id=self._name,
            client_host=HOST,
            protocol_type=CONSUMER_PROTOCOL_TYPE,
            protocols=((_ASSIGNOR, self._subscription()),),
            session_timeout_ms=_SESSION_TIMEOUT_MS,
            rebalance_timeout_ms=_REBALANCE_TIMEOUT_MS,
        )
        self._node.broker.coordinator.ask(self._group, join)
        self._asked.set()
        return cast(JoinReply, await reply)

    def _subscription(self) -> bytes:
        """It changes with the partitions, for only then does the group share them out again."""
        layout = repr(sorted(self._layout.items())).encode()
        return encode_subscription(sorted(self._layout), blake2b(layout, digest_size=8).digest())

    def _shares(self, joined: JoinReply) -> dict[str, bytes]:
        wanted = {
            member.member_id: subscribed_topics([member.metadata]) or frozenset()
            for member in joined.members
        }
        layout = {topic.name: len(topic.partitions) for topic in self._node.broker.topics}
        topics = frozenset().union(*wanted.values())
        shares = range_assignment(wanted, {t: layout[t] for t in topics if t in layout})
        return {member: encode_assignment(share) for member, share in shares.items()}

    def _take(self, partitions: Sequence[TopicPartition]) -> None:
        """A share begins where the group has committed, as it did when this member joined again."""
        self._positions = {}
        self._ahead = {}
        self._uncommitted = {}
        self.partitions = list(partitions)

    def _current_layout(self) -> dict[str, tuple[UUID, int]]:
        """Topic → its id, which a namesake made later does not have, and how many partitions."""
        return {
            topic.name: (topic.id, len(topic.partitions))
            for topic in self._node.topics()
            if self._topics is None or topic.name in self._topics
        }


def _id_of(name: TopicPartition, layout: Mapping[str, tuple[UUID, int]]) -> UUID | None:
    return layout[name.topic][0] if name.topic in layout else None


def not_in(group: str, consumer: Hashable) -> KafkaError:
    message = f"{consumer!r} is not in group {group}: let it join first"
    return KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, message)


def assigned(assignment: bytes) -> list[TopicPartition]:
    try:
        return sorted(decode_assignment(assignment))
    except (struct.error, UnicodeDecodeError):
        return []  # Not a consumer's: it need not name partitions.
