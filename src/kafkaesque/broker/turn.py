"""How much of one turn of the event loop reading from sockets may take.

libuv reads a socket up to 32 times before it looks at anything else. With large produces that was
60 ms in which nobody else was heard, no timer ran and no flush was answered. All connections share
one `Turn`: when reading has had its share, the next ones wait for the next turn.
Above: connection.py.
"""

from time import monotonic

_SHARE_SECONDS = 0.005


class Turn:
    """The turn that the loop is in, by the loop's own time, which stands still within one."""

    __slots__ = ("_began", "_time")

    def __init__(self) -> None:
        self._time = -1.0
        self._began = 0.0

    def is_spent(self, loop_time: float) -> bool:
        """Whether reading has had its share of this turn; the first to ask begins it."""
        if loop_time != self._time:
            self._time, self._began = loop_time, monotonic()
            return False
        return monotonic() - self._began > _SHARE_SECONDS
