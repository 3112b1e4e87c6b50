"""A coordinator without asyncio, partitions that are lists, and a disk that forgets.

It carries out the effects of one transactional id as the broker does. It can stop dead before any
of them: then each log loses some of what was not synced, and the coordinator starts again from what
is left. `verdicts` says what a read_committed reader makes of the partitions.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Generic, TypeVar

from tests.unit.transactions.driver import CONFIG, NOW, P0, P1, REFUNDS

from kafkaesque.errors import ErrorCode
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
    StoredTransaction,
    Token,
    Unwritten,
    Verify,
    WriteMarkers,
    Written,
)
from kafkaesque.transactions.records import (
    TransactionRecord,
    decode,
    tombstone,
    transaction_record,
)
from kafkaesque.transactions.table import TransactionTable
from kafkaesque.transactions.transaction import Identity, Transaction
from kafkaesque.types import Moment, TopicPartition

T = TypeVar("T")
Choose = Callable[[int, int], int]
"""(least, most) -> how much of a log a crash leaves."""
PARTITIONS = (P0, P1, REFUNDS)
ID = "t"


class CrashError(Exception):
    """The broker stops dead."""


@dataclass(frozen=True)
class Data:
    """A record that belongs to the producer's transaction of this number."""

    identity: Identity
    number: int


@dataclass(frozen=True)
class Marker:
    producer_id: int
    commit: bool


@dataclass
class Disk(Generic[T]):
    """A log, and how much of it a crash cannot take."""

    entries: list[T] = field(default_factory=list)
    synced: int = 0

    def append(self, entry: T) -> None:
        self.entries.append(entry)

    def sync(self) -> None:
        self.synced = len(self.entries)

    def crash(self, choose: Choose) -> None:
        del self.entries[choose(self.synced, len(self.entries)) :]
        self.sync()


class World:
    """`ask` for an event; `break_after` so many steps the broker crashes."""

    def __init__(self, choose: Choose, epoch: int = -1) -> None:
        self.choose = choose
        self.now = NOW
        self.table = TransactionTable(CONFIG)
        self.log: Disk[tuple[bytes, bytes | None]] = Disk()
        self.partitions: dict[TopicPartition, Disk[Data | Marker]] = {
            partition: Disk() for partition in PARTITIONS
        }
        self.answers: dict[Token, Reply] = {}
        self.pending: WriteMarkers | None = None
        self.break_after: int | None = None
        self.is_offline = False
        self.restarts = 0
        self._ids = count(1)
        if epoch >= 0:
            stored = StoredTransaction(State.EMPTY, next(self._ids), epoch, 60_000, NOW)
            self.log.append(transaction_record(ID, stored))
            self.log.sync()
            self.table.replay(*self.log.entries[0])

    def fresh_id(self) -> int:
        return next(self._ids)

    def ask(self, event: Event) -> Reply | None:
        """The answer, if the event wants one and the broker lives to give it."""
        try:
            self._carry_out(self._handle(event))
        except CrashError:
            self.restart()
        token = getattr(event, "token", None)
        return self.answers.get(token)

    def try_again(self) -> None:
        """Write the markers that could not be written."""
        if self.pending is not None:
            try:
                self._write(self.pending)
            except CrashError:
                self.restart()

    def restart(self) -> None:
        """Start again, with what the crash left, until it goes well."""
        self.restarts += 1
        try:
            self._recover()
        except CrashError:
            self.restart()

    def verdicts(self) -> Iterator[tuple[int, bool | None]]:
        """The number of each record's transaction, and how it ended; None if it is open."""
        for disk in self.partitions.values():
            open_records: dict[int, list[int]] = {}
            for entry in disk.entries:
                if isinstance(entry, Data):
                    open_records.setdefault(entry.identity[0], []).append(entry.number)
                else:
                    for number in open_records.pop(entry.producer_id, ()):
                        yield number, entry.commit
            for numbers in open_records.values():
                assert len(set(numbers)) == 1, "two transactions in one"
                yield numbers[0], None

    def _handle(self, event: Event) -> list[Effect]:
        transaction = self.table.get_or_create(ID) if isinstance(event, Init) else self._known()
        if transaction is not None:
            return transaction.handle(event, self.moment())
        if isinstance(event, Add | Verify | End):
            return [Reply(event.token, ErrorCode.INVALID_PRODUCER_ID_MAPPING)]
        return []

    def moment(self) -> Moment:
        return Moment(self.now, self.now)

    def _known(self) -> Transaction | None:
        return self.table.get(ID)

    def _step(self) -> None:
        if self.break_after is not None:
            self.break_after -= 1
            if self.break_after < 0:
                self.break_after = None
                raise CrashError

    def _carry_out(self, effects: Sequence[Effect]) -> None:
        for effect in effects:
            self._step()
            match effect:
                case Store(stored, durable):
                    self._store(stored, durable)
                case WriteMarkers():
                    self._write(effect)
                case Reply(token):
                    assert token not in self.answers
                    self.answers[token] = effect
                case Removed():
                    self.log.append(tombstone(ID))
                    self.table.remove(ID)

    def _store(self, stored: StoredTransaction, durable: bool) -> None:
        record = transaction_record(ID, stored)
        assert decode(*record) == TransactionRecord(ID, stored)
        self.log.append(record)
        if durable:
            self._step()
            self.log.sync()

    def _write(self, markers: WriteMarkers) -> None:
        self._check_decided(markers)
        self.pending = markers
        if self.is_offline:
            self._carry_out(self._handle(Unwritten()))
            return
        for partition in sorted(markers.partitions):
            self._end_in(partition, markers.producer_id, markers.commit)
        self.pending = None
        self._carry_out(self._handle(Written()))

    def _check_decided(self, markers: WriteMarkers) -> None:
        assert self.log.synced == len(self.log.entries)
        record = decode(*self.log.entries[-1])
        assert record is not None
        assert record.stored is not None
        assert record.stored.partitions == markers.partitions
        wanted = State.PREPARE_COMMIT if markers.commit else State.PREPARE_ABORT
        assert record.stored.state is wanted

    def _end_in(self, partition: TopicPartition, producer_id: int, commit: bool) -> None:
        disk = self.partitions[partition]
        disk.append(Marker(producer_id, commit))
        self._step()
        disk.sync()

    def _recover(self) -> None:
        self.pending = None
        self.log.crash(self.choose)
        for disk in self.partitions.values():
            disk.crash(self.choose)
        self.table = TransactionTable(CONFIG)
        for record in self.log.entries:
            self.table.replay(*record)
        for partition, disk in self.partitions.items():
            for identity in open_identities(disk.entries):
                if not self.table.reinstate(*identity, partition, self.moment()):
                    self._end_in(partition, identity[0], commit=False)
        transaction = self._known()
        if transaction is not None:
            self._carry_out(transaction.resume(self.moment()))


def open_identities(entries: Sequence[Data | Marker]) -> list[Identity]:
    """Whose transactions are open in a partition."""
    open_epochs: dict[int, int] = {}
    for entry in entries:
        if isinstance(entry, Data):
            open_epochs[entry.identity[0]] = entry.identity[1]
        else:
            open_epochs.pop(entry.producer_id, None)
    return list(open_epochs.items())
