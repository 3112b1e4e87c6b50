"""All transactional ids: what a replay of `__transaction_state` builds.

Above: the broker's transaction coordinator, which owns the log, the clock and the waiting. Below:
transaction.py, records.py.
"""

from kafkaesque.transactions.records import TransactionRecord, decode
from kafkaesque.transactions.transaction import Transaction, TransactionConfig
from kafkaesque.types import Buffer, Moment, TopicPartition

TRANSACTION_BYTES = 1_000
"""Of memory for each, beside its name."""


class TransactionTable:
    """Transactional id -> transaction."""

    def __init__(self, config: TransactionConfig) -> None:
        self.config = config
        self.transactions: dict[str, Transaction] = {}
        self._kept_bytes = 0
        self._owners: dict[int, Transaction] = {}
        """Producer id -> transaction, as it once was: ids change hands in `Transaction.handle`."""

    def replay(self, key: Buffer, value: Buffer | None) -> None:
        """Take in one record of the log; in the log's order, the last word on each key counts."""
        if record := decode(key, value):
            self.take(record)

    def take(self, record: TransactionRecord) -> None:
        """The transactional id is as the record says."""
        transactional_id, stored = record.transactional_id, record.stored
        if stored is None:
            self.remove(transactional_id)
        else:
            self._put(Transaction.restore(transactional_id, self.config, stored))

    def get(self, transactional_id: str) -> Transaction | None:
        return self.transactions.get(transactional_id)

    def get_or_create(self, transactional_id: str) -> Transaction:
        """For an Init: it alone may come with an id that is not known."""
        transaction = self.transactions.get(transactional_id)
        if transaction is None:
            transaction = Transaction(transactional_id, self.config)
            self._put(transaction)
        return transaction

    def discard_vacant(self, transactional_id: str) -> None:
        """Nothing came of the Init that the transaction was created for."""
        transaction = self.transactions.get(transactional_id)
        if transaction is not None and transaction.is_vacant:
            self.remove(transactional_id)

    def remove(self, transactional_id: str) -> None:
        """Forget a transaction that is dead."""
        if self.transactions.pop(transactional_id, None) is not None:
            self._kept_bytes -= TRANSACTION_BYTES + len(transactional_id)

    def _put(self, transaction: Transaction) -> None:
        self.remove(transaction.transactional_id)
        self.transactions[transaction.transactional_id] = transaction
        self._kept_bytes += TRANSACTION_BYTES + len(transaction.transactional_id)

    def has_room_for(self, transactional_id: str) -> bool:
        """May it be one of the ids that are remembered? Anyone may come with any."""
        is_known = transactional_id in self.transactions
        return is_known or self._kept_bytes < self.config.max_kept_bytes

    def by_producer(self, producer_id: int) -> Transaction | None:
        """Whose producer id this is, now or when what is prepared is complete."""
        owner = self._owners.get(producer_id)
        if owner is None or not self._owns(owner, producer_id):
            self._owners = {
                known: transaction
                for transaction in self.transactions.values()
                for known in (transaction.producer_id, transaction.next_producer_id)
                if known >= 0
            }
            owner = self._owners.get(producer_id)
        return owner

    def reinstate(
        self, producer_id: int, producer_epoch: int, partition: TopicPartition, now: Moment
    ) -> bool:
        """After a replay: the partition has an open transaction. Will somebody here end it?

        If not, its transactional id has expired or has a new epoch, and nobody but the caller will.
        """
        owner = self.by_producer(producer_id)
        if owner is None:
            return False
        identity = producer_id, producer_epoch
        if identity == owner.identity:
            owner.reinstate([partition], now)
            return partition in owner.partitions
        return owner.is_ending(identity, partition)

    def _owns(self, transaction: Transaction, producer_id: int) -> bool:
        if self.transactions.get(transaction.transactional_id) is not transaction:
            return False
        return producer_id in (transaction.producer_id, transaction.next_producer_id)
