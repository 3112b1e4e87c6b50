"""How far a program has come in each partition: what it holds, has finished with, has committed.

An event is in the program's hands until the program asks for the next one: then it is finished
with. Only what is finished with is committed, so that a program that dies reads again the event
it was working on. Offsets here are the next to read. Pure.
Above: intake.py.
"""

from collections.abc import Iterable

from kafkaesque.event import Event
from kafkaesque.types import TopicPartition


class Progress:
    def __init__(self) -> None:
        self.held: Event | None = None
        self._finished: dict[TopicPartition, int] = {}
        self._committed: dict[TopicPartition, int] = {}
        self._ends: dict[TopicPartition, int] | None = None
        self.reached: dict[TopicPartition, int] = {}

    def hand_out(self, event: Event) -> None:
        """The program gets it: so it has finished with the one before."""
        held = self.held
        # Offsets rise in a partition: only the last of each need be noted.
        if held is not None and (held.partition != event.partition or held.topic != event.topic):
            self._finish(held)
        self.held = event

    def settle(self) -> None:
        """The program asks for more: it has finished with what it holds."""
        if self.held is not None:
            self._finish(self.held)
            self.held = None

    def let_go(self) -> None:
        """The program stops: what it holds is not finished with, all before it is."""
        if self.held is not None:
            self._finished[_place(self.held)] = self.held.offset
            self.held = None

    def move(self, place: TopicPartition, offset: int) -> None:
        """The program goes on elsewhere."""
        if self.held is not None and _place(self.held) == place:
            self.held = None
        self._finished[place] = offset
        self._committed.pop(place, None)

    def begin(self, place: TopicPartition, offset: int | None) -> None:
        """A partition that is now ours, and where it goes on, if that is known."""
        if offset is not None:
            self._finished[place] = self._committed[place] = offset

    def drop(self, places: Iterable[TopicPartition]) -> None:
        """Partitions that are not ours any more."""
        for place in places:
            for known in (self._finished, self._committed, self.reached, self._ends or {}):
                known.pop(place, None)
            if self.held is not None and _place(self.held) == place:
                self.held = None

    def positions(self) -> dict[TopicPartition, int]:
        """The next offset of each partition, what is held being behind us."""
        positions = dict(self._finished)
        if self.held is not None:
            positions[_place(self.held)] = self.held.offset + 1
        return positions

    def uncommitted(self, *, with_held: bool = False) -> dict[TopicPartition, int]:
        offsets = self.positions() if with_held else self._finished
        return {
            place: offset
            for place, offset in offsets.items()
            if self._committed.get(place) != offset
        }

    def note_commit(self, offsets: dict[TopicPartition, int]) -> None:
        for place, offset in offsets.items():
            if place in self._finished:
                self._committed[place] = offset

    def expect(self, ends: dict[TopicPartition, int]) -> None:
        """Ends to read to."""
        self._ends = (self._ends or {}) | ends

    def reach(self, place: TopicPartition, offset: int) -> None:
        """There is nothing below that offset that we have not read."""
        self.reached[place] = offset
        if self._ends is not None and offset >= self._ends.get(place, offset + 1):
            del self._ends[place]

    @property
    def is_at_end(self) -> bool:
        """Every end that was expected has been reached, and finished with."""
        return self._ends is not None and not self._ends

    def _finish(self, event: Event) -> None:
        place = _place(event)
        self._finished[place] = event.offset + 1
        if self._ends is not None:
            self.reach(place, event.offset + 1)


def _place(event: Event) -> TopicPartition:
    return TopicPartition(event.topic, event.partition)
