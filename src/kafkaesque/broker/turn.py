"""How much of one turn of the event loop reading from sockets may take.

libuv reads a socket up to 32 times before it looks at anything else. With large produces that was
60 ms in which nobody else was heard, no timer ran and no flush was answered. All connections share
one `Turn`: when reading has had its share, the next ones wait for the next turn.

No loop tells when a turn begins. So reads that follow each other closely count as one turn's, until
somebody who had to wait is called in the next. A large read may itself take longer than any pause,
before anybody here hears of it: after one, a callback says when the turn is over. A request of 1 KB
waits for six turns until it is answered, so large reads have less of each.
Above: connection.py.
"""

import asyncio
from math import inf

_SHARE_SECONDS = 0.005
_LARGE_READ_BYTES = 64 * 1024
_SHARE_OF_LARGE_SECONDS = 0.001
_PAUSE_SECONDS = 0.0025
"""Between two reads: something else has had its turn, or there was nothing to do."""


class Turn:
    """All times are of a clock that goes on within a turn."""

    __slots__ = ("_began", "_goes_on", "_large_seconds", "_last")

    def __init__(self) -> None:
        self._began = self._last = 0.0
        self._large_seconds = 0.0
        self._goes_on = False

    def is_spent(self, began: float, now: float, nbytes: int = 0, *, is_whole: bool = True) -> bool:
        """Whether reading has had its share of this turn. `began`: this read, of so many bytes.
        Nobody is stopped amid a frame for what large reads take: ten halves of frames would be cold
        when they are whole.
        """
        if began - self._last > _PAUSE_SECONDS and not self._goes_on:
            self._began = max(began, self._began)
        self._last = now
        is_spent = now - self._began > _SHARE_SECONDS
        if nbytes < _LARGE_READ_BYTES:
            return is_spent
        if not self._goes_on:
            self._goes_on = True
            self._large_seconds = 0.0
            asyncio.get_running_loop().call_soon(self._is_over)
        self._large_seconds += now - began
        return is_spent or (is_whole and self._large_seconds > _SHARE_OF_LARGE_SECONDS)

    def _is_over(self) -> None:
        self._goes_on = False
        self._last = -inf

    def next(self, now: float) -> None:
        """The next turn has come."""
        self._began = now
