"""How late the event loop is: a timer every 10 ms, and a histogram of how long after its time it
ran.

What delays it delays every client: a callback that takes long, a disk that is waited for, a CPU
that others have. A loop that was blocked shows at least its last stretch: 25 ms of blocking are
between 15 and 25 ms here, depending on where in the interval they began. uvloop's timers have whole
milliseconds, and may be one early. Above: server.py starts and stops it. Below: metrics.py.
"""

import asyncio
from collections.abc import Iterator
from time import perf_counter

from kafkaesque.metrics import Histogram, Metric, gauge

TICK_SECONDS = 0.01
BOUNDS_SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5)


class LoopDelay:
    """Ticks from `start` to `stop` on the loop that started it."""

    def __init__(self) -> None:
        self.histogram = Histogram(BOUNDS_SECONDS)
        self._due = 0.0
        self._loop: asyncio.AbstractEventLoop
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._wind()

    def stop(self) -> None:
        if self._timer:
            self._timer.cancel()

    def metrics(self) -> Iterator[Metric]:
        yield self.histogram.metric(
            "kafkaesque_loop_delay_seconds", "How late a timer of the event loop ran."
        )
        yield gauge(
            "kafkaesque_loop_delay_max_seconds",
            "The latest that it ran since the start.",
            self.histogram.max,
        )

    def _wind(self) -> None:
        # Not loop.time(): uvloop's has whole milliseconds.
        self._due = perf_counter() + TICK_SECONDS
        self._timer = self._loop.call_later(TICK_SECONDS, self._tick)

    def _tick(self) -> None:
        self.histogram.observe(max(0.0, perf_counter() - self._due))
        self._wind()
