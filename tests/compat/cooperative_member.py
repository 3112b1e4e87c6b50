"""A member of a group that rebalances cooperatively (KIP-429): confluent-kafka, in a thread.

It notes what it is given and what is taken from it, and never has to give up what it keeps.
"""

import threading
from types import TracebackType

from confluent_kafka import Consumer, TopicPartition
from tests import foreign


class CooperativeMember:
    """Joins with `with` and leaves at its end."""

    def __init__(self, bootstrap: str, topic: str, group: str) -> None:
        self.history: list[tuple[str, set[int]]] = []
        self.owned: set[int] = set()
        self.read: dict[int, int] = {}
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._poll)
        settings = {
            "partition.assignment.strategy": "cooperative-sticky",
            "heartbeat.interval.ms": 100,
            "session.timeout.ms": 6000,
        }
        self._consumer = foreign.consumer(bootstrap, group, **settings)
        self._consumer.subscribe(
            [topic], on_assign=self._assigned, on_revoke=self._revoked, on_lost=self._lost
        )

    def _poll(self) -> None:
        while not self._closing.is_set():
            message = self._consumer.poll(0.05)
            if message is not None and message.error() is None:
                partition = message.partition() or 0
                self.read[partition] = self.read.get(partition, 0) + 1
        self._consumer.close()

    def _assigned(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        given = {each.partition for each in partitions}
        self.owned = self.owned | given
        if given:
            self.history.append(("assigned", given))

    def _revoked(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        taken = {each.partition for each in partitions}
        self.owned = self.owned - taken
        self.history.append(("revoked", taken))

    def _lost(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        self.history.append(("lost", {each.partition for each in partitions}))

    def __enter__(self) -> "CooperativeMember":
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._closing.set()
        self._thread.join()
