"""Ranges of numbers with two ends: which of thousands hold a given number, without a tree.

The line of numbers is cut into cells, once for each power of four that is about the width of some
range. A range lies in the cells of that width that it touches, one to three of them; a number lies
in one cell of each width in use. Adding, removing and finding are look-ups in dicts; what is found
is compared, since a cell is wider than the ranges in it.

    width 64   |          a           |         b            |
    width 4    |  |  |c |c |  |  |  |  |  |  |  |  |  |  |  |

Cells are counted in floats: a range is kept so wide that the count stays exact, and conversion to
float keeps the order, so that a number inside a range is in one of its cells.
Above: tables.py. Below: conditions.py.
"""

from math import frexp
from typing import Generic, TypeAlias, TypeVar

from kafkaesque.client.filters.conditions import Range

E = TypeVar("E")
Number: TypeAlias = int | float

# Cells beyond 2**50 of their width from zero could not be counted exactly.
_COUNT_BITS = 50
# A number is looked up once for each width in use: a stranger could use a thousand, hence the ends.
# Narrower ranges share the narrowest cells, wider ones the widest, which hold any number.
_MIN_WIDTH = -40
_WIDE = 70
_WIDEST = 1026


class Spans(Generic[E]):
    __slots__ = ("_widths",)

    def __init__(self) -> None:
        # width exponent -> (1 / width, cell -> entry -> low, high, what of the two is outside)
        self._widths: dict[
            int, tuple[float, dict[float, dict[E, tuple[Number, Number, tuple[Number, ...]]]]]
        ] = {}

    def __bool__(self) -> bool:
        return bool(self._widths)

    def add(self, span: Range, entry: E) -> None:
        low, high = _ends(span)
        exponent = _width(low, high)
        if exponent not in self._widths:
            self._widths[exponent] = (2.0**-exponent, {})
        scale, cells = self._widths[exponent]
        outside = (low,) * span.low_open + (high,) * span.high_open
        for cell in _cells(low, high, scale):
            cells.setdefault(cell, {})[entry] = (low, high, outside)

    def remove(self, span: Range, entry: E) -> None:
        low, high = _ends(span)
        exponent = _width(low, high)
        scale, cells = self._widths[exponent]
        for cell in _cells(low, high, scale):
            del cells[cell][entry]
            if not cells[cell]:
                del cells[cell]
        if not cells:
            del self._widths[exponent]

    def find(self, number: Number, found: list[E]) -> None:
        for scale, cells in self._widths.values():
            held = cells.get(number * scale // 1.0)
            if held is not None:
                for entry, (low, high, outside) in held.items():
                    if low <= number <= high and number not in outside:
                        found.append(entry)


def _ends(span: Range) -> tuple[Number, Number]:
    assert isinstance(span.low, int | float)
    assert isinstance(span.high, int | float)
    return span.low, span.high


def _width(low: Number, high: Number) -> int:
    # In halves: the length of the widest range is no float.
    length = frexp(high / 2 - low / 2)[1] + 1
    size = frexp(max(abs(low), abs(high)))[1]
    exponent = max(length, size - _COUNT_BITS, _MIN_WIDTH)
    return exponent + exponent % 2 if exponent <= _WIDE else _WIDEST


def _cells(low: Number, high: Number, scale: float) -> list[float]:
    first, last = low * scale // 1.0, high * scale // 1.0
    return [first + i for i in range(int(last - first) + 1)]
