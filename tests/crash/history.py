"""What the clients of a broker did and saw: the history that queue_checker.py and list_append.py
judge.

Keys are the partitions of one topic. Every value is appended once, by one transaction, so that who
reads it can say whose it is. As in Jepsen's histories an operation is invoked, and then it is ok,
or has failed, or nobody knows (info):

    Open     an instance of a client takes a transactional id, and so fences the one before it
    Append   records are sent in a transaction; ok says at which offsets
    End      commit or abort
    Read     a read_committed reader got records of one key, in this order
    Look     the last look: everything that a read_committed reader finds when all is over

`Story` sorts the events out. Above: the two checkers; transaction_clients.py records histories.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple


class Phase(Enum):
    INVOKE = "invoke"
    OK = "ok"
    FAIL = "fail"
    INFO = "info"


class Element(NamedTuple):
    offset: int
    value: str


@dataclass(frozen=True, slots=True)
class Open:
    transactional_id: str


@dataclass(frozen=True, slots=True)
class Append:
    """`values` by key, in the order of sending; `offsets` by value, as acknowledged."""

    transaction: int
    values: Sequence[tuple[int, str]]
    offsets: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class End:
    transaction: int
    commit: bool


@dataclass(frozen=True, slots=True)
class Read:
    """`transaction`: the one that the reader has begun and not yet appended to, if any."""

    key: int
    elements: Sequence[Element]
    transaction: int | None = None


@dataclass(frozen=True, slots=True)
class Look:
    logs: Mapping[int, Sequence[Element]]


Operation = Open | Append | End | Read | Look


@dataclass(frozen=True, slots=True)
class Event:
    """`process` is one instance of a client: one that is made anew has a new name."""

    at: int
    process: str
    phase: Phase
    what: Operation


class Kind(Enum):
    """What may be wrong with a history."""

    LOST = "lost"
    DUPLICATED = "duplicated"
    ABORTED = "aborted, and read (G1a)"
    DIRTY = "read before its commit was asked for"
    TORN = "torn"
    REORDERED = "reordered"
    CHANGED = "changed"
    UNFENCED = "not fenced"
    CYCLE = "in a cycle (G1c)"


class Anomaly(NamedTuple):
    kind: Kind
    sentence: str


class Outcome(Enum):
    COMMITTED = "committed"
    ABORTED = "aborted"
    IN_DOUBT = "in doubt"


@dataclass(slots=True)
class Transaction:
    id: int
    process: str
    keys: dict[str, int] = field(default_factory=dict)
    """The key of each value, in the order of sending."""
    acknowledged: dict[str, int] = field(default_factory=dict)
    """The offset of each value that has one."""
    seen: set[str] = field(default_factory=set)
    """What it had read before it appended anything."""
    commit_asked_at: int | None = None
    answer: Phase | None = None
    """To the commit."""

    @property
    def outcome(self) -> Outcome:
        """A commit that nobody asked for has not happened, whatever became of the abort."""
        if self.commit_asked_at is None or self.answer is Phase.FAIL:
            return Outcome.ABORTED
        return Outcome.COMMITTED if self.answer is Phase.OK else Outcome.IN_DOUBT

    def __str__(self) -> str:
        return f"transaction {self.id} of {self.process}"


class Seen(NamedTuple):
    """One record that came to a reader."""

    at: int
    process: str
    key: int
    element: Element


class Story:
    """A history, sorted out: transactions, who wrote what, and what each reader got, in order."""

    def __init__(self, history: Iterable[Event]) -> None:
        self.events = sorted(history, key=lambda event: event.at)
        self.transactions: dict[int, Transaction] = {}
        self.writers: dict[str, Transaction] = {}
        self.streams: dict[tuple[str, int], list[Seen]] = {}
        self.logs: Mapping[int, Sequence[Element]] | None = None
        """What the last look found. None: there was none."""
        for event in self.events:
            self._take_in(event)

    def visible(self) -> Iterable[Seen]:
        """Everything that anybody was shown, the last look included."""
        for stream in self.streams.values():
            yield from stream
        for key, elements in (self.logs or {}).items():
            for element in elements:
                yield Seen(self.events[-1].at, "the last look", key, element)

    def _take_in(self, event: Event) -> None:
        match event.what:
            case Append():
                self._append(event, event.what)
            case End(number, commit=True):
                transaction = self._transaction(number, event.process)
                if event.phase is Phase.INVOKE:
                    transaction.commit_asked_at = event.at
                else:
                    transaction.answer = event.phase
            case Read() if event.phase is Phase.OK:
                self._read(event, event.what)
            case Look(logs) if event.phase is Phase.OK:
                self.logs = logs

    def _append(self, event: Event, what: Append) -> None:
        transaction = self._transaction(what.transaction, event.process)
        # It may have been read in before, by a reader with a name of its own.
        transaction.process = event.process
        transaction.acknowledged.update(what.offsets)
        for key, value in what.values:
            transaction.keys[value] = key
            self.writers[value] = transaction

    def _read(self, event: Event, what: Read) -> None:
        for element in what.elements:
            seen = Seen(event.at, event.process, what.key, element)
            self.streams.setdefault((event.process, what.key), []).append(seen)
        if what.transaction is not None:
            transaction = self._transaction(what.transaction, event.process)
            transaction.seen.update(element.value for element in what.elements)

    def _transaction(self, number: int, process: str) -> Transaction:
        return self.transactions.setdefault(number, Transaction(number, process))


class Recorder:
    """A history that is being made, by any thread."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def note(self, process: str, phase: Phase, what: Operation) -> None:
        self.events.append(Event(time.monotonic_ns(), process, phase, what))
