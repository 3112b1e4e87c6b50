"""A transactional id: (event, now) -> effects. It opens no socket and reads no clock.

                  ┌──────────────────────── Init ───────────────────────────┐
                  ▼                                                         │
    Init ──► EMPTY ──Add──► ONGOING ──End──► PREPARE_COMMIT ──Written──► COMPLETE_COMMIT ──Add──► …
                               │
                               └─End, Init, timeout─► PREPARE_ABORT ──Written──► COMPLETE_ABORT
    EMPTY, COMPLETE_* ──expired──► DEAD

This file holds the state and the steps it is moved by; transitions.py says which event takes which.

The decision is the PREPARE_* record: once it is durable it is never taken back, and only then are
markers written. An ending that bumps raises the epoch with the decision, so the markers and the
next transaction have the new one. Nothing but the acknowledgement of records waits for an ONGOING
record: after a crash the partitions themselves show which transactions are open (`reinstate`), and
one that cannot be opened then has been named by the record if it has anything to show that counts.
That is unambiguous only if an open transaction of the decision's own epoch cannot be the next one
already, so an ending that did not bump is stored durably before the next transaction may begin.

Above: the broker's transaction coordinator. Below: transitions.py, events.py.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from kafkaesque.errors import ErrorCode
from kafkaesque.transactions.events import (
    Effect,
    End,
    Event,
    Init,
    Reply,
    State,
    Store,
    StoredTransaction,
    Token,
    WriteMarkers,
)
from kafkaesque.transactions.partitions import NO_PARTITIONS, Partitions
from kafkaesque.transactions.transitions import TRANSITIONS
from kafkaesque.types import Moment, TopicPartition

Identity: TypeAlias = tuple[int, int]
"""Producer id and epoch."""

MAX_EPOCH = 2**15 - 1
"""Never told to a client: there must be one left to fence it with."""
LAST_CLIENT_EPOCH = MAX_EPOCH - 1
BUMPING_VERSION = 2
"""Kafka's `transaction.version` from which on each ending raises the epoch."""

PREPARED = (State.PREPARE_COMMIT, State.PREPARE_ABORT)
COMPLETE = (State.COMPLETE_COMMIT, State.COMPLETE_ABORT)


@dataclass(frozen=True, slots=True)
class TransactionConfig:
    """`transaction.max.timeout.ms` and `transactional.id.expiration.ms`; what all ids may take."""

    max_timeout_ms: int = 900_000
    expiration_ms: int = 604_800_000
    max_kept_bytes: int = 128 << 20


