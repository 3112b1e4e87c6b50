"""A figure: a function that measures a subject once, and what to know about it to run it.

It yields `Measured` values; what is yielded under one name and unit in several rounds becomes the
median of one row. Above: catalogue.py, the list of figures.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from benchmarks.peers.peer import Kind
from benchmarks.subject import Subject

DEFAULT_AND_CACHED = (Kind.DEFAULT, Kind.CACHED)


class Measured(NamedTuple):
    name: str
    unit: str
    value: float


@dataclass(frozen=True, slots=True)
class Figure:
    """`fresh`: gets a broker of its own, not started, instead of the one that has been warmed up.
    `rounds`: its own number in a full run, instead of the one that was asked for."""

    name: str
    meaning: str
    measure: Callable[[Subject], Iterator[Measured]]
    kinds: tuple[Kind, ...] = DEFAULT_AND_CACHED
    fresh: bool = False
    rounds: int | None = None


def percentile(values: Sequence[float], percent: float) -> float:
    """The value that so many percent of the values are not above."""
    ordered = sorted(values)
    rank = -(-len(ordered) * percent // 100)
    return ordered[max(0, int(rank) - 1)]


def percentiles(name: str, times_ms: Sequence[float], *percents: float) -> Iterator[Measured]:
    for percent in percents:
        yield Measured(f"{name}, p{percent:g}", "ms", percentile(times_ms, percent))
