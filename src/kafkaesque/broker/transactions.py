"""The transaction coordinator: the asynchronous shell around the state machines of transactions/.

A request becomes an event with a future as its token; the transaction answers with effects, which
are carried out in order. Events of one transactional id wait while a decision of it is on its way
to the disk: so a client that is told "committed" finds its records visible, and the next
transaction never meets the end of the one before.

    End → prepare, durable in `__transaction_state` → a marker in every partition, durable → answer

A crash between the two leaves the decision, and the markers are written at the next start. Which
partitions a transaction has is durable when a record in them is acknowledged, so it cannot end
without one that the start could not open. Records that were not acknowledged are put back by
`load`, as far as the partitions show them, and aborted if no transaction knows them. A partition
that could not be opened shows its own when it comes, and what has been decided of their transaction
meanwhile holds for them, too; what is being decided is waited for.

If a marker is lost, its records are open again, and end when `tick` tries again. A record of
`__transaction_state` that could not be written leaves its transaction doubtful: it takes nothing,
until `tick` has read from the log how it stands.

Above: apis/. Below: transactions/, state_log.py, markers.py, partition.py.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from kafkaesque.broker.coordinator import Coordinator
from kafkaesque.broker.markers import Markers
from kafkaesque.broker.partition import Partition
from kafkaesque.broker.partition_transactions import OpenTransaction
from kafkaesque.broker.slices import Slices
from kafkaesque.broker.state_log import Entry, StateLog
from kafkaesque.broker.topics import Topics
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.records.control import Marker
from kafkaesque.records.entries import entries
from kafkaesque.transactions.events import (
    Add,
    Effect,
    End,
    Event,
    Init,
    Removed,
    Reply,
    State,
    Store,
    Tick,
    Unwritten,
    Verify,
    WriteMarkers,
    Written,
)
from kafkaesque.transactions.partitions import Partitions
from kafkaesque.transactions.records import (
    TransactionRecord,
    decode,
    key_of,
    tombstone,
    transaction_record,
)
from kafkaesque.transactions.table import TransactionTable
from kafkaesque.transactions.transaction import Identity
from kafkaesque.types import Clock, Moment, TopicPartition

logger = logging.getLogger(__name__)

_ANY_CONNECTION = 0
"""What a write adds by itself may come over any: a producer has one for each of its brokers."""


@dataclass(slots=True)
class _Desk:
    """What waits for one transactional id. Busy: something is on its way to the disk."""

    events: deque[Event] = field(default_factory=deque)
    effects: deque[Effect] = field(default_factory=deque)
    is_busy: bool = False
    is_doubtful: bool = False
    """A record could not be written: the transaction is what the log says, not what we hold."""

    @property
    def is_undecided(self) -> bool:
        """What the transaction is may not be what the log will say."""
        return self.is_busy or self.is_doubtful


class _Added(NamedTuple):
    """Partitions of a transaction, until the records that name them first are on disk."""

    partitions: Partitions
    flushed: "asyncio.Future[None]"


@dataclass(slots=True)
class _Orphan:
    """Open records in a partition that belong to no transaction that is going on."""

    partition: TopicPartition
    producer_id: int
    producer_epoch: int
    marker: Marker
    marked: "asyncio.Future[None] | None" = None
    """Done when the marker is on disk, or lost."""


class Transactions:
    """All transactional ids of this node."""

    def __init__(
        self,
        table: TransactionTable,
        open_log: Callable[[], Awaitable[StateLog]],
        topics: Topics,
        coordinator: Coordinator,
        new_producer_id: Callable[[], Awaitable[int]],
        clock: Clock,
        monotonic: Clock,
        slices: Slices,
    ) -> None:
        self.table = table
        self._slices = slices
        self._open_log = open_log
        self._opening = asyncio.Lock()
        self._log: StateLog | None = None
        self._topics = topics
        self._markers = Markers(topics, coordinator, slices)
        self._new_producer_id = new_producer_id
        self._clock = clock
        self._monotonic = monotonic
        self._loop = asyncio.get_running_loop()
        self._desks: dict[str, _Desk] = {}
        self._added: dict[str, _Added] = {}
        self._unwritten: set[str] = set()
        """Whose markers could not be written."""
        self._unreadable: str | None = None
        """Why the log could not be read when somebody was doubtful, if it was so the last time."""
        self._orphans: dict[tuple[TopicPartition, int], _Orphan] = {}
        """By partition and producer. Until its marker is durable, nothing follows it there."""
        self._late: dict[str, list[tuple[Partition, OpenTransaction]]] = {}
        """What came while its transactional id was undecided. That takes no records meanwhile."""
        self._first_decisions: dict[Identity, Marker | None] = {}
        """What has become of transactions that may have been going on at the start, if there are
        partitions that could not be opened then: they may have records of them.
        """

    async def init(
        self, transactional_id: str, timeout_ms: int, producer_id: int, producer_epoch: int
    ) -> Reply:
        """Give a producer its id and epoch, and end what an earlier one of its name left open."""
        await self._opened_log()
        fresh_id = await self._fresh_id(transactional_id)
        token = self._token()
        event = Init(token, timeout_ms, producer_id, producer_epoch, fresh_id)
        return await self._ask(transactional_id, event, token)

    async def add(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: Iterable[TopicPartition],
        connection: int,
    ) -> ErrorCode:
        token = self._token()
        event = Add(token, producer_id, producer_epoch, Partitions(partitions), connection)
        return (await self._ask(transactional_id, event, token)).error

    async def verify(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: Iterable[TopicPartition],
    ) -> ErrorCode:
        """Whether these are part of the transaction that is going on."""
        token = self._token()
        event = Verify(token, producer_id, producer_epoch, Partitions(partitions))
        return (await self._ask(transactional_id, event, token)).error

    async def end(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        commit: bool,
        bumps: bool,
        connection: int,
    ) -> Reply:
        fresh_id = await self._fresh_id(transactional_id) if bumps else -1
        token = self._token()
        event = End(token, producer_id, producer_epoch, commit, bumps, connection, fresh_id)
        return await self._ask(transactional_id, event, token)

    async def check(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: Iterable[TopicPartition],
        *,
        adds: bool,
    ) -> None:
        """Raise unless these partitions are part of the transaction, or become it now."""
        whose = (transactional_id, producer_id, producer_epoch)
        if adds:
            error = await self.add(*whose, partitions, _ANY_CONNECTION)
        else:
            error = await self.verify(*whose, partitions)
        if error is not ErrorCode.NONE:
            raise KafkaError(error)

    def add_together(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: Partitions,
    ) -> None:
        """For batches that are about to be appended, to store once what each would store by itself.
        If that cannot be done now, each is told so when it is admitted.
        """
        if transactional_id not in self._desks:
            whose = producer_id, producer_epoch
            self._give(transactional_id, Add(self._token(), *whose, partitions, _ANY_CONNECTION))

    def admit(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partition: TopicPartition,
        *,
        adds: bool,
    ) -> "asyncio.Future[None] | None":
        """The same for a batch that is about to be appended, without waiting. A future that is done
        when it is on disk that the partition is part of the transaction; None: it is.
        """
        desk = self._desks.get(transactional_id)
        if (partition, producer_id) in self._orphans:
            raise KafkaError(ErrorCode.CONCURRENT_TRANSACTIONS, "an older one is being aborted")
        if desk is not None and desk.is_busy:
            # Even if it is going on: its beginning may still be on its way to the disk.
            raise KafkaError(ErrorCode.CONCURRENT_TRANSACTIONS, "ask again in a moment")
        transaction = self.table.get(transactional_id)
        if (
            desk is None
            and transaction is not None
            and transaction.state is State.ONGOING
            and transaction.producer_id == producer_id
            and transaction.producer_epoch == producer_epoch
            and partition in transaction.stored_partitions
        ):
            return self._until_added(transactional_id, partition)
        token, partitions = self._token(), Partitions((partition,))
        event: Event = (
            Add(token, producer_id, producer_epoch, partitions, _ANY_CONNECTION)
            if adds
            else Verify(token, producer_id, producer_epoch, partitions)
        )
        self._give(transactional_id, event)
        if not token.done():
            raise KafkaError(ErrorCode.CONCURRENT_TRANSACTIONS, "ask again in a moment")
        if token.result().error is not ErrorCode.NONE:
            message = f"{partition} is not part of a transaction of {transactional_id!r}"
            raise KafkaError(token.result().error, message)
        return self._until_added(transactional_id, partition)

    def _until_added(
        self, transactional_id: str, partition: TopicPartition
    ) -> "asyncio.Future[None] | None":
        added = self._added.get(transactional_id)
        return added.flushed if added is not None and partition in added.partitions else None

    async def end_in(
        self, name: TopicPartition, producer_id: int, producer_epoch: int, commit: bool
    ) -> None:
        """End a transaction in one partition, on an administrator's word alone."""
        partition = self._topics.named(name.topic).partition(name.partition)
        partition.producers.check_epoch(producer_id, producer_epoch)
        whose = producer_id, producer_epoch
        if waiting := self._markers.end_in(partition, *whose, _marker(commit)):
            await asyncio.wait([waiting])
            waiting.result()

    def stop(self) -> None:
        """Leave the markers that are not written yet to the next start."""
        self._markers.stop()

    async def load(self) -> None:
        """At start: replay the log, and take up what the last stop has interrupted."""
        (await self._opened_log()).replay(self.table.replay)
        self._reconcile()
        for transaction in tuple(self.table.transactions.values()):
            desk = self._desks.setdefault(transaction.transactional_id, _Desk())
            desk.effects.extend(transaction.resume(self._now()))
            self._work(transaction.transactional_id, desk)

    async def tick(self) -> None:
        """End what has been open for too long, forget ids that nobody uses, and try again what the
        disk has refused.
        """
        self._end_orphans()
        await self._reload()
        for transactional_id in sorted(self._unwritten):
            self._resume(transactional_id)
        async for transaction in self._slices.paced(tuple(self.table.transactions.values())):
            if transaction.is_due(self._now()):
                self._wake(transaction.transactional_id)

    def _wake(self, transactional_id: str) -> None:
        """Unless something else is under way there."""
        if transactional_id not in self._desks:
            self._give(transactional_id, Tick())

    def _reconcile(self) -> None:
        """Let the table know what the partitions show, and end what it does not know. Those that
        could not be opened show it when they come.
        """
        partitions = [partition for topic in self._topics for partition in topic.partitions]
        unopened = [partition for partition in partitions if not partition.is_begun]
        # Before those that are open show what has begun since.
        decisions = dict(self._decisions()) if unopened else {}
        for partition in partitions:
            if partition.is_begun:
                self._take_in(partition)
        for partition in unopened:
            partition.when_begun = partial(self._take_in, partition)
        self._first_decisions = decisions
        self._end_orphans()

    def _decisions(self) -> Iterator[tuple[Identity, Marker | None]]:
        for transaction in self.table.transactions.values():
            yield transaction.identity, None
            if transaction.last_committed is not None:
                yield transaction.last_committed, Marker.COMMIT

    def _take_in(self, partition: Partition) -> None:
        for opened in partition.open_transactions():
            self._take_in_opened(partition, opened)

    def _take_in_opened(self, partition: Partition, opened: OpenTransaction) -> None:
        whose = opened.producer_id, opened.producer_epoch
        if marker := self._first_decisions.get(whose):
            # It was one of the transaction's partitions, and nobody knew.
            self._add_orphan(_Orphan(partition.name, *whose, marker))
        elif undecided := self._undecided(opened.producer_id):
            self._late.setdefault(undecided, []).append((partition, opened))
        elif not self._reinstate(partition, opened):
            # An earlier start, which could not open the partition either, may have committed it.
            # If nothing says so any more: nobody was told that these records are there.
            owner = self.table.by_producer(opened.producer_id)
            marker = _marker(owner is not None and owner.last_committed == whose)
            logger.warning(
                "%s: records of producer %d from offset %d on belong to no transaction "
                "that is going on: %s",
                partition.name,
                opened.producer_id,
                opened.first_offset,
                marker.name,
            )
            self._add_orphan(_Orphan(partition.name, *whose, marker))

    def _undecided(self, producer_id: int) -> str | None:
        """The transactional id that has this producer id, or may have it again, if it is that."""
        for transactional_id, desk in self._desks.items():
            transaction = self.table.get(transactional_id)
            if desk.is_undecided and transaction and transaction.has_had(producer_id):
                return transactional_id
        return None

    def _take_in_late(self, transactional_id: str) -> None:
        """It is decided."""
        for partition, opened in self._late.pop(transactional_id, ()):
            self._take_in_opened(partition, opened)

    def _add_orphan(self, orphan: _Orphan) -> None:
        self._orphans[orphan.partition, orphan.producer_id] = orphan

    def _end_orphans(self) -> None:
        """Write their markers; they are looked at again until that is durable."""
        for key, orphan in sorted(self._orphans.items()):
            # While a disk hangs, one who waits for it is enough.
            if orphan.marked is None or (orphan.marked.done() and orphan.marked.exception()):
                self._end_orphan(orphan)
            elif orphan.marked.done():
                del self._orphans[key]

    def _end_orphan(self, orphan: _Orphan) -> None:
        partition = self._markers.partition(orphan.partition)
        whose = orphan.producer_id, orphan.producer_epoch
        orphan.marked = None
        try:
            if partition is not None:
                orphan.marked = self._markers.end_in(partition, *whose, orphan.marker)
        except Exception as error:
            bug = None if isinstance(error, KafkaError) else error
            logger.error("%s: cannot be ended yet: %s", orphan.partition, error, exc_info=bug)
        else:
            if orphan.marked is None:
                del self._orphans[orphan.partition, orphan.producer_id]

    def _open(self) -> Iterator[tuple[Partition, OpenTransaction]]:
        for topic in self._topics:
            for partition in topic.partitions:
                for opened in partition.open_transactions():
                    yield partition, opened

    def _reinstate(self, partition: Partition, opened: OpenTransaction) -> bool:
        whose = opened.producer_id, opened.producer_epoch
        return self.table.reinstate(*whose, partition.name, self._now())

    async def _opened_log(self) -> StateLog:
        """Its topic is made when the first producer asks for it, as in Kafka."""
        async with self._opening:
            if self._log is None:
                self._log = await self._open_log()
            return self._log

    async def _fresh_id(self, transactional_id: str) -> int:
        """A producer id, if this transaction may need one."""
        transaction = self.table.get(transactional_id)
        if transaction is not None and not transaction.needs_fresh_id:
            return -1
        return await self._new_producer_id()

    def _now(self) -> Moment:
        return Moment(self._monotonic(), self._clock())

    def _token(self) -> "asyncio.Future[Reply]":
        return self._loop.create_future()

    async def _ask(
        self, transactional_id: str, event: Event, token: "asyncio.Future[Reply]"
    ) -> Reply:
        self._give(transactional_id, event)
        return await token

    def _give(self, transactional_id: str, event: Event) -> None:
        desk = self._desks.setdefault(transactional_id, _Desk())
        desk.events.append(event)
        self._work(transactional_id, desk)

    def _work(self, transactional_id: str, desk: _Desk) -> None:
        while not desk.is_busy and (desk.effects or desk.events):
            if desk.effects:
                self._carry_out(transactional_id, desk, desk.effects.popleft())
            else:
                desk.effects.extend(self._handled(transactional_id, desk, desk.events.popleft()))
        if not desk.is_undecided:
            self._desks.pop(transactional_id, None)
            self.table.discard_vacant(transactional_id)
            self._take_in_late(transactional_id)

    def _handled(self, transactional_id: str, desk: _Desk, event: Event) -> list[Effect]:
        if desk.is_doubtful:
            return _refusal(event, ErrorCode.COORDINATOR_NOT_AVAILABLE)
        transaction = self.table.get(transactional_id)
        if transaction is None:
            if not isinstance(event, Init):
                return _refusal(event, ErrorCode.INVALID_PRODUCER_ID_MAPPING)
            if not self.table.has_room_for(transactional_id):
                return _refusal(event, ErrorCode.COORDINATOR_NOT_AVAILABLE)
            transaction = self.table.get_or_create(transactional_id)
        effects = transaction.handle(event, self._now())
        if isinstance(event, End):
            self._note_repetition(event, effects)
        return effects

    def _note_repetition(self, event: End, effects: list[Effect]) -> None:
        """Who is told at once that it is done may have meant a later transaction, of which only
        partitions know that could not be opened. What it was told holds for that.
        """
        first = effects[0] if effects else None
        if isinstance(first, Reply) and first.error is ErrorCode.NONE:
            self._note_decision((event.producer_id, event.producer_epoch), _marker(event.commit))

    def _carry_out(self, transactional_id: str, desk: _Desk, effect: Effect) -> None:
        if isinstance(effect, Reply):
            if isinstance(effect.token, asyncio.Future) and not effect.token.done():
                effect.token.set_result(effect)
        elif isinstance(effect, WriteMarkers):
            self._write_markers(transactional_id, desk, effect)
        else:
            self._store(transactional_id, desk, effect)

    def _store(self, transactional_id: str, desk: _Desk, effect: Store | Removed) -> None:
        assert self._log is not None
        try:
            waiting = self._log.append_soon([_entry(transactional_id, effect)])
        except KafkaError as error:
            self._failed(transactional_id, desk, error)
            return
        if waiting is None:
            self._is_stored(transactional_id, effect)
        elif isinstance(effect, Removed) or effect.durable:
            desk.is_busy = True
            waiting.add_done_callback(partial(self._stored, transactional_id, desk, effect))
        elif effect.new:
            earlier = self._added.get(transactional_id)
            new = effect.new | earlier.partitions if earlier else effect.new
            self._added[transactional_id] = _Added(new, waiting)
            waiting.add_done_callback(partial(self._are_added, transactional_id))

    def _are_added(self, transactional_id: str, waiting: "asyncio.Future[None]") -> None:
        if self._added[transactional_id].flushed is waiting:
            del self._added[transactional_id]
        if isinstance(error := waiting.exception(), KafkaError):
            # The records that waited for it may be there, but their producer was told to try again.
            desk = self._desks.setdefault(transactional_id, _Desk())
            self._failed(transactional_id, desk, error)
            self._work(transactional_id, desk)

    def _stored(
        self,
        transactional_id: str,
        desk: _Desk,
        effect: Store | Removed,
        waiting: "asyncio.Future[None]",
    ) -> None:
        desk.is_busy = False
        if isinstance(error := waiting.exception(), KafkaError):
            self._failed(transactional_id, desk, error)
        else:
            self._is_stored(transactional_id, effect)
        self._work(transactional_id, desk)

    def _is_stored(self, transactional_id: str, effect: Store | Removed) -> None:
        if isinstance(effect, Removed):
            self.table.remove(transactional_id)

    def _failed(self, transactional_id: str, desk: _Desk, error: KafkaError) -> None:
        """What was decided is not on disk: take nothing further, and believe the log from here."""
        logger.error("transaction %s could not be stored: %s", transactional_id, error.message)
        desk.is_doubtful = True
        refused = ErrorCode.COORDINATOR_NOT_AVAILABLE
        desk.effects = deque(
            Reply(effect.token, refused) for effect in desk.effects if isinstance(effect, Reply)
        )
        transaction = self.table.get(transactional_id)
        if transaction is not None and transaction.waiting is not None:
            desk.effects.append(Reply(transaction.waiting.token, refused))

    async def _reload(self) -> None:
        """Read from the log how the doubtful ones stand. They take nothing meanwhile, so nothing
        of theirs is appended; if the log cannot be read, they stay as they are, and nobody else
        has to wait for that.
        """
        doubtful = {name: desk for name, desk in self._desks.items() if desk.is_doubtful}
        if not doubtful or self._log is None or self._log.partition.offline is not None:
            return
        partition = self._log.partition
        reopened = partition.reopened
        try:
            last = await self._last_records(self._log, doubtful)
        except Exception as error:
            # Whatever it is: the others must not wait for it.
            self._tell_unreadable(error)
            return
        self._unreadable = None
        # Else it may have lost what was read: that need not have been on disk.
        if partition.offline is None and partition.reopened == reopened:
            self._restore(doubtful, last)

    async def _last_records(
        self, log: StateLog, transactional_ids: Iterable[str]
    ) -> list[TransactionRecord]:
        keys = set(map(key_of, transactional_ids))
        records = self._slices.paced(_records(log))
        # No other value is decoded: it may have thousands of partitions.
        last = {key: value async for key, value in records if key in keys}
        return [record for key, value in last.items() if (record := decode(key, value))]

    def _tell_unreadable(self, error: Exception) -> None:
        """Once, not with each tick."""
        reason = str(error)
        if reason != self._unreadable:
            text = "how doubtful transactions stand cannot be read yet: %s"
            bug = None if isinstance(error, KafkaError) else error
            logger.error(text, reason, exc_info=bug)
        self._unreadable = reason

    def _restore(self, doubtful: dict[str, _Desk], last: Iterable[TransactionRecord]) -> None:
        for transactional_id in doubtful:
            self.table.remove(transactional_id)
        for record in last:
            self.table.take(record)
        for partition, opened in self._open():
            owner = self.table.by_producer(opened.producer_id)
            is_orphan = (partition.name, opened.producer_id) in self._orphans
            if owner is not None and owner.transactional_id in doubtful and not is_orphan:
                self._reinstate(partition, opened)
        for transactional_id, desk in doubtful.items():
            desk.is_doubtful = False
            if transaction := self.table.get(transactional_id):
                desk.effects.extend(transaction.resume(self._now()))
            self._work(transactional_id, desk)

    def _write_markers(self, transactional_id: str, desk: _Desk, effect: WriteMarkers) -> None:
        if transaction := self.table.get(transactional_id):
            self._note_decision(transaction.ended_identity, _marker(effect.commit))
        self._take_in_late(transactional_id)
        desk.is_busy = True
        try:
            waiting = self._markers.write(effect, partial(self._marker_in, effect))
        except Exception as error:
            # Whatever it was: if it stayed busy, nothing of this id would ever go on.
            self._marked_now(transactional_id, desk, error)
            return
        if waiting is None:
            self._marked_now(transactional_id, desk, None)
        else:
            waiting.add_done_callback(partial(self._marked, transactional_id, desk))

    def _marker_in(self, effect: WriteMarkers, name: TopicPartition) -> Marker:
        """All that is open there may be of an older one, which ended otherwise."""
        orphan = self._orphans.get((name, effect.producer_id))
        return orphan.marker if orphan else _marker(effect.commit)

    def _note_decision(self, whose: Identity | None, marker: Marker) -> None:
        # Not that of a later one: before version 5 of EndTxn, they all have one epoch.
        if whose is not None and self._first_decisions.get(whose, marker) is None:
            self._first_decisions[whose] = marker

    def _marked(self, transactional_id: str, desk: _Desk, done: "asyncio.Future[Any]") -> None:
        if done.cancelled():
            return  # With the loop.
        self._marked_now(transactional_id, desk, done.exception())
        self._work(transactional_id, desk)

    def _marked_now(
        self, transactional_id: str, desk: _Desk, failure: BaseException | None
    ) -> None:
        desk.is_busy = False
        if failure is not None:
            level = logging.INFO if _is_gone(failure) else logging.ERROR
            text = "transaction %s cannot be ended yet: %s"
            bug = None if isinstance(failure, KafkaError) else failure
            logger.log(level, text, transactional_id, failure, exc_info=bug)
            self._unwritten.add(transactional_id)
        desk.events.appendleft(Written() if failure is None else Unwritten())

    def _resume(self, transactional_id: str) -> None:
        desk = self._desks.setdefault(transactional_id, _Desk())
        if desk.is_undecided:
            return
        self._unwritten.discard(transactional_id)
        if transaction := self.table.get(transactional_id):
            desk.effects.extend(transaction.resume(self._now()))
        self._work(transactional_id, desk)


def _records(log: StateLog) -> Iterator[tuple[bytes, bytes | None]]:
    for data, run in log.runs():
        if not run.header.is_control:
            yield from entries(data, run)


def _marker(commit: bool) -> Marker:
    return Marker.COMMIT if commit else Marker.ABORT


def _entry(transactional_id: str, effect: Store | Removed) -> Entry:
    if isinstance(effect, Removed):
        return tombstone(transactional_id)
    return transaction_record(transactional_id, effect.stored)


def _is_gone(failure: BaseException) -> bool:
    """Whether a partition was closed while its marker was on its way: deleted, mostly, and then
    nothing is left to end there.
    """
    return isinstance(failure, KafkaError) and failure.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def _refusal(event: Event, error: ErrorCode) -> list[Effect]:
    if isinstance(event, Init | Add | Verify | End):
        return [Reply(event.token, error)]
    return []