class Transaction:
    """One transactional id. Its owner calls `handle`; the steps are for transitions.py only."""

    def __init__(self, transactional_id: str, config: TransactionConfig) -> None:
        self.transactional_id = transactional_id
        self.config = config
        self.state = State.EMPTY
        self.producer_id = -1
        self.producer_epoch = -1
        self.previous_producer_id = -1
        self.next_producer_id = -1
        self.last_identity: Identity | None = None
        """What the current epoch came from, if who had it may be told again."""
        self.partitions: Partitions = NO_PARTITIONS
        self.stored_partitions: Partitions = NO_PARTITIONS
        """Those of them that a record has. After a crash, the partitions may show more."""
        self.timeout_ms = 0
        self.started_ms = -1
        self.updated_ms = -1
        self.times_out_at_ms: int | None = None
        """When an ongoing transaction is aborted, by the clock that only goes forward."""
        self.client_transaction_version = 0
        self.connection = 0
        """The newest that took part since the epoch was given out; 0 if none said."""
        self.waiting: Init | End | None = None
        """Who is to be answered when the markers are written."""
        self._effects: list[Effect] = []

    @classmethod
    def restore(
        cls, transactional_id: str, config: TransactionConfig, stored: StoredTransaction
    ) -> "Transaction":
        """As it was last stored. Whoever waited for an answer has to ask again."""
        transaction = cls(transactional_id, config)
        transaction.state = stored.state
        transaction.producer_id = stored.producer_id
        transaction.producer_epoch = stored.producer_epoch
        transaction.previous_producer_id = stored.previous_producer_id
        transaction.next_producer_id = stored.next_producer_id
        transaction.partitions = transaction.stored_partitions = stored.partitions
        transaction.timeout_ms = stored.timeout_ms
        transaction.started_ms = stored.started_ms
        transaction.updated_ms = stored.updated_ms
        if stored.state in (*PREPARED, *COMPLETE):
            # Kafka has it in other states, too: there it is not about an ending.
            transaction.client_transaction_version = stored.client_transaction_version
        transaction.last_identity = transaction._identity_before_the_end()
        return transaction

    def handle(self, event: Event, now: Moment) -> list[Effect]:
        """Let an event happen; the effects are to be carried out in order."""
        TRANSITIONS[self.state, type(event)](self, event, now)
        effects, self._effects = self._effects, []
        return effects

    def is_due(self, now: Moment) -> bool:
        """Would a Tick change something? Earlier ones do not."""
        if self.state is State.ONGOING:
            return self.times_out_at_ms is not None and self.times_out_at_ms <= now.monotonic_ms
        if self.is_vacant or self.state is State.DEAD or self.state in PREPARED:
            return False
        return self.updated_ms + self.config.expiration_ms <= now.wall_ms

    def resume(self, now: Moment) -> list[Effect]:
        """What was under way when the broker stopped: to be asked once, after the replay.

        A transaction that is going on has what is left of its time, by the wall's clock. If that
        was set back meanwhile, it has all of its time again, and never more.
        """
        if self.state is State.ONGOING and self.times_out_at_ms is None:
            passed_ms = max(now.wall_ms - self.started_ms, 0)
            self.times_out_at_ms = now.monotonic_ms + max(self.timeout_ms - passed_ms, 0)
        return [self._markers()] if self.state in PREPARED else []

    def reinstate(self, partitions: Iterable[TopicPartition], now: Moment) -> None:
        """After a replay: these have open records of `identity`, so its transaction is ongoing.

        If the log's last word is a decision that raised the epoch, open records of that epoch are
        of the next transaction, and that can begin only when all markers are written. If it did not
        raise it, they are what the decision is about.
        """
        if self.state in PREPARED and not self.has_bumped:
            return
        if self.state in PREPARED:
            self._finish()
        if self.state is not State.ONGOING:
            self.begin(now)
        self.partitions |= Partitions(partitions)

    def is_ending(self, identity: Identity, partition: TopicPartition) -> bool:
        """Is an open transaction of the epoch before the one that the markers of `resume` end?"""
        is_prepared = self.state in PREPARED and partition in self.partitions
        return is_prepared and identity == self.last_identity

    @property
    def identity(self) -> Identity:
        """Whose records the next transaction has."""
        if self.next_producer_id >= 0:
            return self.next_producer_id, 0
        return self.producer_id, self.producer_epoch

    @property
    def ended_identity(self) -> Identity | None:
        """Whose records the last ending was about."""
        return self.last_identity if self.has_bumped else self.identity

    @property
    def last_committed(self) -> Identity | None:
        """Whose records are committed wherever they are, if the last ending was that and raised the
        epoch: else the next transaction may have the same.
        """
        is_commit = self.state in (State.PREPARE_COMMIT, State.COMPLETE_COMMIT)
        return self.last_identity if is_commit and self.has_bumped else None

    def has_had(self, producer_id: int) -> bool:
        """Is this its producer id, or the one before or after?"""
        ids = self.producer_id, self.previous_producer_id, self.next_producer_id
        return producer_id in ids

    @property
    def is_vacant(self) -> bool:
        """Nothing ever came of this transactional id: no reason to keep it."""
        return self.producer_id < 0

    @property
    def needs_fresh_id(self) -> bool:
        """May the next Init or End need a new producer id? An Init may take two epochs.

        One that comes without, because others were before it in line, is told to come again.
        """
        return self.is_vacant or self.producer_epoch >= LAST_CLIENT_EPOCH - 1

    @property
    def is_exhausted(self) -> bool:
        """Is there no higher epoch that a client may be given?"""
        return self.producer_epoch >= LAST_CLIENT_EPOCH

    @property
    def can_be_told(self) -> bool:
        """May a client be given the current epoch? Not if it was the last one, for fencing."""
        return self.producer_epoch < MAX_EPOCH

    @property
    def has_bumped(self) -> bool:
        """Did the last ending raise the epoch, so that it tells this transaction from the next?"""
        return self.client_transaction_version >= BUMPING_VERSION

    @property
    def stored(self) -> StoredTransaction:
        """All that a replay needs."""
        return StoredTransaction(
            state=self.state,
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            timeout_ms=self.timeout_ms,
            updated_ms=self.updated_ms,
            started_ms=self.started_ms,
            partitions=self.partitions,
            previous_producer_id=self.previous_producer_id,
            next_producer_id=self.next_producer_id,
            client_transaction_version=self.client_transaction_version,
        )

    def emit(self, effect: Effect) -> None:
        self._effects.append(effect)

    def refuse(self, token: Token, error: ErrorCode) -> None:
        self.emit(Reply(token, error))

    def tell(self, token: Token) -> None:
        """Success, and the producer id and epoch to go on with."""
        self.emit(Reply(token, ErrorCode.NONE, *self.identity))

    def store(self, durable: bool) -> None:
        new = self.partitions - self.stored_partitions
        self.stored_partitions = self.partitions
        self.emit(Store(self.stored, durable, new))

    def initialize(self, init: Init, last_identity: Identity | None, now: Moment) -> None:
        """A producer starts, or starts over, with a new epoch: all before it are fenced."""
        if not (self.is_vacant or self.is_exhausted):
            self.producer_epoch += 1
        elif init.fresh_id >= 0:
            self._rotate(init.fresh_id)
        else:
            self.refuse(init.token, ErrorCode.CONCURRENT_TRANSACTIONS)
            return
        self.welcome(init, last_identity, now)

    def welcome(self, init: Init, last_identity: Identity | None, now: Moment) -> None:
        """A producer is given the epoch that there is."""
        self.state = State.EMPTY
        self.last_identity = last_identity
        self.timeout_ms = init.timeout_ms
        self.started_ms = -1
        self.updated_ms = now.wall_ms
        self.client_transaction_version = 0
        self.connection = 0
        self.store(durable=True)
        self.tell(init.token)

    def begin(self, now: Moment) -> None:
        """A transaction starts: its producer knows the epoch, and need not be told again."""
        self.state = State.ONGOING
        self.started_ms = self.updated_ms = now.wall_ms
        self.times_out_at_ms = now.monotonic_ms + self.timeout_ms
        self.last_identity = None
        self.client_transaction_version = 0

    def bump(self, fresh_id: int) -> None:
        """The transaction ends with a higher epoch, or if there is none, with a new producer id."""
        if self.is_exhausted:
            self.next_producer_id = fresh_id
        self._raise_epoch()

    def fence(self, now: Moment) -> None:
        """Abort what a producer left behind, with an epoch that it does not have.

        If that is the last one, the next Init brings a fresh producer id.
        """
        self._raise_epoch()
        self.prepare(commit=False, now=now)

    def prepare(self, commit: bool, now: Moment) -> None:
        """Decide. Markers follow when the decision is durable."""
        self.state = State.PREPARE_COMMIT if commit else State.PREPARE_ABORT
        self.updated_ms = now.wall_ms
        self.store(durable=True)
        self.emit(self._markers())

    def complete(self, now: Moment) -> None:
        """All markers are written: forget the partitions."""
        self._finish()
        self.updated_ms = now.wall_ms

    def abort_nothing(self, now: Moment) -> None:
        """An abort without partitions has no markers to wait for; its epoch has to last, though."""
        self.state = State.PREPARE_ABORT
        self.started_ms = self.updated_ms = now.wall_ms
        self._finish()
        self.store(durable=True)

    def _raise_epoch(self) -> None:
        self.last_identity = self.producer_id, self.producer_epoch
        self.producer_epoch = min(self.producer_epoch + 1, MAX_EPOCH)
        self.client_transaction_version = BUMPING_VERSION
        self.connection = 0

    def _finish(self) -> None:
        committed = self.state is State.PREPARE_COMMIT
        self.state = State.COMPLETE_COMMIT if committed else State.COMPLETE_ABORT
        self.partitions = self.stored_partitions = NO_PARTITIONS
        if self.next_producer_id >= 0:
            self._rotate(self.next_producer_id)

    def _rotate(self, producer_id: int) -> None:
        self.previous_producer_id = self.producer_id
        self.producer_id = producer_id
        self.producer_epoch = 0
        self.next_producer_id = -1

    def _markers(self) -> WriteMarkers:
        commit = self.state is State.PREPARE_COMMIT
        return WriteMarkers(self.producer_id, self.producer_epoch, commit, self.partitions)

    def _identity_before_the_end(self) -> Identity | None:
        """The record does not have it, but where an ending raised the epoch, it follows."""
        if not self.has_bumped:
            return None
        if self.producer_epoch == 0:
            return self.previous_producer_id, LAST_CLIENT_EPOCH
        return self.producer_id, self.producer_epoch - 1
