"""The partitions of a transaction: an immutable set that is kept by topic.

A transaction can have tens of thousands, and is stored whole whenever it gets more. As a record has
them by topic, too, one more costs little beside those that there are.

Above: events.py, records.py, the broker's transaction coordinator.
"""

from collections.abc import Iterable, Iterator, Mapping, Set
from typing import Any

from kafkaesque.types import TopicPartition

_NONE: Set[int] = frozenset()


class Partitions(Set[TopicPartition]):
    """`topics` has the numbers of a topic's partitions: nobody may change them."""

    __slots__ = ("topics",)

    def __init__(self, names: Iterable[TopicPartition] = ()) -> None:
        topics: dict[str, set[int]] = {}
        for topic, number in names:
            if topic in topics:
                topics[topic].add(number)
            else:
                topics[topic] = {number}
        self.topics: Mapping[str, Set[int]] = topics

    @classmethod
    def by_topic(cls, topics: Mapping[str, Set[int]]) -> "Partitions":
        """Where no topic has none."""
        partitions = cls()
        partitions.topics = topics
        return partitions

    def __contains__(self, name: object) -> bool:
        return isinstance(name, TopicPartition) and name[1] in self.topics.get(name[0], _NONE)

    def __iter__(self) -> Iterator[TopicPartition]:
        for topic, numbers in self.topics.items():
            for number in numbers:
                yield TopicPartition(topic, number)

    def __len__(self) -> int:
        return sum(map(len, self.topics.values()))

    def __repr__(self) -> str:
        return f"Partitions({', '.join(map(str, self))})"

    def __hash__(self) -> int:
        return self._hash()

    def __eq__(self, other: object) -> bool:
        return (
            self.topics == other.topics if isinstance(other, Partitions) else super().__eq__(other)
        )

    def __le__(self, other: Set[Any]) -> bool:
        topics = _partitions(other).topics
        return all(numbers <= topics.get(topic, _NONE) for topic, numbers in self.topics.items())

    def __or__(self, other: Iterable[Any]) -> "Partitions":
        topics = dict(self.topics)
        for topic, numbers in _partitions(other).topics.items():
            topics[topic] = topics[topic] | numbers if topic in topics else numbers
        return self.by_topic(topics)

    def __sub__(self, other: Set[Any]) -> "Partitions":
        topics = _partitions(other).topics
        left = ((topic, more - topics.get(topic, _NONE)) for topic, more in self.topics.items())
        return self.by_topic({topic: numbers for topic, numbers in left if numbers})


NO_PARTITIONS = Partitions()


def _partitions(names: Iterable[TopicPartition]) -> Partitions:
    return names if isinstance(names, Partitions) else Partitions(names)
