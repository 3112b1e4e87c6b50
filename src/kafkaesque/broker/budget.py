"""Bytes in flight: frames that are being received, requests that are not answered, responses that
are not sent. All connections of a broker share one budget; beyond it they are read from one after
the other, as bytes are given back, in the order in which they came to wait.

A request that alone exceeds the budget goes through when next to nothing else is in flight: what
the waiting connections have sent so far does not count, or they would wait for each other; nor what
long requests hold (long_requests.py), who may do so for long. One that has gone so far comes before
those that have not begun, until it is whole: else all of them would grow, a little in each round,
and their sum has no bound.
"""

import asyncio
from collections import OrderedDict
from typing import Protocol

_SLACK = 8
"""One part in so many of the budget counts as nothing: there are always some long polls."""


class Holder(Protocol):
    """A connection that waits for room."""

    @property
    def parked_bytes(self) -> int:
        """What it holds of the request that it waits with."""

    def go_on(self) -> None: ...


class Budget:
    """`used` is added to by those who hold bytes; giving some back wakes who waits."""

    __slots__ = (
        "_favoured",
        "_is_woken",
        "_loop",
        "limit",
        "unread",
        "used",
        "used_by_long",
        "waiting",
    )

    def __init__(self, limit: int, loop: asyncio.AbstractEventLoop) -> None:
        self.limit = limit
        self.used = 0
        self.used_by_long = 0
        """What of it long requests hold."""
        self.unread = 0
        """What of it are answers of long requests that wait to be read by their clients."""
        self.waiting: OrderedDict[Holder, int] = OrderedDict()
        self._favoured: Holder | None = None
        self._is_woken = False
        self._loop = loop

    @property
    def room(self) -> int:
        return max(self.limit - self.used, 0)

    @property
    def is_scarce(self) -> bool:
        """Whether there is reason to look for bytes that could be given back."""
        return bool(self.waiting) or self.used > self.limit // 2

    @property
    def is_idle(self) -> bool:
        """Whether next to nothing is in flight, and will be so with one request more."""
        return self.used <= self.limit // (2 * _SLACK)

    def has_quarter_for(self, size: int) -> bool:
        """Whether with so much more all who are not long hold a quarter of it at most."""
        return self.used - self.used_by_long + size <= self.limit // 4

    def admits(self, holder: Holder, size: int) -> bool:
        """Whether so many bytes more may be held, now and by this one. Nobody overtakes."""
        if holder is self._favoured:
            self._favoured = None
            return True
        return not self.waiting and self._fits(size)

    def wait(self, holder: Holder, size: int, *, has_begun: bool = False) -> None:
        """Have it go on when there is room for so many bytes."""
        self.waiting.setdefault(holder, size)
        if has_begun:
            self.waiting.move_to_end(holder, last=False)
        self.wake_soon()

    def forget(self, holder: Holder) -> None:
        self.waiting.pop(holder, None)

    def give_back(self, size: int) -> None:
        self.used -= size
        if self.waiting:
            self.wake_soon()

    def wake_soon(self) -> None:
        if not self._is_woken:
            self._is_woken = True
            self._loop.call_soon(self._wake)

    def _wake(self) -> None:
        self._is_woken = False
        while self.waiting:
            holder, size = next(iter(self.waiting.items()))
            if not self._fits(size):
                return
            del self.waiting[holder]
            self._favoured = holder
            try:
                holder.go_on()
            finally:
                self._favoured = None

    def _fits(self, size: int) -> bool:
        if self.used + size <= self.limit:
            return True
        parked = sum(holder.parked_bytes for holder in self.waiting)
        return self.used - self.used_by_long - parked <= self.limit // _SLACK
