"""What the predicates of an index ask about one term: its value in, the entries that may match out.

Texts are held apart from numbers and booleans, as filters hold them apart: 1, "1" and true are
three things. What holds nothing is None: most tables hold values only.
Above: index.py. Below: bounds.py, spans.py, guards.py.
"""

from typing import Any, Generic, TypeAlias, TypeVar

from kafkaesque.client.filters.bounds import Bounds
from kafkaesque.client.filters.conditions import Choice, Range
from kafkaesque.client.filters.guards import Guard, Prefix
from kafkaesque.client.filters.spans import Spans
from kafkaesque.client.filters.syntax import Scalar

E = TypeVar("E")
Held: TypeAlias = dict[E, None]


class TextTable(Generic[E]):
    """Texts to equal, prefixes by their length, and bounds."""

    __slots__ = ("_bounds", "_exact", "_prefixes")

    def __init__(self) -> None:
        self._exact: dict[Scalar, Held[E]] = {}
        self._prefixes: dict[int, dict[Scalar, Held[E]]] | None = None
        self._bounds: Bounds[E] | None = None

    def __bool__(self) -> bool:
        return bool(self._exact) or self._prefixes is not None or self._bounds is not None

    def find(self, value: Any, found: list[E]) -> None:
        """Add the entries that have a guard here which lets the value pass."""
        if type(value) is not str:
            return
        held = self._exact.get(value)
        if held is not None:
            found.extend(held)
        if self._prefixes is not None:
            for length, prefixes in self._prefixes.items():
                held = prefixes.get(value[:length])
                if held is not None:
                    found.extend(held)
        if self._bounds is not None:
            self._bounds.find(value, found)

    def crowd(self, guard: Guard) -> float:
        """How little a guard here tells records apart: a full place does so less than an empty
        one, and a place among few (value.side) less than one among many (value.ticker)."""
        match guard:
            case Choice(_, values):
                return _crowd(self._exact, values)
            case Prefix(_, text) if self._prefixes is not None:
                return _crowd(self._prefixes.get(len(text), {}), (text,))
        return 1.0

    def add(self, guard: Guard, entry: E) -> None:
        match guard:
            case Choice(_, values):
                _hold(self._exact, values, entry)
            case Prefix(_, text):
                if self._prefixes is None:
                    self._prefixes = {}
                _hold(self._prefixes.setdefault(len(text), {}), (text,), entry)
            case Range():
                if self._bounds is None:
                    self._bounds = Bounds()
                self._bounds.add(guard, entry)

    def remove(self, guard: Guard, entry: E) -> None:
        match guard:
            case Choice(_, values):
                _drop(self._exact, values, entry)
            case Prefix(_, text):
                assert self._prefixes is not None
                _drop(self._prefixes[len(text)], (text,), entry)
                if not self._prefixes[len(text)]:
                    del self._prefixes[len(text)]
                self._prefixes = self._prefixes or None
            case Range():
                assert self._bounds is not None
                self._bounds.remove(guard, entry)
                self._bounds = self._bounds or None


class ScalarTable(Generic[E]):
    """Numbers and booleans to equal, ranges of numbers with two ends and with one."""

    __slots__ = ("_booleans", "_bounds", "_numbers", "_spans")

    def __init__(self) -> None:
        self._numbers: dict[Scalar, Held[E]] = {}
        self._booleans: dict[Scalar, Held[E]] = {}
        self._spans: Spans[E] | None = None
        self._bounds: Bounds[E] | None = None

    def __bool__(self) -> bool:
        held = bool(self._numbers or self._booleans)
        return held or self._spans is not None or self._bounds is not None

    def find(self, value: Any, found: list[E]) -> None:
        if type(value) is int or type(value) is float:
            held = self._numbers.get(value)
            if held is not None:
                found.extend(held)
            if self._spans is not None:
                self._spans.find(value, found)
            if self._bounds is not None:
                self._bounds.find(value, found)
        elif type(value) is bool and value in self._booleans:
            found.extend(self._booleans[value])

    def crowd(self, guard: Guard) -> float:
        if isinstance(guard, Choice):
            return _crowd(self._exact(guard), guard.values)
        return 1.0

    def add(self, guard: Guard, entry: E) -> None:
        if isinstance(guard, Choice):
            _hold(self._exact(guard), guard.values, entry)
        elif isinstance(guard, Range):
            if guard.low is None or guard.high is None:
                if self._bounds is None:
                    self._bounds = Bounds()
                self._bounds.add(guard, entry)
            else:
                if self._spans is None:
                    self._spans = Spans()
                self._spans.add(guard, entry)

    def remove(self, guard: Guard, entry: E) -> None:
        if isinstance(guard, Choice):
            _drop(self._exact(guard), guard.values, entry)
        elif isinstance(guard, Range):
            if guard.low is None or guard.high is None:
                assert self._bounds is not None
                self._bounds.remove(guard, entry)
                self._bounds = self._bounds or None
            else:
                assert self._spans is not None
                self._spans.remove(guard, entry)
                self._spans = self._spans or None

    def _exact(self, choice: Choice) -> dict[Scalar, Held[E]]:
        return self._booleans if isinstance(choice.values[0], bool) else self._numbers


Table: TypeAlias = TextTable[E] | ScalarTable[E]


def _crowd(places: dict[Scalar, Held[E]], values: tuple[Scalar, ...]) -> float:
    fullest = max(len(places.get(value, ())) for value in values)
    return (fullest + 1) ** 2 / (len(places) + 1)


def _hold(places: dict[Scalar, Held[E]], values: tuple[Scalar, ...], entry: E) -> None:
    for value in values:
        places.setdefault(value, {})[entry] = None


def _drop(places: dict[Scalar, Held[E]], values: tuple[Scalar, ...], entry: E) -> None:
    for value in values:
        del places[value][entry]
        if not places[value]:
            del places[value]
