"""Figures and how they are written down: a histogram, and Prometheus' text format 0.0.4.

    # HELP name what it is
    # TYPE name gauge
    name{label="value"} 3

Pure: no clock, no event loop. Whoever has something to tell makes a `Metric` of it when asked; one
name belongs to one metric. Above: broker/loop_delay.py and gateway/ observe, their pages show.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Sample:
    """One line. `suffix` is what follows the metric's name, labels included."""

    suffix: str
    value: float


@dataclass(frozen=True, slots=True)
class Metric:
    name: str
    kind: str
    about: str
    samples: Sequence[Sample]


class Histogram:
    """Counts of what was observed, by size. A value that equals a bound is below it."""

    __slots__ = ("_bounds", "_counts", "max", "sum")

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = tuple(bounds)
        self._counts = [0] * (len(bounds) + 1)
        self.sum = 0.0
        self.max = 0.0

    @property
    def count(self) -> int:
        return sum(self._counts)

    @property
    def bounds(self) -> tuple[float, ...]:
        return self._bounds

    @property
    def counts(self) -> tuple[int, ...]:
        """Of each bucket alone; the last is above all bounds."""
        return tuple(self._counts)

    def observe(self, value: float, times: int = 1) -> None:
        self._counts[bisect_left(self._bounds, value)] += times
        self.sum += value * times
        if value > self.max:
            self.max = value

    def add(self, counts: Sequence[int], total: float, largest: float) -> None:
        """What another histogram with the same bounds has counted."""
        self._counts = [ours + theirs for ours, theirs in zip(self._counts, counts, strict=True)]
        self.sum += total
        self.max = max(self.max, largest)

    def metric(self, name: str, about: str) -> Metric:
        """Cumulative, as Prometheus has it: each bucket holds all that is not above its bound."""
        bounds = (*map(str, self._bounds), "+Inf")
        buckets = [
            Sample(f'_bucket{{le="{bound}"}}', count)
            for bound, count in zip(bounds, accumulate(self._counts), strict=True)
        ]
        totals = [Sample("_sum", self.sum), Sample("_count", self.count)]
        return Metric(name, "histogram", about, [*buckets, *totals])


def gauge(name: str, about: str, value: float) -> Metric:
    return Metric(name, "gauge", about, [Sample("", value)])


def exposition(metrics: Iterable[Metric]) -> str:
    """The page that Prometheus reads."""
    return "".join(f"{line}\n" for metric in metrics for line in _lines(metric))


def _lines(metric: Metric) -> Iterator[str]:
    yield f"# HELP {metric.name} {metric.about}"
    yield f"# TYPE {metric.name} {metric.kind}"
    for sample in metric.samples:
        yield f"{metric.name}{sample.suffix} {sample.value}"
