"""What a fan-out says of itself, and what two of its answers tell: rates, and how late it is now.

Pure. `figures_of` reads the JSON of /stats (docs/reference/metrics.md); what it has not got is not
shown. Counters only grow, so a smaller one means that the fan-out was started again, and that all
of it is new. Latency is estimated from the buckets of a histogram: within one, evenly spread.
Above: fanout_poller.py, pages/fanout.py.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

RATE_WINDOW_S = 5.0
LATENCY_WINDOW_S = 30.0
_COUNTED = ("delivered", "dropped", "conflated")


@dataclass(frozen=True, slots=True)
class Figures:
    """One answer. `at_s` is of a clock that only runs forward, `at_ms` the time of day."""

    at_s: float
    at_ms: int
    stats: Mapping[str, Any]

    def number(self, name: str) -> int | None:
        value = self.stats.get(name)
        return value if isinstance(value, int) else None

    @property
    def topics(self) -> Mapping[str, Mapping[str, int]]:
        return self.stats.get("topics") or {}

    @property
    def workers(self) -> Sequence[Mapping[str, Any]]:
        return self.stats.get("workers") or ()

    @property
    def slow(self) -> Sequence[Mapping[str, Any]]:
        return self.stats.get("slow") or ()

    @property
    def troubles(self) -> list[str]:
        """What keeps it from doing its work; nothing if it does."""
        away = [f"worker {number} does not answer" for number in self.stats.get("missing") or ()]
        reasons = {row["unreachable"] for row in self.workers if row.get("unreachable")}
        return [*away, *(f"the cluster is not read: {reason}" for reason in sorted(reasons))]

    @property
    def latency_counts(self) -> tuple[int, ...]:
        return tuple((self.stats.get("latency") or {}).get("counts") or ())

    @property
    def latency_bounds(self) -> tuple[float, ...]:
        return tuple((self.stats.get("latency") or {}).get("bounds") or ())


@dataclass(slots=True)
class FanoutHistory:
    """The last answers, for as long as the longest window."""

    looks: deque[Figures] = field(default_factory=deque)

    def add(self, figures: Figures) -> None:
        if self.looks and _is_another(self.looks[-1], figures):
            self.looks.clear()
        self.looks.append(figures)
        while figures.at_s - self.looks[0].at_s > LATENCY_WINDOW_S:
            self.looks.popleft()

    def clear(self) -> None:
        self.looks.clear()

    def rate(self, name: str) -> float | None:
        """How much a counter grows in a second; None if nobody can tell yet."""
        before = self._before(RATE_WINDOW_S)
        if before is None:
            return None
        now = self.looks[-1]
        then, value = before.number(name), now.number(name)
        if then is None or value is None:
            return None
        return max(0, value - then) / (now.at_s - before.at_s)

    def latency_ms(self, share: float) -> float | None:
        """What this share of the last deliveries was not above; None if there were none."""
        if not self.looks:
            return None
        now, before = self.looks[-1], self._before(LATENCY_WINDOW_S)
        counts = now.latency_counts
        if before is not None:
            counts = tuple(map(int.__sub__, counts, before.latency_counts))
        found = quantile(now.latency_bounds, counts, share)
        return None if found is None else found * 1000

    def _before(self, window_s: float) -> Figures | None:
        """The oldest answer of the window, if it is not the newest one."""
        since_s = self.looks[-1].at_s - window_s if self.looks else 0.0
        found = next((look for look in self.looks if look.at_s >= since_s), None)
        return None if found is None or found is self.looks[-1] else found


def quantile(bounds: Sequence[float], counts: Sequence[int], share: float) -> float | None:
    """An estimate from the counts of each bucket; what is above all bounds is at the last one."""
    wanted = sum(counts) * share
    if not wanted:
        return None
    below = 0.0
    for (low, high), count in zip(pairwise((0.0, *bounds)), counts, strict=False):
        if count and below + count >= wanted:
            return low + (high - low) * (wanted - below) / count
        below += count
    return bounds[-1]


def _is_another(before: Figures, after: Figures) -> bool:
    """Whether it was started again in between."""
    return any((after.number(name) or 0) < (before.number(name) or 0) for name in _COUNTED) or len(
        before.latency_counts
    ) != len(after.latency_counts)
