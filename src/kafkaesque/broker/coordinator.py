"""The group coordinator: the asynchronous shell around the pure groups of groups/.

A request becomes an event with a future as its token. The effects that the group answers with are
carried out in order: replies resolve futures, `Store` is written to `__consumer_offsets` and holds
back everything after it, for that group, until it is durable. So nobody learns of a generation or
an offset that a crash could take back, nor that one is deleted. What cannot be made durable is put
back, per append: a flush can fail and the log come back shortened before anybody looks again. One
timer per group wakes it at its next deadline.

Offsets that are committed in a transaction are in the log at once, in a batch of its producer, and
pending until the marker that ends the transaction is durable there too.

Above: apis/ (the group APIs), transactions.py. Below: groups/, state_log.py.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeAlias

from kafkaesque.broker.slices import Slices
from kafkaesque.broker.state_log import Entry, StateLog
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.groups import records
from kafkaesque.groups.bounds import fits_a_name
from kafkaesque.groups.committed import MAX_PENDING_BYTES, Staged
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
    Unstored,
)
from kafkaesque.groups.expiry import is_expired
from kafkaesque.groups.group import Group, GroupConfig
from kafkaesque.groups.offsets import CommittedOffset
from kafkaesque.groups.records import Tombstone
from kafkaesque.groups.replay import Replay
from kafkaesque.groups.table import GroupTable
from kafkaesque.records.control import Marker
from kafkaesque.types import Clock, Moment, TopicPartition

logger = logging.getLogger(__name__)

AnyReply = JoinReply | SyncReply | LeaveReply | Reply
_Waiting: TypeAlias = "asyncio.Future[None] | None"
"""Done when something is durable, or fails with the reason why it is not; None: it is."""

_RECORD_BYTES = 2_000
"""Of a group's record beside its members, about."""
_BATCH = 250
"""Tombstones that are written at once, a few ms of work."""
_SETTLED_AT_ONCE = 8
"""Writes of a transaction, each of some 150 offsets."""


@dataclass(slots=True)
class _Desk:
    """What the coordinator keeps beside a group: effects that wait for a store, and the timer."""

    held: deque[Effect] = field(default_factory=deque)
    storing: bool = False
    timer: asyncio.TimerHandle | None = None
    timer_at: int | None = None


