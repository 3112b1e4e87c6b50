"""The committed offsets of all groups, and the writes of offsets that are not decided yet.

    write ──► staged ──► committed, or abandoned
              a plain one waits for the disk; one in a transaction for the transaction's end

A deletion is a write like any other, of tombstones: what it deletes is there until they are
durable, and stays if they cannot be written. Nobody is told an offset that a power cut or an abort
could take back, nor that one is gone. Where a plain write and a transaction are about the same
partition, or two transactions are, the later *record* wins, whenever it is decided (Kafka's rule):
so a compaction of the log, which keeps the last record of a key, changes nothing. Therefore a write
that counts takes its partitions out of older undecided ones. A staged partition does not expire.

Offsets are kept as their records have them, and decoded when somebody asks: at its start a broker
may have to read a million of them.

Above: table.py, the broker's OffsetFetch. Below: records.py. Beside: expiry.py.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import takewhile

from kafkaesque.groups.offsets import CommittedOffset
from kafkaesque.groups.records import decode_offset
from kafkaesque.types import TopicPartition

MAX_PENDING_BYTES = 16 << 20
"""Of offsets whose transactions are going on, of all groups: a producer may write more and more."""
_ENTRY_BYTES = 200
_WRITE_BYTES = 1_000


@dataclass(slots=True, eq=False)
class Staged:
    """One write of a group's offsets: what is left of it, if a later one counts already."""

    group_id: str
    offsets: dict[TopicPartition, bytes | None]
    """None deletes."""
    at: int
    """Where in the log it stands: the base offset of its batch."""
    producer_id: int | None = None
    """Whose transaction decides about it; None: the disk alone."""
    pending_bytes: int = 0


