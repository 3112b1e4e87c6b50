"""How many flushes are under way, and a wait for their ends.

Somebody's acknowledgement hangs on each. A thread that has flushed needs the interpreter's lock to
say so, and its answer takes some turns of the loop: long work that goes on meanwhile is in the way
of both. So a slice waits until all have ended, but for two milliseconds at most; when somebody has
waited in vain, nobody waits again before there is none under way: a disk may hang, and of many
producers one always flushes.
Above: slices.py, which waits. partition.py says when a flush begins and ends.
"""

import asyncio
from collections.abc import Callable

_PATIENCE_SECONDS = 0.002


class Flushes:
    def __init__(self) -> None:
        self.under_way = 0
        self._were_late = False
        """Somebody has waited in vain, and there has been no moment without a flush since."""
        self._then: Callable[[bool], None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def begun(self) -> None:
        self.under_way += 1

    def ended(self) -> None:
        self.under_way -= 1
        if not self.under_way:
            self._were_late = False
            if self._then is not None:
                self._call(have_ended=True)

    def call_when_ended(self, then: Callable[[bool], None]) -> bool:
        """Whether there is something to wait for; `then` is told whether they have ended. One waits
        at a time.
        """
        if not self.under_way or self._were_late:
            return False
        assert self._then is None
        self._then = then
        self._timer = asyncio.get_running_loop().call_later(_PATIENCE_SECONDS, self._give_up)
        return True

    def _give_up(self) -> None:
        self._were_late = True
        self._call(have_ended=False)

    def _call(self, *, have_ended: bool) -> None:
        assert self._then is not None
        assert self._timer is not None
        then, self._then = self._then, None
        self._timer.cancel()
        then(have_ended)
