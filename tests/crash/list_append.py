"""Do the transactions agree on an order, if each key is a list that they read and append to?

The order of a list is that of its offsets. From it, and from who read what, comes who was before
whom. Kafka lets transactions interleave, so that two of them may each be first in one list (G0);
what cannot be is a circle of these steps, given that each transaction reads before it appends:

    A → B   B read what A appended: A had been committed when B began to append
    A → B   B followed A in the same process
    A → B   somebody appended to a list after A, and B read something of that somebody

Each step goes from a transaction to one that began to append later. The circle of the first kind
alone is G1c. A read that leaves records out or shows a transaction's in part is found by
queue_checker.py. A pure function of a history. Above: test_histories.py. Below: history.py.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import NamedTuple

from tests.crash.history import Anomaly, Event, Kind, Outcome, Story, Transaction

Graph = dict[Hashable, set[Hashable]]


class Place(NamedTuple):
    """A step in between: whatever is at this place of a list, or behind it."""

    key: int
    position: int


def list_append_anomalies(history: Iterable[Event]) -> list[Anomaly]:
    """One circle, if there is any: it names the transactions that are in it."""
    story = Story(history)
    if story.logs is None:
        raise ValueError("a history without a last look does not know the order of the lists")
    cycle = _cycle(_graph(story))
    if cycle is None:
        return []
    told = " → ".join(_named(story, cycle))
    return [Anomaly(Kind.CYCLE, f"each of these was before the next: {told}")]


def _named(story: Story, cycle: Sequence[Hashable]) -> Iterator[str]:
    """The transactions of a circle, and those behind one of them that the next had read."""
    for step, following in zip(cycle, [*cycle[1:], None], strict=True):
        if isinstance(step, int):
            yield str(story.transactions[step])
        elif isinstance(following, int) and isinstance(step, Place):
            element = (story.logs or {})[step.key][step.position]
            yield f"({element} of {story.writers[element.value]} lies behind it)"


def _graph(story: Story) -> Graph:
    """From each to those that come after it."""
    readers = _readers(story)
    graph: Graph = defaultdict(set)
    for number, those in readers.items():
        graph[number] |= those
    for one, two in _successions(story):
        graph[one].add(two)
    for key, log in (story.logs or {}).items():
        for place, element in enumerate(log):
            here, following = Place(key, place), Place(key, place + 1)
            graph[here].add(following)
            if writer := _writer(story, element.value):
                graph[here] |= readers.get(writer.id, set())
                graph[writer.id].add(following)
    return graph


def _readers(story: Story) -> Mapping[int, set[Hashable]]:
    """By transaction: those that had read something of it when they began to append."""
    readers: dict[int, set[Hashable]] = defaultdict(set)
    for reader in story.transactions.values():
        for value in reader.seen:
            if reader.keys and (writer := _writer(story, value)):
                readers[writer.id].add(reader.id)
    return readers


def _successions(story: Story) -> Iterator[tuple[int, int]]:
    last: dict[str, int] = {}
    for transaction in story.transactions.values():
        if transaction.keys:
            if transaction.process in last:
                yield last[transaction.process], transaction.id
            last[transaction.process] = transaction.id


def _writer(story: Story, value: str) -> Transaction | None:
    """Aborted ones are no part of any order: that they were read is another fault."""
    writer = story.writers.get(value)
    return None if writer is None or writer.outcome is Outcome.ABORTED else writer


def _cycle(graph: Graph) -> list[Hashable] | None:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        cycle: list[Hashable] = error.args[1]
        # TopologicalSorter takes edges for dependencies: it walks them backwards.
        return cycle[::-1]
    return None
