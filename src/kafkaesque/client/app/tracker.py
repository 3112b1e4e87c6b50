"""Which events of one partition are done, and so which offset may be committed. Pure.

    offsets     4  5  6  7  8          finished out of order: 4, 5, 7
    done        ✓  ✓  ·  ✓  ·          position: 6, the first that is not done

Offsets grow but may have gaps (compaction, transactions). Nothing is said about offsets that were
not begun. Above: lane.py.
"""

from collections import deque


class Tracker:
    """`position` is the offset to commit: everything begun below it is done. None: nothing is."""

    def __init__(self) -> None:
        self.position: int | None = None
        self.finished = 0
        self._last = -1
        self._order: deque[int] = deque()
        self._open: set[int] = set()

    @property
    def unfinished(self) -> int:
        return len(self._open)

    def begin(self, offset: int) -> None:
        if offset <= self._last:
            raise ValueError(f"offset {offset} comes after {self._last}")
        self._last = offset
        if not self._order:
            self.position = offset
        self._order.append(offset)
        self._open.add(offset)

    def is_open(self, offset: int) -> bool:
        return offset in self._open

    def finish(self, offset: int) -> None:
        """Once or more often, in any order; of one that was not begun nothing is noted."""
        if offset not in self._open:
            return
        self._open.remove(offset)
        self.finished += 1
        while self._order and self._order[0] not in self._open:
            self._order.popleft()
        self.position = self._order[0] if self._order else self._last + 1
