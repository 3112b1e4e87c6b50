"""A shelf that keeps what it is given, but for what a test lets it refuse."""

from collections.abc import Collection, Sequence
from uuid import UUID

from kafkaesque.embedded.stale import StaleEvent
from kafkaesque.event import Event


class ShelfInMemory:
    def __init__(self, refused: Collection[int] = ()) -> None:
        """`refused`: partitions whose events it has no room for."""
        self.added: list[Sequence[Event]] = []
        self._refused = refused

    @property
    def events(self) -> list[Event]:
        return [event for events in self.added for event in events]

    def check_topic(self, topic: str) -> None:
        pass

    def add(self, topic_id: UUID, events: Sequence[Event]) -> None:
        if any(event.partition in self._refused for event in events):
            raise OSError("no room")
        self.added.append(events)

    def rows(self, topic: str) -> list[StaleEvent]:
        return []
