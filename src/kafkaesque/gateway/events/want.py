"""Which events a reader wants: of which topics and partitions, with which keys, matching what.

All conditions must hold. Several keys are alternatives. Pure.
Above: read.py, reading.py. Below: client/filters/.
"""

from dataclasses import dataclass

from kafkaesque.client.filters import Predicate, Subject
from kafkaesque.records.record import Record
from kafkaesque.types import TopicPartition


@dataclass(frozen=True, slots=True)
class Want:
    topics: tuple[str, ...]
    partitions: frozenset[int] | None = None
    keys: frozenset[bytes] | None = None
    prefix: bytes | None = None
    where: Predicate | None = None

    @property
    def topic(self) -> str | None:
        """The only one; None if there are several."""
        return self.topics[0] if len(self.topics) == 1 else None

    def includes(self, partition: int) -> bool:
        return self.partitions is None or partition in self.partitions

    def matches(self, place: TopicPartition, record: Record) -> bool:
        key = record.key
        if self.keys is not None and key not in self.keys:
            return False
        if self.prefix is not None and (key is None or not key.startswith(self.prefix)):
            return False
        return self.where is None or self.where.matches(Subject(*place, record))
