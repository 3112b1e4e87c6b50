"""Transactions: all of one is seen by readers of committed records, or nothing."""

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field
from enum import Enum

from tests.simulation.model.offsets import Commit
from tests.simulation.model.records import Key


class Outcome(Enum):
    OPEN = "open"
    """Nobody has asked for its commit: it can only be aborted."""
    COMMIT_ASKED = "in doubt"
    COMMITTED = "committed"
    ABORTED = "aborted"


@dataclass(slots=True)
class Transaction:
    name: str
    outcome: Outcome = Outcome.OPEN
    labels: dict[int, Key] = field(default_factory=dict)
    """All that was sent in it."""
    acknowledged: set[int] = field(default_factory=set)
    offsets: dict[Commit, int] = field(default_factory=dict)
    acknowledged_offsets: set[Commit] = field(default_factory=set)


class Transactions:
    def __init__(self) -> None:
        self._all: list[Transaction] = []
        self._of_label: dict[int, Transaction] = {}

    def begin(self, name: str) -> Transaction:
        self._all.append(transaction := Transaction(name))
        return transaction

    def sending(self, transaction: Transaction, label: int, key: Key) -> None:
        transaction.labels[label] = key
        self._of_label[label] = transaction

    def may_be_aborted(self, label: int) -> bool:
        """Whether compaction may remove the record for the end of its transaction."""
        transaction = self._of_label.get(label)
        return transaction is not None and transaction.outcome is not Outcome.COMMITTED

    def seen(self, label: int) -> Iterator[str]:
        """A reader of committed records has got it."""
        transaction = self._of_label.get(label)
        if transaction is None:
            return
        if transaction.outcome in (Outcome.OPEN, Outcome.ABORTED):
            outcome = transaction.outcome.value
            yield f"record {label} of {transaction.name} is seen, and that is {outcome}"
        elif transaction.outcome is Outcome.COMMIT_ASKED:
            transaction.outcome = Outcome.COMMITTED

    def check(self, seen: Set[int], readable: Mapping[int, bool]) -> Iterator[str]:
        """At rest. `readable` says of acknowledged labels whether they have to be found."""
        for transaction in self._all:
            there = transaction.labels.keys() & seen
            for label in sorted(there):
                yield from self.seen(label)
            lacking = [
                label
                for label in sorted(transaction.acknowledged)
                if label not in seen and readable.get(label, False)
            ]
            if transaction.outcome is Outcome.COMMITTED and lacking:
                yield f"{transaction.name} is committed, and {lacking} are not to be read"

    def committed_by_offsets(self, commit: Commit, offset: int) -> None:
        """An offset of it is seen: so it was committed, if that was in doubt."""
        for transaction in self._all:
            is_its_own = transaction.offsets.get(commit) == offset
            if is_its_own and transaction.outcome is Outcome.COMMIT_ASKED:
                transaction.outcome = Outcome.COMMITTED
