"""Ranges with one end, of numbers or of texts: sorted bounds, found by bisection.

Of `x > 5` and `x > 7` a record with x = 6 passes those whose bound is below it: the beginning of
the sorted list; of `x < 5` and `x < 7` the end of it. A bound is held once, with the entries that
share it. A range of texts with two ends is held by its lower one; the rest of it is tested.
Above: tables.py. Below: conditions.py.
"""

from bisect import bisect_left, bisect_right
from typing import Any, Generic, TypeVar

from kafkaesque.client.filters.conditions import Range

E = TypeVar("E")


class SortedBounds(Generic[E]):
    """Bounds of one sort (>, >=, < or <=), and the entries of each."""

    __slots__ = ("_bounds", "_entries")

    def __init__(self) -> None:
        self._bounds: list[Any] = []
        self._entries: list[dict[E, None]] = []

    def __bool__(self) -> bool:
        return bool(self._bounds)

    def add(self, bound: Any, entry: E) -> None:
        at = bisect_left(self._bounds, bound)
        if at == len(self._bounds) or self._bounds[at] != bound:
            self._bounds.insert(at, bound)
            self._entries.insert(at, {})
        self._entries[at][entry] = None

    def remove(self, bound: Any, entry: E) -> None:
        at = bisect_left(self._bounds, bound)
        del self._entries[at][entry]
        if not self._entries[at]:
            del self._bounds[at], self._entries[at]

    def below(self, value: Any, *, inclusive: bool) -> list[dict[E, None]]:
        find = bisect_right if inclusive else bisect_left
        return self._entries[: find(self._bounds, value)]

    def above(self, value: Any, *, inclusive: bool) -> list[dict[E, None]]:
        find = bisect_left if inclusive else bisect_right
        return self._entries[find(self._bounds, value) :]


class Bounds(Generic[E]):
    __slots__ = ("_above", "_at_least", "_at_most", "_below")

    def __init__(self) -> None:
        self._above: SortedBounds[E] = SortedBounds()
        self._at_least: SortedBounds[E] = SortedBounds()
        self._below: SortedBounds[E] = SortedBounds()
        self._at_most: SortedBounds[E] = SortedBounds()

    def __bool__(self) -> bool:
        return bool(self._above or self._at_least or self._below or self._at_most)

    def add(self, span: Range, entry: E) -> None:
        bounds, bound = self._place(span)
        bounds.add(bound, entry)

    def remove(self, span: Range, entry: E) -> None:
        bounds, bound = self._place(span)
        bounds.remove(bound, entry)

    def _place(self, span: Range) -> tuple[SortedBounds[E], Any]:
        if span.low is not None:
            return (self._above if span.low_open else self._at_least), span.low
        return (self._below if span.high_open else self._at_most), span.high

    def find(self, value: Any, found: list[E]) -> None:
        """Add the entries whose range holds the value."""
        if self._above:
            for entries in self._above.below(value, inclusive=False):
                found.extend(entries)
        if self._at_least:
            for entries in self._at_least.below(value, inclusive=True):
                found.extend(entries)
        if self._below:
            for entries in self._below.above(value, inclusive=False):
                found.extend(entries)
        if self._at_most:
            for entries in self._at_most.above(value, inclusive=True):
                found.extend(entries)
