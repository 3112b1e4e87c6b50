"""How it went for a transactional id, in words: what an error of a cluster means, and its cure.

`why_not_abort` says why a transaction cannot be aborted. Above: transactions.py, cli/txn/abort.py.
Below: transaction.py, answers.py.
"""

from kafkaesque.client.answers import OK, Status
from kafkaesque.client.transaction import ONGOING, Transaction
from kafkaesque.errors import ErrorCode

_LOOK = "look at it with `kafkaesque txn describe {name}`"
_WORDS = {
    ErrorCode.TRANSACTIONAL_ID_NOT_FOUND: (
        "there is no such transactional id",
        "see which there are with `kafkaesque txn list`",
    ),
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: (
        "it may not be seen or changed",
        "connect as a --user who may",
    ),
    ErrorCode.CONCURRENT_TRANSACTIONS: ("its transaction is still being ended", _LOOK),
    ErrorCode.INVALID_TRANSACTION_TIMEOUT: (
        "its timeout is above what the cluster now allows",
        "raise transaction.max.timeout.ms",
    ),
}
_REFUSED = ("the cluster refuses it", "try again, or see what the broker's log says")
_NOT_ABORTED = {
    ONGOING: None,
    "PrepareCommit": ("its commit is decided and cannot be taken back", _LOOK),
    "PrepareAbort": ("it is being aborted already", _LOOK),
    "PrepareEpochFence": ("it is being aborted already", _LOOK),
}
_NONE_OPEN = (
    "it has no open transaction",
    "see which are open with `kafkaesque txn list --state Ongoing`",
)


def status(name: str, code: ErrorCode, message: str | None = None) -> Status:
    """How it went for a transactional id. `message` is what the cluster says itself, if it does."""
    if code is OK:
        return Status(name)
    words, cure = _WORDS.get(code, _REFUSED)
    return Status(name, code, message or words, cure.format(name=name))


def why_not_abort(transaction: Transaction) -> Status | None:
    """Only what is ongoing can be aborted: None."""
    reason = _NOT_ABORTED.get(transaction.state, _NONE_OPEN)
    if reason is None:
        return None
    name = transaction.transactional_id
    words, cure = reason
    return Status(name, ErrorCode.INVALID_TXN_STATE, words, cure.format(name=name))


def another_one(name: str) -> Status:
    """The transaction that was to be aborted has ended, and its producer has begun the next."""
    words = "it has begun another transaction"
    return Status(name, ErrorCode.INVALID_TXN_STATE, words, _LOOK.format(name=name))
