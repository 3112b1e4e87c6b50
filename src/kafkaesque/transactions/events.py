"""What happens to a transaction (events) and what it asks for in return (effects).

The coordinator turns a request into an event with a token of its choice, and finds the token again
in the reply, at once or some events later: an End is answered when its markers are written. Each
token is answered exactly once. Effects are carried out in order, and the next event of the same
transactional id comes only when they are.

Above: the coordinator. Below: transaction.py, which makes the one out of the other.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from kafkaesque.errors import ErrorCode
from kafkaesque.transactions.partitions import NO_PARTITIONS, Partitions

Token: TypeAlias = Hashable


class State(Enum):
    """Spelled as Kafka spells them in DescribeTransactions and ListTransactions."""

    EMPTY = "Empty"
    ONGOING = "Ongoing"
    PREPARE_COMMIT = "PrepareCommit"
    PREPARE_ABORT = "PrepareAbort"
    COMPLETE_COMMIT = "CompleteCommit"
    COMPLETE_ABORT = "CompleteAbort"
    DEAD = "Dead"


@dataclass(frozen=True, slots=True)
class Init:
    """InitProducerId. Who names a producer id and epoch wants to go on with it (KIP-360)."""

    token: Token
    timeout_ms: int
    producer_id: int = -1
    producer_epoch: int = -1
    fresh_id: int = -1
    """A producer id that was never used, for when one is needed: see `needs_fresh_id`."""


@dataclass(frozen=True, slots=True)
class Add:
    """AddPartitionsToTxn, AddOffsetsToTxn; from transactional writes that add by themselves, too.

    `connection` is a number that grows with each accepted connection; 0 does not say.
    """

    token: Token
    producer_id: int
    producer_epoch: int
    partitions: Partitions
    connection: int = 0


@dataclass(frozen=True, slots=True)
class Verify:
    """Are these partitions part of the ongoing transaction? What only they have shown of that is
    stored.
    """

    token: Token
    producer_id: int
    producer_epoch: int
    partitions: Partitions


@dataclass(frozen=True, slots=True)
class End:
    """EndTxn. From version 5 on it bumps: each transaction has an epoch of its own (KIP-890)."""

    token: Token
    producer_id: int
    producer_epoch: int
    commit: bool
    bumps: bool = False
    connection: int = 0
    fresh_id: int = -1


@dataclass(frozen=True, slots=True)
class Tick:
    """Time has passed: whatever is due, happens."""


@dataclass(frozen=True, slots=True)
class Written:
    """Every marker of what is prepared is in its partition, and durable."""


@dataclass(frozen=True, slots=True)
class Unwritten:
    """The markers cannot be written now. The coordinator tries again, until it can say Written."""


Event: TypeAlias = Init | Add | Verify | End | Tick | Written | Unwritten


@dataclass(frozen=True, slots=True)
class Reply:
    """Answers a request. Init and an End that bumps are told the producer id and epoch to use."""

    token: Token
    error: ErrorCode = ErrorCode.NONE
    producer_id: int = -1
    producer_epoch: int = -1


@dataclass(frozen=True, slots=True)
class StoredTransaction:
    """A transactional id as `__transaction_state` remembers it."""

    state: State
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    updated_ms: int
    started_ms: int = -1
    partitions: Partitions = NO_PARTITIONS
    previous_producer_id: int = -1
    """The producer id before the last epoch of one made another necessary."""
    next_producer_id: int = -1
    """The producer id that follows when what is prepared is complete."""
    next_producer_epoch: int = -1
    """For Kafka's two-phase commit (KIP-939); not used here."""
    client_transaction_version: int = 0
    """2 if the end raised the epoch."""


@dataclass(frozen=True, slots=True)
class Store:
    """Append this to `__transaction_state`; if `durable`, what follows waits until it is."""

    stored: StoredTransaction
    durable: bool
    new: Partitions = NO_PARTITIONS
    """Partitions that no record before this one has. What is written to them is acknowledged when
    this is durable, too.
    """


@dataclass(frozen=True, slots=True)
class WriteMarkers:
    """Write the end of the transaction into its partitions, then say Written or Unwritten."""

    producer_id: int
    producer_epoch: int
    commit: bool
    partitions: Partitions


@dataclass(frozen=True, slots=True)
class Removed:
    """The transactional id has expired: append a tombstone, and forget it."""


Effect: TypeAlias = Reply | Store | WriteMarkers | Removed
