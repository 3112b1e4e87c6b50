"""When events are due at a given rate: in slices of time, never by a sleep per event.

Pure: the caller says what time it is. What could not be sent in time is caught up with, but no
more than one second's worth: a broker that comes back is not met with a flood.
"""

import math

SLICE_S = 0.005
"""The shortest wait: at 50,000 a second this is 250 events at a time."""

_LONGEST_DEBT_S = 1.0


class Pace:
    def __init__(self, rate: float, now_s: float) -> None:
        self._rate = rate
        self._start_s = now_s
        self._taken = 0

    def due(self, now_s: float) -> int:
        """How many are due and have not been taken. The first is due at once."""
        due = math.floor((now_s - self._start_s) * self._rate) + 1 - self._taken
        most = max(1, math.ceil(self._rate * _LONGEST_DEBT_S))
        if due > most:
            self._start_s += (due - most) / self._rate
        return max(0, min(due, most))

    def take(self, count: int) -> None:
        self._taken += count

    def wait_s(self, now_s: float) -> float:
        """How long to wait for the next slice."""
        next_s = self._start_s + self._taken / self._rate
        return max(SLICE_S, next_s - now_s)
