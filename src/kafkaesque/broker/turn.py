"""How much of one turn of the event loop reading from sockets may take.

libuv reads a socket up to 32 times before it looks at anything else. With large produces that was
60 ms in which nobody else was heard, no timer ran and no flush was answered. All connections share
one `Turn`: when reading has had its share, the next ones wait for the next turn.

No loop tells when a turn begins. So reads that follow each other closely count as one turn's, until
somebody who had to wait is called in the next. (uvloop's own time goes on within a turn, a
millisecond at a time.)
Above: connection.py.
"""

from time import monotonic

_SHARE_SECONDS = 0.005
_PAUSE_SECONDS = 0.0005
"""Between two reads: something else has had its turn, or there was nothing to do."""


class Turn:
    __slots__ = ("_began", "_last")

    def __init__(self) -> None:
        self._began = self._last = 0.0

    def read(self) -> None:
        """A read begins."""
        now = monotonic()
        if now - self._last > _PAUSE_SECONDS:
            self._began = now

    def is_spent(self) -> bool:
        """Whether reading has had its share of this turn."""
        self._last = monotonic()
        return self._last - self._began > _SHARE_SECONDS

    def next(self) -> None:
        """The next turn has come."""
        self._began = monotonic()
