"""A consumer group: consumers that share the partitions of topics, each event going to one of them.

Above: the program. Below: members.py, which does it, on the broker's loop.
"""

from collections.abc import Hashable
from typing import TYPE_CHECKING

from kafkaesque.event import Event
from kafkaesque.types import TopicPartition

if TYPE_CHECKING:
    from kafkaesque.embedded.kafkaesque import Kafkaesque
    from kafkaesque.embedded.members import Members


class ConsumerGroup:
    """A group by its name: `k.group("billing")`. A consumer is anything hashable."""

    def __init__(self, kafkaesque: "Kafkaesque", name: str, members: "Members") -> None:
        self._kafkaesque = kafkaesque
        self._members = members
        self.name = name

    def join(self, consumer: Hashable) -> list[TopicPartition]:
        """Let a consumer in, and share the partitions out again: its own."""
        return self._kafkaesque._call(self._members.join, consumer)

    def leave(self, consumer: Hashable) -> None:
        """Let a consumer go, and share its partitions out among the others."""
        self._kafkaesque._call(self._members.leave, consumer)

    def next(self, consumer: Hashable, timeout: float = 0) -> Event | None:
        """The consumer's next event; None if none comes within `timeout` seconds.

        Asking for the next one commits the one before it.
        """
        return self._kafkaesque._call(self._members.next, consumer, timeout)

    @property
    def assignment(self) -> dict[Hashable, list[TopicPartition]]:
        """Consumer → its partitions. Kafka clients in the same group go by their member ids."""
        return self._kafkaesque._call(self._members.assignment)

    def __repr__(self) -> str:
        shares = [
            f"{consumer}: {', '.join(map(str, partitions)) or 'nothing'}"
            for consumer, partitions in self.assignment.items()
        ]
        return f"<ConsumerGroup {self.name}: {'; '.join(shares) or 'nobody'}>"
