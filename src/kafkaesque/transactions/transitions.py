"""What a transaction does with each event in each of its states: TRANSITIONS, at the end, has all.

A function here decides (who asks, may it, what does it change) and calls the transaction's own
steps. It answers each request once, now or later, and with Kafka's answer, to the error code.

Before version 5 of EndTxn all transactions of a producer have one epoch, and a request that was
delayed on a connection long given up looks like one for the next transaction. So an End is refused
if a newer connection has taken part since, and so is an Add.

Above: transaction.py, whose `handle` looks the function up.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from kafkaesque.errors import ErrorCode
from kafkaesque.transactions.events import (
    Add,
    End,
    Init,
    Removed,
    Reply,
    State,
    Tick,
    Unwritten,
    Verify,
    Written,
)
from kafkaesque.types import Moment

if TYPE_CHECKING:
    from kafkaesque.transactions.transaction import Transaction

Transition: TypeAlias = "Callable[[Transaction, Any, Moment], None]"


def init_idle(transaction: "Transaction", event: Init, now: Moment) -> None:
    """A new epoch, unless this one was given to the same producer, which did not hear of it."""
    claimed = event.producer_id, event.producer_epoch
    if not _has_valid_timeout(transaction, event):
        transaction.refuse(event.token, ErrorCode.INVALID_TRANSACTION_TIMEOUT)
    elif transaction.is_vacant or event.producer_id < 0:
        transaction.initialize(event, None, now)
    elif claimed == transaction.last_identity and transaction.can_be_told:
        transaction.welcome(event, claimed, now)
    elif claimed in (transaction.identity, transaction.last_identity):
        transaction.initialize(event, claimed, now)
    else:
        transaction.refuse(event.token, ErrorCode.PRODUCER_FENCED)


def init_ongoing(transaction: "Transaction", event: Init, now: Moment) -> None:
    """Abort what there is, first; the answer waits for that.

    Kafka lets even an old epoch abort the transaction, and fences it afterwards. But who has an old
    epoch is a fenced producer, or a delayed request of the one that the transaction belongs to.
    """
    if not _has_valid_timeout(transaction, event):
        transaction.refuse(event.token, ErrorCode.INVALID_TRANSACTION_TIMEOUT)
    elif event.producer_id >= 0 and _claim_error(transaction, event):
        transaction.refuse(event.token, ErrorCode.PRODUCER_FENCED)
    else:
        transaction.waiting = event
        transaction.fence(now)


def init_prepared(transaction: "Transaction", event: Init, now: Moment) -> None:
    if _has_valid_timeout(transaction, event):
        transaction.refuse(event.token, ErrorCode.CONCURRENT_TRANSACTIONS)
    else:
        transaction.refuse(event.token, ErrorCode.INVALID_TRANSACTION_TIMEOUT)


def _has_valid_timeout(transaction: "Transaction", event: Init) -> bool:
    return 0 < event.timeout_ms <= transaction.config.max_timeout_ms


def add(transaction: "Transaction", event: Add, now: Moment) -> None:
    """Begin a transaction, or take in more partitions."""
    error = _claim_error(transaction, event)
    if not error and _is_delayed(transaction, event):
        error = ErrorCode.INVALID_TXN_STATE
    if not error:
        transaction.connection = max(transaction.connection, event.connection)
        if not event.partitions <= transaction.stored_partitions:
            _take_in(transaction, event, now)
    transaction.emit(Reply(event.token, error))


def _take_in(transaction: "Transaction", event: Add, now: Moment) -> None:
    if transaction.state is not State.ONGOING:
        transaction.begin(now)
    transaction.partitions |= event.partitions
    transaction.updated_ms = now.wall_ms
    transaction.store(durable=False)


def add_prepared(transaction: "Transaction", event: Add, now: Moment) -> None:
    """Whoever it is: the producer itself may have its next epoch already."""
    transaction.refuse(event.token, ErrorCode.CONCURRENT_TRANSACTIONS)


def verify(transaction: "Transaction", event: Verify, now: Moment) -> None:
    error = _claim_error(transaction, event)
    if not error and not event.partitions <= transaction.partitions:
        error = ErrorCode.INVALID_TXN_STATE
    if not error and not event.partitions <= transaction.stored_partitions:
        transaction.store(durable=False)
    transaction.emit(Reply(event.token, error))


def verify_prepared(transaction: "Transaction", event: Verify, now: Moment) -> None:
    error = _claim_error(transaction, event) or ErrorCode.CONCURRENT_TRANSACTIONS
    transaction.refuse(event.token, error)


def _claim_error(transaction: "Transaction", event: Init | Add | Verify | End) -> ErrorCode:
    if transaction.is_vacant or event.producer_id != transaction.producer_id:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    if event.producer_epoch != transaction.producer_epoch:
        return ErrorCode.PRODUCER_FENCED
    return ErrorCode.NONE


def _is_delayed(transaction: "Transaction", event: Add | End) -> bool:
    return 0 < event.connection < transaction.connection


def _lacks_id_error(transaction: "Transaction", event: End) -> ErrorCode:
    lacks_id = event.bumps and transaction.is_exhausted and event.fresh_id < 0
    return ErrorCode.CONCURRENT_TRANSACTIONS if lacks_id else ErrorCode.NONE


def end_ongoing(transaction: "Transaction", event: End, now: Moment) -> None:
    """The decision; the answer waits for the markers."""
    error = _claim_error(transaction, event) or _lacks_id_error(transaction, event)
    if not error and not event.bumps and _is_delayed(transaction, event):
        error = ErrorCode.INVALID_TXN_STATE
    if error:
        transaction.refuse(event.token, error)
        return
    transaction.waiting = event
    transaction.connection = max(transaction.connection, event.connection)
    if event.bumps:
        transaction.bump(event.fresh_id)
    transaction.prepare(event.commit, now)


def end_empty(transaction: "Transaction", event: End, now: Moment) -> None:
    """There is nothing to end. A producer that bumps may abort all the same.

    It cannot know whether what it wrote has arrived; if it arrives later, its epoch is old.
    """
    error = _claim_error(transaction, event)
    if not error and (event.commit or not event.bumps):
        error = ErrorCode.INVALID_TXN_STATE
    error = error or _lacks_id_error(transaction, event)
    if error:
        transaction.refuse(event.token, error)
        return
    transaction.bump(event.fresh_id)
    transaction.abort_nothing(now)
    transaction.tell(event.token)


def end_complete(transaction: "Transaction", event: End, now: Moment) -> None:
    """Who asks for what has been done is told so, again; one that bumps has the epoch before."""
    is_done = event.commit == (transaction.state is State.COMPLETE_COMMIT)
    if not event.bumps:
        error = _claim_error(transaction, event)
        if not error and not is_done:
            error = ErrorCode.INVALID_TXN_STATE
        transaction.emit(Reply(event.token, error))
    elif not _repeats(transaction, event):
        end_empty(transaction, event, now)
    elif is_done:
        transaction.tell(event.token)
    else:
        transaction.refuse(event.token, ErrorCode.INVALID_TXN_STATE)


def _repeats(transaction: "Transaction", event: End) -> bool:
    claimed = event.producer_id, event.producer_epoch
    return claimed == transaction.last_identity and transaction.can_be_told


def end_prepared(transaction: "Transaction", event: End, now: Moment) -> None:
    """A producer that bumps may have its next epoch already: nobody is fenced for that."""
    error = ErrorCode.NONE if event.bumps else _claim_error(transaction, event)
    transaction.refuse(event.token, error or ErrorCode.CONCURRENT_TRANSACTIONS)


def tick_idle(transaction: "Transaction", event: Tick, now: Moment) -> None:
    if transaction.is_due(now):
        transaction.state = State.DEAD
        transaction.emit(Removed())


def tick_ongoing(transaction: "Transaction", event: Tick, now: Moment) -> None:
    if transaction.is_due(now):
        transaction.fence(now)


def written(transaction: "Transaction", event: Written, now: Moment) -> None:
    """The producer need not wait until this is stored; its next transaction does."""
    transaction.complete(now)
    waiting, transaction.waiting = transaction.waiting, None
    if isinstance(waiting, End):
        _answer_end(transaction, waiting)
    transaction.store(durable=not transaction.has_bumped)
    if isinstance(waiting, Init):
        claimed = waiting.producer_id, waiting.producer_epoch
        transaction.initialize(waiting, claimed if waiting.producer_id >= 0 else None, now)


def unwritten(transaction: "Transaction", event: Unwritten, now: Moment) -> None:
    """The decision is durable, so an End has succeeded; an Init has to come again."""
    waiting, transaction.waiting = transaction.waiting, None
    if isinstance(waiting, End):
        _answer_end(transaction, waiting)
    elif isinstance(waiting, Init):
        transaction.refuse(waiting.token, ErrorCode.CONCURRENT_TRANSACTIONS)


def _answer_end(transaction: "Transaction", event: End) -> None:
    if event.bumps:
        transaction.tell(event.token)
    else:
        transaction.emit(Reply(event.token))


def nothing(transaction: "Transaction", event: object, now: Moment) -> None:
    """This event means nothing in this state, and asks for no answer."""


def init_dead(transaction: "Transaction", event: Init, now: Moment) -> None:
    """It is being forgotten: by the time that the client asks again, it is."""
    transaction.refuse(event.token, ErrorCode.CONCURRENT_TRANSACTIONS)


def refuse_dead(transaction: "Transaction", event: Add | Verify | End, now: Moment) -> None:
    transaction.refuse(event.token, ErrorCode.INVALID_PRODUCER_ID_MAPPING)


EMPTY, ONGOING, DEAD = State.EMPTY, State.ONGOING, State.DEAD
PREPARE_COMMIT, PREPARE_ABORT = State.PREPARE_COMMIT, State.PREPARE_ABORT
COMPLETE_COMMIT, COMPLETE_ABORT = State.COMPLETE_COMMIT, State.COMPLETE_ABORT

TRANSITIONS: dict[tuple[State, type], Transition] = {
    (EMPTY, Init): init_idle,
    (EMPTY, Add): add,
    (EMPTY, Verify): verify,
    (EMPTY, End): end_empty,
    (EMPTY, Tick): tick_idle,
    (EMPTY, Written): nothing,
    (EMPTY, Unwritten): nothing,
    (ONGOING, Init): init_ongoing,
    (ONGOING, Add): add,
    (ONGOING, Verify): verify,
    (ONGOING, End): end_ongoing,
    (ONGOING, Tick): tick_ongoing,
    (ONGOING, Written): nothing,
    (ONGOING, Unwritten): nothing,
    (PREPARE_COMMIT, Init): init_prepared,
    (PREPARE_COMMIT, Add): add_prepared,
    (PREPARE_COMMIT, Verify): verify_prepared,
    (PREPARE_COMMIT, End): end_prepared,
    (PREPARE_COMMIT, Tick): nothing,
    (PREPARE_COMMIT, Written): written,
    (PREPARE_COMMIT, Unwritten): unwritten,
    (PREPARE_ABORT, Init): init_prepared,
    (PREPARE_ABORT, Add): add_prepared,
    (PREPARE_ABORT, Verify): verify_prepared,
    (PREPARE_ABORT, End): end_prepared,
    (PREPARE_ABORT, Tick): nothing,
    (PREPARE_ABORT, Written): written,
    (PREPARE_ABORT, Unwritten): unwritten,
    (COMPLETE_COMMIT, Init): init_idle,
    (COMPLETE_COMMIT, Add): add,
    (COMPLETE_COMMIT, Verify): verify,
    (COMPLETE_COMMIT, End): end_complete,
    (COMPLETE_COMMIT, Tick): tick_idle,
    (COMPLETE_COMMIT, Written): nothing,
    (COMPLETE_COMMIT, Unwritten): nothing,
    (COMPLETE_ABORT, Init): init_idle,
    (COMPLETE_ABORT, Add): add,
    (COMPLETE_ABORT, Verify): verify,
    (COMPLETE_ABORT, End): end_complete,
    (COMPLETE_ABORT, Tick): tick_idle,
    (COMPLETE_ABORT, Written): nothing,
    (COMPLETE_ABORT, Unwritten): nothing,
    (DEAD, Init): init_dead,
    (DEAD, Add): refuse_dead,
    (DEAD, Verify): refuse_dead,
    (DEAD, End): refuse_dead,
    (DEAD, Tick): nothing,
    (DEAD, Written): nothing,
    (DEAD, Unwritten): nothing,
}
