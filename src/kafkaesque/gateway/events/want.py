"""Which events a reader wants: of which topics and partitions, with which keys, matching what.

All conditions must hold. Several keys are alternatives. `decodes` says how they are shown: with
keys and values as their schemas explain them. Pure.
Above: read.py, reading.py. Below: client/filters/.
"""

from dataclasses import dataclass

from kafkaesque.client.filters import Documents, Predicate, Subject
from kafkaesque.records.record import Record
from kafkaesque.types import TopicPartition


@dataclass(frozen=True, slots=True)
class Want:
    topics: tuple[str, ...]
    partitions: frozenset[int] | None = None
    keys: frozenset[bytes] | None = None
    prefix: bytes | None = None
    where: Predicate | None = None
    decodes: bool = False

    @property
    def topic(self) -> str | None:
        """The only one; None if there are several."""
        return self.topics[0] if len(self.topics) == 1 else None

    @property
    def reads_value(self) -> bool:
        """Whether it has to be known what values say."""
        return self.decodes or (self.where is not None and self.where.reads_value)

    def includes(self, partition: int) -> bool:
        return self.partitions is None or partition in self.partitions

    def matches_key(self, key: bytes | None) -> bool:
        if self.keys is not None and key not in self.keys:
            return False
        return self.prefix is None or (key is not None and key.startswith(self.prefix))

    def matches(
        self, place: TopicPartition, record: Record, decoder: Documents | None = None
    ) -> bool:
        if not self.matches_key(record.key):
            return False
        return self.where is None or self.where.matches(Subject(*place, record, decoder))
