"""Consumers of this process in the broker's own groups: join, share out, read on, leave.

They are members like any other: Kafka clients may be in the same group, tools show them, offsets
are committed under the group's name. They speak to the coordinator directly, and when one comes or
goes the others are told at once instead of by their next heartbeat.

`next` hands an event out and commits what its consumer was given before: by coming back, it says
that it is done with that. So after a crash each consumer's last event comes again, and nothing is
lost. Where nothing is committed, a group begins at the earliest event.
Above: group.py. Below: node.py, the broker's coordinator. All of it runs on the broker's loop.
"""

import asyncio
import struct
from collections.abc import Hashable, Sequence
from contextlib import suppress
from typing import cast

from kafkaesque.broker.partition import Partition
from kafkaesque.embedded.events import Event
from kafkaesque.embedded.node import Node
from kafkaesque.embedded.reading import page
from kafkaesque.errors import ErrorCode, KafkaError
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
from kafkaesque.records.batch import Record
from kafkaesque.types import TopicPartition

_ASSIGNOR = "range"
_SESSION_TIMEOUT_MS = 10_000
_REBALANCE_TIMEOUT_MS = 60_000
_HEARTBEAT_SECONDS = 0.5


class _Bell:
    """Rings when a partition that it watches has more to read."""

    def __init__(self) -> None:
        self.rung = asyncio.Event()

    def more(self, size: int) -> None:
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
        self._layout: dict[str, int] = {}
        self._wake = asyncio.Event()
        self._settled: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._task: asyncio.Task[None] | None = None
        self.partitions: list[TopicPartition] = []
        # Where this consumer reads on, and what has been read ahead of that.
        self._positions: dict[TopicPartition, int] = {}
        self._ahead: dict[TopicPartition, list[Record]] = {}
        self._uncommitted: dict[TopicPartition, int] = {}

    @property
    def member_id(self) -> str:
        return self._id

    async def join(self) -> None:
        self._task = asyncio.create_task(self._stay())
        await self.settled()

    async def settled(self) -> None:
        """Returns when its share is known; raises what keeps it from being known."""
        await asyncio.shield(self._settled)

    def rejoin(self) -> None:
        """The group is about to change, or the topics have."""
        if self._settled.done():
            self._settled = asyncio.get_running_loop().create_future()
        self._wake.set()

    async def leave(self) -> None:
        await self._commit()
        await self.stop()
        if self._id:
            reply = self._node.broker.coordinator.future()
            self._node.broker.coordinator.ask(self._group, Leave(reply, (Leaving(self._id),)))
            await reply
        self.partitions = []

    async def stop(self) -> None:
        if self._task:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def next(self) -> Event | None:
        """The next event of its partitions, taken in turns; None where there is none yet."""
        await self._commit()
        for name in tuple(self.partitions):
            record = await self._read(name)
            if record is not None and name in self._positions:
                self.partitions.remove(name)
                self.partitions.append(name)
                self._positions[name] = self._uncommitted[name] = record.offset + 1
                return Event.of(name, record)
        return None

    async def wait_for_more(self, seconds: float) -> None:
        """Until something may have come to its partitions, or the time is up."""
        bell = _Bell()
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
            for partition in watched:
                partition.unwatch(bell)

    def sees_new_partitions(self) -> bool:
        return self._layout != self._current_layout()

    async def _read(self, name: TopicPartition) -> Record | None:
        try:
            partition = self._node.find(*name)
        except KafkaError:
            return None  # The topic is gone; the next rebalance will say so.
        offset = self._position(name, partition)
        ahead = self._ahead.get(name, [])
        while ahead and ahead[-1].offset < offset:
            ahead.pop()
        if not ahead:
            ahead = self._ahead[name] = await page(self._node.broker.disk, partition, offset)
            ahead.reverse()
        return ahead.pop() if ahead else None

    def _position(self, name: TopicPartition, partition: Partition) -> int:
        if name not in self._positions:
            committed = self._node.broker.coordinator.table.offsets.fetch(self._group, name)
            self._positions[name] = committed.offset if committed else 0
        # What has fallen off the old end cannot be read any more: go on with what there is.
        return max(self._positions[name], partition.log.log_start_offset)

    async def _commit(self) -> None:
        done, self._uncommitted = self._uncommitted, {}
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
                async with asyncio.timeout(_HEARTBEAT_SECONDS):
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
        self._take(decode_assignment(synced.assignment))
        return True

    async def _ask_to_join(self) -> JoinReply:
        self._layout = self._current_layout()
        reply = self._node.broker.coordinator.future()
        join = Join(
            token=reply,
            member_id=self._id,
            group_instance_id=None,
            client_id=self._name,
            client_host="/127.0.0.1",
            protocol_type=CONSUMER_PROTOCOL_TYPE,
            protocols=((_ASSIGNOR, encode_subscription(sorted(self._layout))),),
            session_timeout_ms=_SESSION_TIMEOUT_MS,
            rebalance_timeout_ms=_REBALANCE_TIMEOUT_MS,
        )
        self._node.broker.coordinator.ask(self._group, join)
        return cast(JoinReply, await reply)

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
        """A share that is new begins where the group has committed; the rest goes on as it was."""
        kept = set(partitions) & set(self.partitions)
        self._positions = {name: at for name, at in self._positions.items() if name in kept}
        self._ahead = {name: records for name, records in self._ahead.items() if name in kept}
        self.partitions = list(partitions)

    def _current_layout(self) -> dict[str, int]:
        return {
            topic.name: len(topic.partitions)
            for topic in self._node.topics()
            if self._topics is None or topic.name in self._topics
        }


