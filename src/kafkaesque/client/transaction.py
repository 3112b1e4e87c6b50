"""What can be said of transactions: the nouns of transactions.py and producers.py.

Everything here is plain data and loads no client library. Above: transactions.py, producers.py,
cli/txn/, console/.
"""

from dataclasses import dataclass
from typing import Final

from kafkaesque.types import TopicPartition

ONGOING: Final = "Ongoing"
OPEN: Final = (ONGOING, "PrepareCommit", "PrepareAbort", "PrepareEpochFence")
STATES: Final = (*OPEN, "CompleteCommit", "CompleteAbort", "Empty", "Dead")
"""Kafka's own spelling, which rpk prints too."""


@dataclass(frozen=True, slots=True)
class TransactionSummary:
    """`started_ms` is when the open transaction began; None if none is open."""

    transactional_id: str
    coordinator: int
    producer_id: int
    state: str
    started_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Transaction:
    """A transactional id and its transaction. If none is open it has no start and no partitions.

    Of one that is being ended, `partitions` are those that still lack its marker.
    """

    transactional_id: str
    coordinator: int
    producer_id: int
    producer_epoch: int
    state: str
    timeout_ms: int
    started_ms: int | None
    partitions: tuple[TopicPartition, ...]

    @property
    def is_open(self) -> bool:
        return self.state in OPEN

    def is_same_as(self, other: "Transaction") -> bool:
        """Not only of the same id, and whatever may have been added to it."""
        return (self.producer_id, self.producer_epoch, self.started_ms) == (
            other.producer_id,
            other.producer_epoch,
            other.started_ms,
        )


@dataclass(frozen=True, slots=True)
class PartitionProducer:
    """Who writes to a partition, with a transaction open there if it has a `start_offset`.

    `transactional_id` is that of the producer; None if it has none, or none is known of it.
    """

    place: TopicPartition
    producer_id: int
    producer_epoch: int
    last_sequence: int | None
    last_timestamp_ms: int | None
    start_offset: int | None
    transactional_id: str | None = None


def age_ms(started_ms: int | None, now_ms: int) -> int | None:
    """It began by the coordinator's clock, and now is by ours: never less than nothing."""
    return None if started_ms is None else max(0, now_ms - started_ms)
