"""The group coordinator: the asynchronous shell around the pure groups of groups/.

A request becomes an event with a future as its token. The effects that the group answers with are
carried out in order: replies resolve futures, `Store` is written to `__consumer_offsets` and holds
back everything after it, for that group, until it is durable. So nobody learns of a generation or
an offset that a crash could take back. One timer per group wakes it at its next deadline.

Offsets that are committed in a transaction are in the log at once, in a batch of its producer, and
pending until the marker that ends the transaction is durable there too.

Above: apis/ (the group APIs), transactions.py. Below: groups/, state_log.py.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from kafkaesque.broker.state_log import Entry, StateLog
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.groups import records
from kafkaesque.groups.committed import Staged
from kafkaesque.groups.events import (
    Effect,
    Event,
    Expire,
    Heartbeat,
    Join,
    JoinReply,
    Leave,
    LeaveReply,
    Removed,
    Reply,
    Store,
    Sync,
    SyncReply,
    Tick,
    Token,
)
from kafkaesque.groups.group import Group, GroupConfig
from kafkaesque.groups.offsets import CommittedOffset
from kafkaesque.groups.replay import Replay
from kafkaesque.groups.table import GroupTable
from kafkaesque.records.control import Marker
from kafkaesque.types import Clock, TopicPartition

logger = logging.getLogger(__name__)

AnyReply = JoinReply | SyncReply | LeaveReply | Reply


@dataclass(slots=True)
class _Desk:
    """What the coordinator keeps beside a group: effects that wait for a store, and the timer."""

    held: deque[Effect] = field(default_factory=deque)
    storing: bool = False
    timer: asyncio.TimerHandle | None = None
    timer_at: int | None = None


class Coordinator:
    """All groups of this node."""

    def __init__(self, table: GroupTable, log: StateLog, clock: Clock) -> None:
        self.table = table
        self._log = log
        self._loop = asyncio.get_running_loop()
        self._clock = clock
        self._desks: dict[str, _Desk] = {}
        self._waiting: dict[Token, Join | Sync] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._stopped = False

    @classmethod
    def load(cls, log: StateLog, config: GroupConfig, clock: Clock) -> "Coordinator":
        """Groups and offsets as the log has them."""
        table = GroupTable(config)
        replay = Replay(table)
        for data, run in log.runs():
            replay.take(data, run)
        replay.finish(clock())
        return cls(table, log, clock)

    def start(self) -> None:
        """Watch over the groups that the log brought back."""
        for group_id, group in self.table.groups.items():
            self._set_timer(group_id, group)

    def stop(self) -> None:
        """Turn away those who wait in a rebalance: the broker is stopping."""
        self._stopped = True
        for desk in self._desks.values():
            if desk.timer:
                desk.timer.cancel()
        for event in tuple(self._waiting.values()):
            self._resolve(_refusal(event, ErrorCode.COORDINATOR_NOT_AVAILABLE))

    def ask(self, group_id: str, event: Event) -> None:
        """Give the event to its group; the reply arrives in the event's token."""
        if self._stopped:
            self._resolve(_refusal(event, ErrorCode.COORDINATOR_NOT_AVAILABLE))
            return
        if isinstance(event, Join | Sync):
            self._waiting[event.token] = event
        now_ms = self._clock()
        group = self.table.group(group_id) or self.table.create(group_id, now_ms)
        effects = group.handle(event, now_ms)
        self._carry_out(group_id, effects)
        if not isinstance(event, Heartbeat):
            self._set_timer(group_id, group)
        self._discard_vacant(group_id)

    def future(self) -> "asyncio.Future[AnyReply]":
        return self._loop.create_future()

    async def commit(
        self, group_id: str, offsets: Mapping[TopicPartition, CommittedOffset]
    ) -> None:
        """Write committed offsets, and let them be seen once they are durable."""
        if offsets:
            staged, waiting = self._stage(group_id, offsets)
            await self._until_durable(staged, waiting)
            self.table.offsets.commit(staged)

    async def commit_in_transaction(
        self,
        group_id: str,
        producer_id: int,
        producer_epoch: int,
        offsets: Mapping[TopicPartition, CommittedOffset],
    ) -> None:
        """Write offsets that count if the producer's transaction is committed. They are pending
        from here on: whoever asks for stable ones has to wait, even before these are durable.
        """
        if offsets:
            staged, waiting = self._stage(group_id, offsets, (producer_id, producer_epoch))
            await self._until_durable(staged, waiting)

    def end_transaction(
        self, producer_id: int, producer_epoch: int, marker: Marker
    ) -> asyncio.Future[None] | None:
        """Write the marker that decides about a producer's pending offsets. A future that is done
        when it is durable, and they are seen or gone; None: now.
        """
        partition = self._log.partition
        end = partition.append_marker(producer_id, producer_epoch, marker)
        waiting = partition.durable(end)
        settle = partial(self._settle, producer_id, end, marker)
        if waiting is None:
            settle(None)
        else:
            waiting.add_done_callback(settle)
        return waiting

    def _settle(
        self, producer_id: int, before: int, marker: Marker, waiting: asyncio.Future[None] | None
    ) -> None:
        if waiting is not None and (waiting.cancelled() or waiting.exception()):
            return  # The marker is lost. Another will be written.
        commit = marker is Marker.COMMIT
        for group_id in self.table.offsets.end_transaction(producer_id, before, commit=commit):
            self._discard_vacant(group_id)

    def _stage(
        self,
        group_id: str,
        offsets: Mapping[TopicPartition, CommittedOffset],
        producer: tuple[int, int] | None = None,
    ) -> tuple[Staged, asyncio.Future[None] | None]:
        entries = [records.offset_record(group_id, name, at) for name, at in offsets.items()]
        if sum(map(_size, entries)) > self._log.partition.config.max_message_bytes:
            raise KafkaError(ErrorCode.INVALID_COMMIT_OFFSET_SIZE)
        at = self._log.end_offset
        waiting = self._log.append_soon(entries, producer)
        if self.table.group(group_id) is None:
            self.table.create(group_id, self._clock())
        values = {name: value for name, (_, value) in zip(offsets, entries, strict=True)}
        producer_id = None if producer is None else producer[0]
        return self.table.offsets.stage(group_id, values, at, producer_id), waiting

    async def _until_durable(self, staged: Staged, waiting: asyncio.Future[None] | None) -> None:
        try:
            if waiting is not None:
                await waiting
        except KafkaError:
            self.table.offsets.abandon(staged)
            raise

    async def delete_offsets(self, group_id: str, partitions: Iterable[TopicPartition]) -> None:
        await self._log.append(self.table.delete_offsets(group_id, partitions))
        self._drop_if_nothing_is_left(group_id)

    async def delete_topic(self, topic: str) -> None:
        """A topic that is gone takes its committed offsets with it. They can be many: others are
        heard in between. Nobody can commit for the topic meanwhile.
        """
        for group_id in self.table.offsets.group_ids():
            self._log.append_soon(self.table.delete_topic(group_id, topic))
            self._discard_vacant(group_id)
            await asyncio.sleep(0)
        await self._log.flushed()

    async def expire(self, retention_ms: int) -> None:
        """Forget the offsets of groups that have been empty for too long."""
        for group_id in tuple(self.table.groups):
            self._log.append_soon(self.table.expire(group_id, self._clock(), retention_ms))
            self._clear_desk(group_id)
            await asyncio.sleep(0)
        await self._log.flushed()

    def _carry_out(self, group_id: str, effects: list[Effect]) -> None:
        desk = self._desks.setdefault(group_id, _Desk())
        desk.held.extend(effects)
        if not desk.storing:
            self._continue(group_id, desk)

    def _continue(self, group_id: str, desk: _Desk) -> None:
        while desk.held:
            effect = desk.held.popleft()
            if isinstance(effect, Store | Removed):
                desk.storing = True
                task = self._loop.create_task(self._store(group_id, desk, effect))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
                return
            self._resolve(effect)

    async def _store(self, group_id: str, desk: _Desk, effect: Store | Removed) -> None:
        try:
            await self._log.append(self._entries(group_id, effect))
        except KafkaError as error:
            logger.error("group %s could not be stored: %s", group_id, error.message)
            self._refuse_held(desk)
        except Exception:
            logger.exception("group %s could not be stored", group_id)
            self._refuse_held(desk)
        desk.storing = False
        self._continue(group_id, desk)
        self._clear_desk(group_id)

    def _entries(self, group_id: str, effect: Store | Removed) -> list[Entry]:
        if isinstance(effect, Removed):
            return list(self.table.remove(group_id))
        if self.table.group(group_id) is None:
            return []  # It has expired meanwhile: its tombstone is to be the last word.
        return [records.group_record(group_id, effect.group)]

    def _refuse_held(self, desk: _Desk) -> None:
        refused = ErrorCode.COORDINATOR_NOT_AVAILABLE
        desk.held = deque(
            held if isinstance(held, Store | Removed) else replace(held, error=refused)
            for held in desk.held
        )

    def _discard_vacant(self, group_id: str) -> None:
        self.table.discard_vacant(group_id)
        self._clear_desk(group_id)

    def _clear_desk(self, group_id: str) -> None:
        """Keep nothing of a group that is gone: anyone may ask for any name."""
        desk = self._desks.get(group_id)
        if desk is None or desk.storing or self.table.group(group_id) is not None:
            return
        if desk.timer:
            desk.timer.cancel()
        del self._desks[group_id]

    def _resolve(self, reply: AnyReply | None) -> None:
        if reply is None:
            return
        self._waiting.pop(reply.token, None)
        if isinstance(reply.token, asyncio.Future) and not reply.token.done():
            reply.token.set_result(reply)

    def _drop_if_nothing_is_left(self, group_id: str) -> None:
        if self.table.group(group_id) and not self.table.offsets.has(group_id):
            self.ask(group_id, Expire())

    def _set_timer(self, group_id: str, group: Group) -> None:
        deadline = group.next_deadline()
        desk = self._desks.setdefault(group_id, _Desk())
        if deadline == desk.timer_at:
            return
        if desk.timer:
            desk.timer.cancel()
        desk.timer, desk.timer_at = None, deadline
        if deadline is not None:
            delay = max(0, deadline - self._clock()) / 1000
            desk.timer = self._loop.call_later(delay, self._tick, group_id)

    def _tick(self, group_id: str) -> None:
        desk = self._desks.get(group_id)
        group = self.table.group(group_id)
        if desk is None or group is None or self._stopped:
            return
        desk.timer, desk.timer_at = None, None
        self._carry_out(group_id, group.handle(Tick(), self._clock()))
        self._set_timer(group_id, group)


def _size(entry: tuple[bytes, bytes]) -> int:
    key, value = entry
    return len(key) + len(value)


def _refusal(event: Event, error: ErrorCode) -> AnyReply | None:
    if isinstance(event, Join):
        return JoinReply(event.token, error, event.member_id)
    if isinstance(event, Sync):
        return SyncReply(event.token, error)
    if isinstance(event, Leave):
        return LeaveReply(event.token, error)
    if isinstance(event, Expire | Tick):
        return None
    return Reply(event.token, error)