class Members:
    """The consumers of one group that live here."""

    def __init__(self, node: Node, group: str, topics: frozenset[str] | None) -> None:
        self._node = node
        self._group = group
        self.topics = topics
        self._members: dict[Hashable, Member] = {}
        self._changing = asyncio.Lock()

    async def join(self, consumer: Hashable) -> list[TopicPartition]:
        async with self._changing:
            if consumer not in self._members:
                newcomer = Member(self._node, self._group, str(consumer), self.topics)
                self._tell_others()
                await newcomer.join()
                self._members[consumer] = newcomer
            await self._settle()
            return sorted(self._members[consumer].partitions)

    async def leave(self, consumer: Hashable) -> None:
        async with self._changing:
            leaver = self._named(consumer)
            del self._members[consumer]
            await leaver.leave()
            self._tell_others()
            await self._settle()

    async def next(self, consumer: Hashable, timeout_s: float) -> Event | None:
        """The consumer's next event; None if none comes in time."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_s
        while True:
            async with self._changing:
                member = self._named(consumer)
                if member.sees_new_partitions():
                    self._tell_others()
                await member.settled()
                event = await member.next()
            remaining = deadline - loop.time()
            if event is not None or remaining <= 0:
                return event
            await member.wait_for_more(min(remaining, _HEARTBEAT_SECONDS))

    async def assignment(self) -> dict[Hashable, list[TopicPartition]]:
        """Consumer → partitions; members of other processes go by their member ids."""
        async with self._changing:
            await self._settle()
            here = {m.member_id: consumer for consumer, m in self._members.items()}
            found: dict[Hashable, list[TopicPartition]] = {
                consumer: sorted(member.partitions) for consumer, member in self._members.items()
            }
            group = self._node.broker.coordinator.table.group(self._group)
            for member in group.describe().members if group else ():
                if member.member_id not in here:
                    found[member.member_id] = _partitions(member.assignment)
            return found

    async def close(self) -> None:
        """All of them leave."""
        for member in self._members.values():
            await member.leave()
        self._members.clear()

    def _tell_others(self) -> None:
        for member in self._members.values():
            member.rejoin()

    async def _settle(self) -> None:
        await asyncio.gather(*(member.settled() for member in self._members.values()))

    def _named(self, consumer: Hashable) -> Member:
        if consumer not in self._members:
            message = f"{consumer!r} is not in group {self._group}: let it join first"
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, message)
        return self._members[consumer]


def _partitions(assignment: bytes) -> list[TopicPartition]:
    try:
        return sorted(decode_assignment(assignment))
    except (struct.error, UnicodeDecodeError):
        return []  # Not a consumer: it need not own partitions.
