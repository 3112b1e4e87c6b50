"""A figure: a function that measures a subject once, and what to know about it to run it.

It yields `Measured` values; what is yielded under one name and unit in several rounds becomes one
row. Above: catalogue.py, the list of figures.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from benchmarks.peers.peer import Kind
from benchmarks.subject import Subject

DEFAULT_AND_CACHED = (Kind.DEFAULT, Kind.CACHED)


class Start(Enum):
    """What a figure is measured on. `OWN`: the figure starts it itself, in each turn. The others
    are started together, once for all figures of a kind."""

    OWN = "a broker of its own in each turn"
    STARTED = "brokers just started: the first round counts as the others do"
    WARM = "brokers that have been warmed up"


class Measured(NamedTuple):
    """`peak`: the largest of the rounds counts, instead of their median."""

    name: str
    unit: str
    value: float
    peak: bool = False


@dataclass(frozen=True, slots=True)
class Figure:
    """`half_load`: the subject has to know half of the reference's rate.
    `rounds`: how many, unless the command line says so."""

    name: str
    meaning: str
    measure: Callable[[Subject], Iterator[Measured]]
    kinds: tuple[Kind, ...] = DEFAULT_AND_CACHED
    start: Start = Start.WARM
    half_load: bool = False
    rounds: int = 3


def percentile(values: Sequence[float], percent: float) -> float:
    """The value that so many percent of the values are not above."""
    ordered = sorted(values)
    rank = -(-len(ordered) * percent // 100)
    return ordered[max(0, int(rank) - 1)]


def percentiles(name: str, times_ms: Sequence[float], *percents: float) -> Iterator[Measured]:
    for percent in percents:
        yield Measured(f"{name}, p{percent:g}", "ms", percentile(times_ms, percent))