class Offsets:
    """Group id -> topic -> partition -> committed offset, encoded."""

    def __init__(self) -> None:
        self._committed: dict[str, dict[str, dict[int, bytes]]] = {}
        self._groups: dict[str, dict[str, None]] = {}
        """Topic -> the groups that have committed an offset of it."""
        self._staged: dict[str, dict[TopicPartition, dict[Staged, None]]] = {}
        """Group id -> partition -> the writes that are about it, in the log's order."""
        self._pending: dict[int, dict[Staged, None]] = {}
        """Producer id -> what its transaction has written."""
        self._undecided = 0
        self.pending_bytes = 0
        """What is kept for transactions that are going on, about."""

    def fetch(self, group_id: str, partition: TopicPartition) -> CommittedOffset | None:
        topics = self._committed.get(group_id, {})
        value = topics.get(partition.topic, {}).get(partition.partition)
        return None if value is None else decode_offset(value)

    def of_group(
        self, group_id: str, topic: str | None = None
    ) -> Mapping[TopicPartition, CommittedOffset]:
        """All of them (or those of a topic), decoded for the occasion."""
        topics = self._committed.get(group_id, {})
        return {
            TopicPartition(name, index): decode_offset(value)
            for name in (topics if topic is None else [topic])
            for index, value in topics.get(name, {}).items()
        }

    def partitions(self, group_id: str) -> list[TopicPartition]:
        """Those that the group has committed an offset for."""
        topics = self._committed.get(group_id, {})
        return [TopicPartition(topic, index) for topic in topics for index in topics[topic]]

    def indexes(self, group_id: str, topic: str) -> list[int]:
        """The partitions of a topic that the group has committed an offset for."""
        return list(self._committed.get(group_id, {}).get(topic, ()))

    def topics(self, group_id: str) -> list[str]:
        """Those that the group has committed an offset for."""
        return list(self._committed.get(group_id, ()))

    def kept_bytes(self, group_id: str, topic: str, indexes: Iterable[int]) -> int:
        """What is kept of the group's offsets of these partitions, about."""
        of_topic = self._committed.get(group_id, {}).get(topic, {})
        return sum(_kept_bytes(of_topic[index]) for index in indexes if index in of_topic)

    def all_topics(self) -> set[str]:
        """Topics that some group has an offset of, or one on its way."""
        staged = {name.topic for group_id in self._staged for name in self._on_their_way(group_id)}
        return staged.union(self._groups)

    def may_have(self, topic: str) -> list[str]:
        """Groups with an offset of a topic, and those with any on its way."""
        return [*{**self._groups.get(topic, {}), **dict.fromkeys(self._staged)}]

    def group_ids(self) -> list[str]:
        """Groups with an offset, or one on its way."""
        return sorted({*self._committed, *filter(self.has, self._staged)})

    def has(self, group_id: str) -> bool:
        """Has this group an offset, or one on its way?"""
        return group_id in self._committed or any(self._on_their_way(group_id))

    @property
    def are_decided(self) -> bool:
        """Is nothing on its way?"""
        return self._undecided == 0

    def is_staged(self, group_id: str, partition: TopicPartition) -> bool:
        return partition in self._staged.get(group_id, ())

    def is_pending(self, group_id: str, partition: TopicPartition) -> bool:
        """Can a transaction that is going on still change this offset?"""
        writes = self._staged.get(group_id, {}).get(partition, ())
        return any(write.producer_id is not None for write in writes)

    def stage(
        self,
        group_id: str,
        offsets: Mapping[TopicPartition, bytes | None],
        at: int,
        producer_id: int | None = None,
    ) -> Staged:
        """These are appended to the log at offset `at`, and not decided."""
        staged = Staged(group_id, dict(offsets), at, producer_id)
        self._undecided += 1
        of_group = self._staged.setdefault(group_id, {}) if offsets else {}
        for partition in offsets:
            of_group.setdefault(partition, {})[staged] = None
        if producer_id is not None:
            self._pending.setdefault(producer_id, {})[staged] = None
            staged.pending_bytes = _WRITE_BYTES + sum(map(_kept_bytes, offsets.values()))
            self.pending_bytes += staged.pending_bytes
        return staged

    def commit(self, staged: Staged) -> None:
        """It counts now. What a later record is about has been taken out of it."""
        self.abandon(staged)
        for partition, value in staged.offsets.items():
            if value is None:
                self._forget(staged.group_id, partition)
            else:
                self.load(staged.group_id, partition, value)
            self._overtake(staged, partition)

    def _overtake(self, staged: Staged, partition: TopicPartition) -> None:
        """Take the partition out of older writes."""
        writes = self._staged.get(staged.group_id, {}).get(partition, ())
        for older in list(takewhile(lambda write: write.at < staged.at, writes)):
            del older.offsets[partition]
            self._unstage(older, partition)

    def abandon(self, staged: Staged) -> None:
        """It could not be written, or its transaction was aborted."""
        self._undecided -= 1
        for partition in staged.offsets:
            self._unstage(staged, partition)
        if staged.producer_id is not None:
            self.pending_bytes -= staged.pending_bytes
            pending = self._pending[staged.producer_id]
            del pending[staged]
            if not pending:
                del self._pending[staged.producer_id]

    def _unstage(self, staged: Staged, partition: TopicPartition) -> None:
        of_group = self._staged[staged.group_id]
        del of_group[partition][staged]
        if not of_group[partition]:
            del of_group[partition]
            if not of_group:
                del self._staged[staged.group_id]

    def pending_writes(self, producer_id: int) -> int:
        """How many the end of its transaction will decide about."""
        return len(self._pending.get(producer_id, ()))

    def end_transaction(self, producer_id: int, before: int, *, commit: bool) -> set[str]:
        """Decide about what the producer has written below an offset; the groups concerned."""
        return {*self.ending(producer_id, before, commit=commit)}

    def ending(self, producer_id: int, before: int, *, commit: bool) -> Iterator[str]:
        """The same, a write at a time; whose it was. Others may be decided in between."""
        for write in [each for each in self._pending.get(producer_id, ()) if each.at < before]:
            if commit:
                self.commit(write)
            else:
                self.abandon(write)
            yield write.group_id

    def load(self, group_id: str, partition: TopicPartition, value: bytes) -> None:
        """Set an offset."""
        self.partitions_of(group_id, partition.topic)[partition.partition] = value

    def partitions_of(self, group_id: str, topic: str) -> dict[int, bytes]:
        """Where to put the offsets of a topic. Whoever leaves it empty calls `prune`."""
        topics = self._committed.setdefault(group_id, {})
        if topic not in topics:
            topics[topic] = {}
            self._groups.setdefault(topic, {})[group_id] = None
        return topics[topic]

    def prune(self) -> None:
        """Forget topics and groups that nothing is left of."""
        for group_id, topics in list(self._committed.items()):
            for topic in [topic for topic, partitions in topics.items() if not partitions]:
                self._forget_topic(group_id, topic)

    def _forget(self, group_id: str, partition: TopicPartition) -> None:
        indexes = self._committed.get(group_id, {}).get(partition.topic, {})
        if indexes.pop(partition.partition, None) is not None and not indexes:
            self._forget_topic(group_id, partition.topic)

    def _forget_topic(self, group_id: str, topic: str) -> None:
        topics, groups = self._committed[group_id], self._groups[topic]
        del topics[topic], groups[group_id]
        if not topics:
            del self._committed[group_id]
        if not groups:
            del self._groups[topic]

    def is_known(self, group_id: str, partition: TopicPartition) -> bool:
        """Committed or on its way: may the log have an offset that a deletion has to undo?"""
        indexes = self._committed.get(group_id, {}).get(partition.topic, ())
        return partition.partition in indexes or self._is_on_its_way(group_id, partition)

    def known(self, group_id: str, topic: str | None = None) -> set[TopicPartition]:
        """Committed or on their way: all that the log may have of this group (and topic)."""
        topics = self._committed.get(group_id, {})
        names = topics if topic is None else topics.keys() & {topic}
        return {TopicPartition(name, index) for name in names for index in topics[name]} | {
            partition
            for partition in self._on_their_way(group_id)
            if topic in (None, partition.topic)
        }

    def _on_their_way(self, group_id: str) -> Iterator[TopicPartition]:
        """What a group is about to have, if nothing comes in between."""
        for partition in self._staged.get(group_id, ()):
            if self._is_on_its_way(group_id, partition):
                yield partition

    def _is_on_its_way(self, group_id: str, partition: TopicPartition) -> bool:
        writes = self._staged.get(group_id, {}).get(partition, ())
        return any(write.offsets[partition] is not None for write in writes)


def _kept_bytes(value: bytes | None) -> int:
    return _ENTRY_BYTES + len(value or b"")
