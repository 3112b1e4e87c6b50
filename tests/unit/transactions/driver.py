"""One transaction with a clock and fresh producer ids; effects as short texts."""

from collections.abc import Sequence
from itertools import count

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
    Tick,
    Verify,
    WriteMarkers,
    Written,
)
from kafkaesque.transactions.partitions import Partitions
from kafkaesque.transactions.transaction import Transaction, TransactionConfig
from kafkaesque.types import Moment, TopicPartition

NOW = 1_000_000
MOMENT = Moment(NOW, NOW)
TIMEOUT_MS = 60_000
FIRST_ID = 1000
CONFIG = TransactionConfig()
P0 = TopicPartition("orders", 0)
P1 = TopicPartition("orders", 1)
REFUNDS = TopicPartition("refunds", 0)

SHORT = {
    ErrorCode.NONE: "ok",
    ErrorCode.PRODUCER_FENCED: "fenced",
    ErrorCode.INVALID_PRODUCER_ID_MAPPING: "mapping",
    ErrorCode.INVALID_TXN_STATE: "state",
    ErrorCode.CONCURRENT_TRANSACTIONS: "concurrent",
    ErrorCode.INVALID_TRANSACTION_TIMEOUT: "timeout",
}


def short(effects: Sequence[Effect]) -> str:
    """`PrepareCommit!+markers`: stored durably, then markers are written. `-`: nothing."""
    return "+".join(map(_short, effects)) or "-"


def _short(effect: Effect) -> str:
    match effect:
        case Store(stored, durable):
            return stored.state.value + ("!" if durable else "")
        case WriteMarkers():
            return "markers"
        case Reply(error=error):
            return SHORT[error]
        case Removed():
            return "removed"


class Driver:
    """Speaks for the producer that the transaction belongs to; `effects` are the last event's."""

    def __init__(self, transaction: Transaction | None = None) -> None:
        self.transaction = transaction or Transaction("t", CONFIG)
        self.now = NOW
        self.wall_ms = NOW
        self.effects: list[Effect] = []
        self._tokens = count(1)

    def handle(self, event: Event) -> str:
        self.effects = self.transaction.handle(event, self.moment())
        return short(self.effects)

    def moment(self) -> Moment:
        return Moment(self.now, self.wall_ms)

    def token(self) -> int:
        return next(self._tokens)

    def identity(self) -> tuple[int, int]:
        return self.transaction.producer_id, self.transaction.producer_epoch

    def fresh_id(self) -> int:
        """Only if there may be a need, as the coordinator does it; FIRST_ID and then upwards."""
        highest = max(self.transaction.producer_id, FIRST_ID - 1)
        return highest + 1 if self.transaction.needs_fresh_id else -1

    def init(self, claimed: tuple[int, int] = (-1, -1), *, timeout_ms: int = TIMEOUT_MS) -> str:
        return self.handle(Init(self.token(), timeout_ms, *claimed, self.fresh_id()))

    def add(
        self,
        *partitions: TopicPartition,
        claimed: tuple[int, int] | None = None,
        connection: int = 0,
    ) -> str:
        wanted = Partitions(partitions or {P0})
        return self.handle(Add(self.token(), *(claimed or self.identity()), wanted, connection))

    def verify(self, *partitions: TopicPartition, claimed: tuple[int, int] | None = None) -> str:
        wanted = Partitions(partitions)
        return self.handle(Verify(self.token(), *(claimed or self.identity()), wanted))

    def end(
        self,
        commit: bool,
        *,
        bumps: bool = False,
        claimed: tuple[int, int] | None = None,
        connection: int = 0,
    ) -> str:
        identity = claimed or self.identity()
        return self.handle(End(self.token(), *identity, commit, bumps, connection, self.fresh_id()))

    def written(self) -> str:
        return self.handle(Written())

    def tick(self, after_ms: int = 0) -> str:
        self.now += after_ms
        self.wall_ms += after_ms
        return self.handle(Tick())

    def reply(self) -> Reply:
        """The answer among the last event's effects."""
        [reply] = [effect for effect in self.effects if isinstance(effect, Reply)]
        return reply

    def told(self) -> tuple[int, int]:
        """Producer id and epoch in the answer."""
        reply = self.reply()
        return reply.producer_id, reply.producer_epoch

    def markers(self) -> WriteMarkers:
        [markers] = [effect for effect in self.effects if isinstance(effect, WriteMarkers)]
        return markers

    def stored(self) -> StoredTransaction:
        """What was stored last, of the last event's effects."""
        return [effect.stored for effect in self.effects if isinstance(effect, Store)][-1]

    def restart(self) -> None:
        """The broker crashes and replays what was stored."""
        stored = self.transaction.stored
        self.transaction = Transaction.restore("t", CONFIG, stored)
        self.effects = self.transaction.resume(self.moment())


def at_epoch(epoch: int) -> Driver:
    """A producer that has just been given this epoch."""
    stored = StoredTransaction(State.EMPTY, FIRST_ID, epoch, TIMEOUT_MS, NOW)
    return Driver(Transaction.restore("t", CONFIG, stored))
