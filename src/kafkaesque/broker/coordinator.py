"""The group coordinator: the asynchronous shell around the pure groups of groups/.

A request becomes an event with a future as its token. The effects that the group answers with are
carried out in order: replies resolve futures, `Store` is written to `__consumer_offsets` and holds
back everything after it, for that group, until it is durable. So nobody learns of a generation or
an offset that a crash could take back. One timer per group wakes it at its next deadline.

Above: apis/ (the group APIs). Below: groups/, state_log.py.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from kafkaesque.broker.state_log import Entry, StateLog
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.groups import records
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
from kafkaesque.groups.group import Group
from kafkaesque.groups.offsets import CommittedOffset
from kafkaesque.groups.table import GroupTable
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
        self.table.discard_vacant(group_id)
        self._clear_desk(group_id)

    def future(self) -> "asyncio.Future[AnyReply]":
        return self._loop.create_future()

    async def commit(
        self, group_id: str, offsets: Mapping[TopicPartition, CommittedOffset]
    ) -> None:
        """Write committed offsets, and let them be seen once they are durable."""
        if not offsets:
            return
        if self.table.group(group_id) is None:
            self.table.create(group_id, self._clock())
        staged = self.table.offsets.stage(group_id, offsets)
        try:
            await self._log.append(
                [records.offset_record(group_id, tp, at) for tp, at in offsets.items()]
            )
        except KafkaError:
            self.table.offsets.abandon(staged)
            raise
        self.table.offsets.commit(staged)

    async def delete_offsets(self, group_id: str, partitions: Iterable[TopicPartition]) -> None:
        await self._log.append(self.table.delete_offsets(group_id, partitions))
        self._drop_if_nothing_is_left(group_id)

    async def delete_topic(self, topic: str) -> None:
        """A topic that is gone takes its committed offsets with it."""
        await self._log.append(self.table.delete_topic(topic))

    async def expire(self, retention_ms: int) -> None:
        """Forget the offsets of groups that have been empty for too long."""
        await self._log.append(self.table.expire(self._clock(), retention_ms))
        for group_id in tuple(self._desks):
            self._clear_desk(group_id)

    async def compact(self) -> None:
        await self._log.compact(self._live_state())

    def _live_state(self) -> Iterator[list[Entry]]:
        for group_id in self.table.group_ids():
            yield [*self.table.snapshot(group_id)]

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
        if isinstance(effect, Store):
            return [records.group_record(group_id, effect.group)]
        return list(self.table.remove(group_id))

    def _refuse_held(self, desk: _Desk) -> None:
        refused = ErrorCode.COORDINATOR_NOT_AVAILABLE
        desk.held = deque(
            held if isinstance(held, Store | Removed) else replace(held, error=refused)
            for held in desk.held
        )

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
