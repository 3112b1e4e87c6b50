"""Many predicates over one record: only those that can match are looked at.

Each distinct predicate is held once, with the items that were added under it. Its plan (guards.py)
says where: in the table of a term, an `or` in several, or, with nothing to look it up by, among
those that are tested one by one. A record is read once per term in use; what a table finds is
tested for the rest of its condition, at most once.
Above: the fan-out gateway's subscriptions. Below: guards.py, tables.py, compile.py.
"""

from collections.abc import Hashable
from typing import Generic, TypeAlias, TypeVar

from kafkaesque.client.filters.compile import Test, compiled
from kafkaesque.client.filters.conditions import Choice, Range
from kafkaesque.client.filters.guards import Guard, Prefix, plan
from kafkaesque.client.filters.predicate import Predicate
from kafkaesque.client.filters.readers import Read, is_member, reader
from kafkaesque.client.filters.subject import Subject
from kafkaesque.client.filters.syntax import Field, Step, Term
from kafkaesque.client.filters.tables import ScalarTable, Table, TextTable

T = TypeVar("T", bound=Hashable)
# A term, and whether it is read as text.
_Place: TypeAlias = tuple[Term, bool]


class _Looked:
    """When a predicate with several guards was last looked at, in records."""

    __slots__ = ("turn",)

    def __init__(self) -> None:
        self.turn = 0


class _Entry(Generic[T]):
    """A predicate under one of its guards; entries of one predicate share `items` and `looked`."""

    __slots__ = ("guard", "items", "looked", "test")

    def __init__(
        self,
        guard: Guard | None,
        items: dict[T, None],
        test: Test | None,
        looked: _Looked | None = None,
    ) -> None:
        self.guard = guard
        self.items = items
        self.test = test
        self.looked = looked


class PredicateIndex(Generic[T]):
    """An item is held once for a predicate, and comes back once for each of its predicates that
    match. Items are hashable."""

    def __init__(self) -> None:
        self._entries: dict[Predicate, list[_Entry[T]]] = {}
        self._tables: dict[_Place, Table[_Entry[T]]] = {}
        # The same tables: of fields right below the value, which are read in place, and of others.
        self._members: dict[_Place, tuple[Step, Table[_Entry[T]]]] = {}
        self._others: dict[_Place, tuple[Read, Table[_Entry[T]]]] = {}
        self._unguarded: dict[_Entry[T], None] = {}
        self._turn = 0

    def __len__(self) -> int:
        """How many distinct predicates there are."""
        return len(self._entries)

    def add(self, predicate: Predicate, item: T) -> None:
        entries = self._entries.get(predicate)
        if entries is None:
            entries = self._entries[predicate] = self._planned(predicate)
            for entry in entries:
                self._hold(entry)
        entries[0].items[item] = None

    def remove(self, predicate: Predicate, item: T) -> None:
        """KeyError if it was not added."""
        entries = self._entries[predicate]
        del entries[0].items[item]
        if not entries[0].items:
            del self._entries[predicate]
            for entry in entries:
                self._let_go(entry)

    def matches(self, subject: Subject) -> list[T]:
        self._turn = turn = self._turn + 1
        found: list[_Entry[T]] = list(self._unguarded)
        if self._members and type(document := subject.document()) is dict:
            for name, table in self._members.values():
                value = document.get(name)
                if value is not None:
                    table.find(value, found)
        for read, table in self._others.values():
            value = read(subject)
            if value is not None:
                table.find(value, found)
        matching: list[T] = []
        for entry in found:
            looked = entry.looked
            if looked is not None:
                if looked.turn == turn:
                    continue
                looked.turn = turn
            if entry.test is None or entry.test(subject):
                matching.extend(entry.items)
        return matching

    def _planned(self, predicate: Predicate) -> list[_Entry[T]]:
        """At least one entry."""
        items: dict[T, None] = {}
        planned = plan(predicate.condition, self._crowd)
        if planned is None:
            return [_Entry(None, items, predicate.matches)]
        test = None if planned.rest is None else compiled(planned.rest)
        looked = _Looked() if len(planned.guards) > 1 else None
        return [_Entry(guard, items, test, looked) for guard in planned.guards]

    def _hold(self, entry: _Entry[T]) -> None:
        if entry.guard is None:
            self._unguarded[entry] = None
        else:
            self._table(entry.guard).add(entry.guard, entry)

    def _let_go(self, entry: _Entry[T]) -> None:
        if entry.guard is None:
            del self._unguarded[entry]
            return
        table = self._table(entry.guard)
        table.remove(entry.guard, entry)
        if not table:
            self._close(_place(entry.guard))

    def _crowd(self, guard: Guard) -> float:
        table = self._tables.get(_place(guard))
        return 1.0 if table is None else table.crowd(guard)

    def _table(self, guard: Guard) -> Table[_Entry[T]]:
        place = _place(guard)
        table = self._tables.get(place)
        return self._open(place) if table is None else table

    def _open(self, place: _Place) -> Table[_Entry[T]]:
        term, as_text = place
        table: Table[_Entry[T]] = TextTable() if as_text else ScalarTable()
        self._tables[place] = table
        if isinstance(term, Field) and is_member(term):
            self._members[place] = (term.path[0], table)
        else:
            self._others[place] = (reader(term, as_text=as_text), table)
        return table

    def _close(self, place: _Place) -> None:
        del self._tables[place]
        self._members.pop(place, None)
        self._others.pop(place, None)


def _place(guard: Guard) -> _Place:
    match guard:
        case Choice(term, values):
            return term, isinstance(values[0], str)
        case Range(term, low, _, high, _):
            return term, isinstance(high if low is None else low, str)
        case Prefix(term):
            return term, True
