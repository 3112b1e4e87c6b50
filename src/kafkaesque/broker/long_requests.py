"""How many long requests are under way at a time: as many as half of the budget of bytes in flight
has room for.

A frame is let in by its size. Decoded, and with its answer, a long one is a hundred times as large:
50 KB with 49,000 empty names become 20 MB. So it waits here, as bytes, until there is room for what
it comes to. One may always be under way, and where those that are do not come to their end (a disk
hangs), one more each second, until they hold twice the budget. Whatever they hold, the other half
of it is for those who are not long. What has been answered holds no room, whether or not it is
read: where clients leave a quarter of the budget unread of what long requests have answered, only
one more each second is let in, and none where they leave all of it.

Who only waits (a long poll, a rebalance, who wants more room) is not under way. A poll holds what
it holds: where polls come to half of the budget, the oldest are answered as they are. Who wants
more room holds some, so nobody overtakes them.

Small ones come first: one that may have 50,000 elements is overtaken by all that are smaller and
come in the next five seconds, and by nobody after that.
Above: connection.py, and the APIs with a short question and a long answer. Below: budget.py.
"""

import asyncio
from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from math import inf

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
        self._polls: dict[Room, Callable[[], None]] = {}
        """The oldest first, and how to end them."""
        self._held_by_polls = 0

    async def enter(self, held_bytes: int, elements: int = 0) -> "Room":
        """Wait until so much may be held. `leave` gives it back."""
        room = Room(self, held_bytes)
        return await self._enter(room, self._loop.time() + elements / _ELEMENTS_PER_SECOND)

    async def _enter(self, room: "Room", due: float) -> "Room":
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

    async def enlarge(self, room: "Room", size: int) -> None:
        """Wait until it may hold so much more. Until then it is not under way: else those who wait
        so might wait for each other.
        """
        self._rest(room)
        more = await self._enter(Room(self, size), -inf)
        more.is_held = False
        room.is_under_way = True
        room.size += size

    def rest(self, room: "Room", end: Callable[[], None] | None = None) -> None:
        """It is no longer under way. With `end` it may be for long, and can be ended."""
        self._rest(room)
        if end is not None:
            self._polls[room] = end
            self._held_by_polls += room.size
            while self._held_by_polls > self._budget.limit // 2 and len(self._polls) > 1:
                self._end_oldest_poll()
        self._admit()

    def _end_oldest_poll(self) -> None:
        room, end = next(iter(self._polls.items()))
        self._forget_poll(room)
        end()

    def _rest(self, room: "Room") -> None:
        if room.is_under_way:
            room.is_under_way = False
            self._under_way -= 1

    def go_on(self, room: "Room") -> None:
        """It is under way again, and waits for nobody."""
        self._forget_poll(room)
        if not room.is_under_way:
            room.is_under_way = True
            self._under_way += 1

    def _forget_poll(self, room: "Room") -> None:
        if self._polls.pop(room, None):
            self._held_by_polls -= room.size

    def leave(self, room: "Room") -> None:
        self._forget_poll(room)
        self._rest(room)
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
            due, _, room = self._waiting[0]
            if room.is_abandoned:
                heappop(self._waiting)
                continue
            has_begun = due == -inf
            if not (self._has_room(room.size) or (has_begun and self._is_next)):
                if not self._under_way and self._polls:
                    self._end_oldest_poll()
                break
            heappop(self._waiting)
            self._under_way += 1
            room.is_under_way = True
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
        # One that alone comes to more than all are to hold must not keep those behind it for ever.
        is_within = self._held + min(size, limit) <= 2 * limit and self._budget.unread <= limit
        return is_within and (is_late or self._is_next)

    @property
    def _is_next(self) -> bool:
        return not self._under_way and self._budget.unread <= self._budget.limit // 4


class Room:
    """What one long request may hold, from before it is decoded until its answer is encoded."""

    __slots__ = ("_requests", "admitted", "is_held", "is_under_way", "size")

    def __init__(self, requests: LongRequests, size: int) -> None:
        self._requests = requests
        self.size = size
        self.is_held = False
        self.is_under_way = False
        self.admitted: asyncio.Future[None] | None = None

    @property
    def is_abandoned(self) -> bool:
        return self.admitted is not None and self.admitted.done()

    def resize(self, size: int) -> None:
        """It comes to more, or to less, than was thought."""
        self._requests.resize(self, size)

    async def enlarge(self, size: int) -> None:
        """Wait until it may hold so much more."""
        await self._requests.enlarge(self, size)

    def rest(self, end: Callable[[], None] | None = None) -> None:
        """From here on it only waits for others; with `end`, until that is called at the latest."""
        if self.is_held:
            self._requests.rest(self, end)

    def go_on(self) -> None:
        """It no longer waits."""
        if self.is_held:
            self._requests.go_on(self)

    def leave(self) -> None:
        if self.is_held:
            self.is_held = False
            self._requests.leave(self)
