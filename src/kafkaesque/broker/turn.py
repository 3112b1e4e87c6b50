"""How much of one turn of the event loop reading from sockets may take.

libuv reads a socket up to 32 times before it looks at anything else. With large produces that was
60 ms in which nobody else was heard, no timer ran and no flush was answered. All connections share
one `Turn`: when reading has had its share, the next ones wait for the next turn.

No loop tells when a turn begins. So reads that follow each other closely count as one turn's, until
somebody who had to wait is called in the next. All times are the loop's: uvloop's go on within a
turn, in whole milliseconds.
Above: connection.py.
"""

_SHARE_SECONDS = 0.005
_PAUSE_SECONDS = 0.0025
"""Between two reads: something else has had its turn, or there was nothing to do."""


class Turn:
    __slots__ = ("_began", "_last")

    def __init__(self) -> None:
        self._began = self._last = 0.0

    def is_spent(self, began: float, now: float) -> bool:
        """Whether reading has had its share of this turn. `began`: this read."""
        if began - self._last > _PAUSE_SECONDS:
            self._began = began
        self._last = now
        return now - self._began > _SHARE_SECONDS

    def next(self, now: float) -> None:
        """The next turn has come."""
        self._began = now
