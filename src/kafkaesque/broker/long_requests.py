"""How many long requests are under way at a time: as many as half of the budget of bytes in flight
has room for.

A frame is let in by its size. Decoded, and with its answer, a long one is a hundred times as large:
50 KB with 49,000 empty names become 20 MB. So it waits here, as bytes, until there is room for what
it comes to. One may always be under way, and where those that are do not come to their end (a disk
hangs), one more each second, until they hold twice the budget. Whatever they hold, the other half
of it is for those who are not long.

Small ones come first: one that may have 50,000 elements is overtaken by all that are smaller and
come in the next five seconds, and by nobody after that.
Above: connection.py, and the APIs with a short question and a long answer. Below: budget.py.
"""

import asyncio
from heapq import heappop, heappush
from itertools import count

from kafkaesque.broker.budget import Budget

_ELEMENTS_PER_SECOND = 10_000
_MOST_SECONDS = 1.0
_LOOK_AGAIN_SECONDS = 0.01
"""Room may come from others, who tell nobody."""


class LongRequests:
    def __init__(self, budget: Budget, loop: asyncio.AbstractEventLoop) -> None:
        self._budget = budget
        self._loop = loop
        self._under_way = 0
        self._held = 0
        self._last_entered = 0.0
        self._numbers = count()
        self._waiting: list[tuple[float, int, Room]] = []
        self._timer: asyncio.TimerHandle | None = None

    async def enter(self, held_bytes: int, elements: int = 0) -> "Room":
        """Wait until so much may be held. `leave` gives it back."""
        room = Room(self, held_bytes)
        due = self._loop.time() + elements / _ELEMENTS_PER_SECOND
        heappush(self._waiting, (due, next(self._numbers), room))
        self._admit()
        if not room.is_held:
            room.admitted = self._loop.create_future()
            try:
                await room.admitted
            except asyncio.CancelledError:
                room.leave()
                raise
        return room

    def leave(self, room: "Room") -> None:
        self._under_way -= 1
        self.resize(room, 0)

    def resize(self, room: "Room", size: int) -> None:
        self._hold(size - room.size)
        room.size = size
        self._admit()

    def _hold(self, size: int) -> None:
        self._held += size
        budget = self._budget
        before, budget.used_by_long = budget.used_by_long, min(self._held, budget.limit // 2)
        budget.give_back(before - budget.used_by_long)

    def _admit(self) -> None:
        while self._waiting:
            room = self._waiting[0][2]
            if room.is_abandoned:
                heappop(self._waiting)
                continue
            if not self._has_room(room.size):
                break
            heappop(self._waiting)
            self._under_way += 1
            self._last_entered = self._loop.time()
            self._hold(room.size)
            room.is_held = True
            if room.admitted is not None:
                room.admitted.set_result(None)
        if self._waiting and self._timer is None:
            self._timer = self._loop.call_later(_LOOK_AGAIN_SECONDS, self._look_again)

    def _look_again(self) -> None:
        self._timer = None
        self._admit()

    def _has_room(self, size: int) -> bool:
        used, limit = self._budget.used, self._budget.limit
        if self._held + size <= limit // 2 and used + size <= limit:
            return True
        is_late = self._loop.time() - self._last_entered > _MOST_SECONDS
        return not self._under_way or (is_late and self._held + size <= 2 * limit)


class Room:
    """What one long request may hold, from before it is decoded until its answer is encoded."""

    __slots__ = ("_requests", "admitted", "is_held", "size")

    def __init__(self, requests: LongRequests, size: int) -> None:
        self._requests = requests
        self.size = size
        self.is_held = False
        self.admitted: asyncio.Future[None] | None = None

    @property
    def is_abandoned(self) -> bool:
        return self.admitted is not None and self.admitted.done()

    def resize(self, size: int) -> None:
        """It comes to more, or to less, than was thought."""
        self._requests.resize(self, size)

    def leave(self) -> None:
        if self.is_held:
            self.is_held = False
            self._requests.leave(self)