class Coordinator:
    """All groups of this node."""

    def __init__(
        self, table: GroupTable, log: StateLog, clock: Clock, monotonic: Clock, slices: Slices
    ) -> None:
        self.table = table
        self._log = log
        self._slices = slices
        self._loop = asyncio.get_running_loop()
        self._clock = clock
        self._monotonic = monotonic
        self._desks: dict[str, _Desk] = {}
        self._waiting: dict[Token, AnyReply] = {}
        """Who waits in a rebalance, and how they are turned away; not what they have sent."""
        self._settling: dict[int, asyncio.Task[None]] = {}
        """By producer: the last end of a transaction that is carried out in slices. It comes after
        those before it.
        """
        self._tasks: set[asyncio.Task[None]] = set()
        self._stopped = False

    @classmethod
    def load(
        cls,
        log: StateLog,
        config: GroupConfig,
        clock: Clock,
        monotonic: Clock,
        slices: Slices,
    ) -> "Coordinator":
        """Groups and offsets as the log has them. Deadlines go by `monotonic`."""
        max_bytes = log.partition.config.max_message_bytes - _RECORD_BYTES
        table = GroupTable(replace(config, max_stored_bytes=max_bytes))
        replay = Replay(table)
        for data, run in log.runs():
            replay.take(data, run)
        replay.finish(Moment(monotonic(), clock()))
        return cls(table, log, clock, monotonic, slices)

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
        for refusal in tuple(self._waiting.values()):
            self._resolve(refusal)

    def ask(self, group_id: str, event: Event) -> None:
        """Give the event to its group; the reply arrives in the event's token."""
        refusal = _refusal(event, ErrorCode.COORDINATOR_NOT_AVAILABLE)
        if self._stopped:
            self._resolve(refusal)
            return
        if error := self._name_error(group_id):
            self._resolve(_refusal(event, error))
            return
        if isinstance(event, Join | Sync) and refusal is not None:
            self._waiting[event.token] = refusal
        now = self._now()
        group = self.table.group(group_id) or self.table.create(group_id, now.wall_ms)
        effects = group.handle(event, now)
        self._carry_out(group_id, effects)
        if not isinstance(event, Heartbeat):
            self._set_timer(group_id, group)
        self._discard_vacant(group_id)

    def _name_error(self, group_id: str) -> ErrorCode:
        """May there be a group of this name?"""
        if not fits_a_name(group_id):
            return ErrorCode.INVALID_GROUP_ID
        has_room = self.table.has_room_for(group_id)
        return ErrorCode.NONE if has_room else ErrorCode.COORDINATOR_NOT_AVAILABLE

    def _now(self) -> Moment:
        return Moment(self._monotonic(), self._clock())

    def future(self) -> "asyncio.Future[AnyReply]":
        return self._loop.create_future()

    async def commit(
        self, group_id: str, offsets: Mapping[TopicPartition, CommittedOffset]
    ) -> None:
        """Write committed offsets, and let them be seen once they are durable."""
        await _all_done([self.commit_soon(group_id, offsets)])

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
        await _all_done([self.commit_soon(group_id, offsets, (producer_id, producer_epoch))])

    def end_transaction(self, producer_id: int, producer_epoch: int, marker: Marker) -> _Waiting:
        """Write the marker that decides about a producer's pending offsets, unless it is written. A
        future that is done when it is durable, and they are seen or gone; None: now.
        """
        partition, settling = self._log.partition, self._settling.get(producer_id)
        if not partition.is_open_for(producer_id):
            return settling or partition.flushed(partition.log.end_offset)
        end = partition.append_marker(producer_id, producer_epoch, marker)
        waiting, commit = partition.flushed(end), marker is Marker.COMMIT
        # What an earlier end is about is not for this one to decide.
        if settling or self.table.offsets.pending_writes(producer_id) > _SETTLED_AT_ONCE:
            return self._settle_soon(waiting, producer_id, end, commit)
        _when_done(waiting, partial(self._settle, producer_id, end, commit))
        return waiting

    def _settle(self, producer_id: int, before: int, commit: bool, is_durable: bool) -> None:
        if not is_durable:
            return  # The marker is lost. Another will be written.
        for group_id in self.table.offsets.end_transaction(producer_id, before, commit=commit):
            self._discard_vacant(group_id)

    def _settle_soon(
        self, waiting: _Waiting, producer_id: int, before: int, commit: bool
    ) -> "asyncio.Task[None]":
        """The same in slices: a transaction may have written thousands of times."""
        earlier = self._settling.get(producer_id)

        async def settle() -> None:
            try:
                if earlier is not None:
                    await asyncio.wait([earlier])
                await _all_done([waiting])
                ending = self.table.offsets.ending(producer_id, before, commit=commit)
                async for group_id in self._slices.paced(ending):
                    self._discard_vacant(group_id)
            finally:
                if self._settling[producer_id] is settling:
                    del self._settling[producer_id]

        settling = self._settling[producer_id] = self._loop.create_task(settle())
        # Whoever ends the transaction may not wait for it any more.
        settling.add_done_callback(lambda done: done.cancelled() or done.exception())
        return settling

    def commit_soon(
        self,
        group_id: str,
        offsets: Mapping[TopicPartition, CommittedOffset],
        producer: tuple[int, int] | None = None,
    ) -> _Waiting:
        """The same, with or without a transaction; a future that is done when it is durable. None:
        now.
        """
        if not offsets:
            return None
        if error := self._name_error(group_id):
            raise KafkaError(error)
        if producer is not None and self.table.offsets.pending_bytes > MAX_PENDING_BYTES:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, "too many pending offsets")
        entries = [records.offset_record(group_id, name, at) for name, at in offsets.items()]
        if sum(map(_size, entries)) > self._log.partition.config.max_message_bytes:
            raise KafkaError(ErrorCode.INVALID_COMMIT_OFFSET_SIZE)
        values = {name: value for name, (_, value) in zip(offsets, entries, strict=True)}
        return self._write(group_id, values, entries, producer)

    def _delete(self, group_id: str, names: Sequence[TopicPartition], *more: Tombstone) -> _Waiting:
        """Write tombstones of offsets, and more in the same batch."""
        tombstones = [*(records.offset_tombstone(group_id, name) for name in names), *more]
        return self._write(group_id, dict.fromkeys(names), tombstones)

    def _write(
        self,
        group_id: str,
        values: Mapping[TopicPartition, bytes | None],
        entries: Sequence[Entry],
        producer: tuple[int, int] | None = None,
    ) -> _Waiting:
        """Append, and let memory follow when that is durable."""
        if not entries:
            return None
        at = self._log.end_offset
        waiting = self._log.append_soon(entries, producer)
        if self.table.group(group_id) is None:
            self.table.create(group_id, self._clock())
        producer_id = None if producer is None else producer[0]
        staged = self.table.offsets.stage(group_id, values, at, producer_id)
        _when_done(waiting, partial(self._decide, staged))
        return waiting

    def _decide(self, staged: Staged, is_durable: bool) -> None:
        if not is_durable:
            self.table.offsets.abandon(staged)
        elif staged.producer_id is None:
            self.table.offsets.commit(staged)
        self._discard_vacant(staged.group_id)

    async def delete_offsets(
        self, group_id: str, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, ErrorCode]:
        """Delete offsets; returns when that is durable. Raises if not: they are still there. Those
        that the group has come to need by then are kept: these, and why.
        """
        kept: dict[TopicPartition, ErrorCode] = {}

        def is_doomed(name: TopicPartition) -> bool:
            group = self.table.group(group_id)
            error = ErrorCode.NONE if group is None else group.offset_delete_error(name.topic)
            if error:
                kept[name] = error
            return not error and self.table.offsets.is_known(group_id, name)

        await _all_done(await self._delete_in_slices(group_id, set(partitions), is_doomed))
        self._drop_if_nothing_is_left(group_id)
        return kept

    async def delete_topic(self, topic: str) -> None:
        """A topic that is gone takes its committed offsets with it. Nobody can commit for the topic
        meanwhile, but what is on its way may be decided. Raises if that is not durable; may be
        called again, for what is left.
        """
        offsets = self.table.offsets
        waiting: list[_Waiting] = []
        async for group_id in self._slices.paced(offsets.may_have(topic)):
            names = offsets.known(group_id, topic)
            is_known = partial(offsets.is_known, group_id)
            waiting += await self._delete_in_slices(group_id, names, is_known)
        await _all_done(waiting)

    async def expire(self, retention_ms: int) -> None:
        """Forget the offsets of groups that have been empty for too long, and then the groups."""
        waiting: list[_Waiting] = []
        group_ids = tuple(self.table.groups)
        async for group_id in self._slices.paced(group_ids):
            is_over = partial(self._is_expired, retention_ms, group_id)
            for topic in self.table.offsets.topics(group_id):
                names = self.table.offsets.known(group_id, topic)
                waiting += await self._delete_in_slices(group_id, names, is_over)
        await _all_done(waiting)
        async for group_id in self._slices.paced(group_ids):
            self._drop_if_nothing_is_left(group_id)

    def _is_expired(self, retention_ms: int, group_id: str, name: TopicPartition) -> bool:
        group = self.table.group(group_id)
        return group is not None and is_expired(
            group, self.table.offsets, name, self._clock(), retention_ms
        )

    async def _delete_in_slices(
        self,
        group_id: str,
        names: Iterable[TopicPartition],
        is_doomed: Callable[[TopicPartition], bool],
    ) -> list[_Waiting]:
        """Write tombstones of those that are doomed when their turn comes. They can be many: others
        are heard in between.
        """
        return [
            self._delete(group_id, [name for name in batch if is_doomed(name)])
            async for batch in self._slices.batches(sorted(names), _BATCH)
        ]

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
            if isinstance(effect, Removed):
                await self._remove(group_id)
            else:
                await self._log.append([records.group_record(group_id, effect.group)])
        except Exception as error:
            self._unstored(group_id, desk, error)
        desk.storing = False
        self._continue(group_id, desk)
        self._discard_vacant(group_id)

    async def _remove(self, group_id: str) -> None:
        """A dead group leaves the table when all of its tombstones are durable."""
        names = sorted(self.table.offsets.known(group_id))
        waiting: list[_Waiting] = []
        last: list[TopicPartition] = []
        async for batch in self._slices.batches(names, _BATCH):
            waiting.append(self._delete(group_id, last))
            last = batch
        group = self.table.groups[group_id]
        more = () if group.stored is None else (records.group_tombstone(group_id),)
        waiting.append(self._delete(group_id, last, *more))
        await _all_done(waiting)
        self.table.remove(group_id, self._clock())

    def _unstored(self, group_id: str, desk: _Desk, error: Exception) -> None:
        """Put the group back; whoever waits for what could not be stored has to ask again."""
        if isinstance(error, KafkaError):
            logger.error("group %s could not be stored: %s", group_id, error.message)
        else:
            logger.error("group %s could not be stored", group_id, exc_info=error)
        self._refuse_held(desk)
        group = self.table.groups[group_id]
        desk.held.extend(group.handle(Unstored(), self._now()))
        self._set_timer(group_id, group)

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
            delay = max(0, deadline - self._monotonic()) / 1000
            desk.timer = self._loop.call_later(delay, self._tick, group_id)

    def _tick(self, group_id: str) -> None:
        desk = self._desks.get(group_id)
        group = self.table.group(group_id)
        if desk is None or group is None or self._stopped:
            return
        desk.timer, desk.timer_at = None, None
        self._carry_out(group_id, group.handle(Tick(), self._now()))
        self._set_timer(group_id, group)


async def _all_done(waiting: Iterable[_Waiting]) -> None:
    """Raises what one of them raised, but waits for all. Whoever gives up waiting ends nothing."""
    futures = [future for future in waiting if future is not None]
    if futures:
        await asyncio.wait(futures)
    for future in futures:
        future.result()


def _when_done(waiting: _Waiting, then: Callable[[bool], None]) -> None:
    """Call `then` with whether it went well: now, if there is nothing to wait for."""
    if waiting is None:
        then(True)
    else:
        waiting.add_done_callback(
            lambda done: then(not done.cancelled() and done.exception() is None)
        )


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
    if isinstance(event, Expire | Tick | Unstored):
        return None
    return Reply(event.token, error)
