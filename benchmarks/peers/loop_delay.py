"""How late a broker's event loop was between two readings of the histogram that it keeps of that.

The broker winds a timer every 10 ms and counts, by how late they ran, the ticks since its start:
docs/reference/metrics.md. Above: kafkaesque.py reads it, runner.py asks before and after a turn.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

LIMIT_MS = 20.0

_BUCKET = re.compile(r'^kafkaesque_loop_delay_seconds_bucket\{le="([^"]+)"\} (\d+)$', re.MULTILINE)
_LATEST = re.compile(r"^kafkaesque_loop_delay_max_seconds (\S+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class LoopDelay:
    """`ticks`: how many were not later than a bound in ms; the bounds rise, to infinity.
    `latest_ms`: the latest tick since the broker's start."""

    ticks: Mapping[float, int]
    latest_ms: float

    @classmethod
    def parse(cls, page: str) -> "LoopDelay":
        """Of the page of metrics."""
        latest = _LATEST.search(page)
        if latest is None:
            raise ValueError("the page of metrics says nothing of the loop's delay")
        ticks = {_milliseconds(bound): int(count) for bound, count in _BUCKET.findall(page)}
        return cls(ticks, _milliseconds(latest[1]))

    def since(self, before: "LoopDelay") -> "LoopDelay":
        """What came after an earlier reading of the same broker."""
        ticks = {bound: count - before.ticks[bound] for bound, count in self.ticks.items()}
        return LoopDelay(ticks, self.latest_ms)

    @property
    def late(self) -> int:
        """Ticks later than the limit."""
        return self.ticks[float("inf")] - self.ticks[LIMIT_MS]

    @property
    def at_most_ms(self) -> float:
        """No tick was later: the bound of the highest bucket that got one, or the latest of all."""
        total = self.ticks[float("inf")]
        bound = next(bound for bound, count in self.ticks.items() if count == total)
        return min(bound, self.latest_ms)


def _milliseconds(seconds: str) -> float:
    return round(float(seconds) * 1000, 3)
