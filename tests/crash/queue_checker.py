"""Is the topic a queue that transactions are put on whole, once, in order, or not at all?

A pure function of a history. It finds, beside what Kinds say by themselves:
    LOST         committed, but not there at the end; or there, but a reader went past it
    DUPLICATED   one value at two offsets, or one record delivered twice to a reader
    TORN         a part of a transaction is there at the end, and a part is not
    REORDERED    a reader went back; or a producer's records lie in another order than it sent them
    CHANGED      two values at one offset, an acknowledged record at another offset than was said,
                 a value that nobody sent, or one that was read and is gone at the end
    UNFENCED     a commit or an append of an instance was accepted after the next had been let in
Kafka shows a transaction partition by partition, and below the last stable offset alone: that a
reader has a part of it while another part is to come is no fault, only that it stays so.
Above: test_histories.py. Below: history.py.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import NamedTuple

from tests.crash.history import (
    Anomaly,
    Append,
    Element,
    End,
    Event,
    Kind,
    Open,
    Outcome,
    Phase,
    Seen,
    Story,
    Transaction,
)


def queue_anomalies(history: Iterable[Event]) -> list[Anomaly]:
    """What is wrong, in sentences; every history that ends with a last look can be judged."""
    story = Story(history)
    if story.logs is None:
        raise ValueError("a history without a last look says nothing of what is lost")
    return [
        *_lost_or_torn(story),
        *_passed_over(story),
        *_duplicated(story),
        *_aborted_or_dirty(story),
        *_out_of_order(story),
        *_changed(story),
        *_unfenced(story),
    ]


def _lost_or_torn(story: Story) -> Iterator[Anomaly]:
    found = {element.value for log in _logs(story) for element in log}
    for transaction in story.transactions.values():
        missing = [value for value in transaction.keys if value not in found]
        if not missing or transaction.outcome is Outcome.ABORTED:
            continue
        what = f"{transaction}, {transaction.outcome.value}: {missing} of {[*transaction.keys]}"
        if len(missing) < len(transaction.keys):
            yield Anomaly(Kind.TORN, f"{what} are missing at the end")
        elif transaction.outcome is Outcome.COMMITTED:
            yield Anomaly(Kind.LOST, f"{what} are missing at the end")


def _passed_over(story: Story) -> Iterator[Anomaly]:
    """A reader that is at an offset has been given everything before it."""
    for (process, key), stream in story.streams.items():
        seen = {each.element.offset for each in stream}
        for element in _log(story, key):
            if element.offset < max(seen) and element.offset not in seen:
                yield Anomaly(Kind.LOST, f"{process} went past {element} of key {key}")


def _duplicated(story: Story) -> Iterator[Anomaly]:
    places: dict[str, tuple[int, int]] = {}
    for _, _, key, (offset, value) in story.visible():
        if places.setdefault(value, (key, offset)) != (key, offset):
            one, two = places[value], (key, offset)
            yield Anomaly(Kind.DUPLICATED, f"{value} is at {one} and at {two} (key, offset)")
    for (process, key), stream in story.streams.items():
        for element, again in pairwise(sorted(each.element for each in stream)):
            if element.offset == again.offset:
                yield Anomaly(Kind.DUPLICATED, f"{process} got {again} of key {key} twice")


def _aborted_or_dirty(story: Story) -> Iterator[Anomaly]:
    for seen in story.visible():
        writer = story.writers.get(seen.element.value)
        if writer is None:
            continue
        what = f"{seen.process} read {seen.element} of key {seen.key}, of {writer}"
        if writer.outcome is Outcome.ABORTED:
            yield Anomaly(Kind.ABORTED, f"{what}, which was not committed")
        elif writer.commit_asked_at is not None and seen.at < writer.commit_asked_at:
            early_ms = (writer.commit_asked_at - seen.at) / 1e6
            yield Anomaly(Kind.DIRTY, f"{what}, {early_ms:.3f} ms before its commit was asked for")


def _out_of_order(story: Story) -> Iterator[Anomaly]:
    for (process, key), stream in story.streams.items():
        for one, two in pairwise(stream):
            if two.element.offset < one.element.offset:
                what = f"{process} got {two.element} of key {key} after {one.element}"
                yield Anomaly(Kind.REORDERED, what)
    sent = {value: at for at, value in enumerate(story.writers)}
    for key, log in (story.logs or {}).items():
        last: dict[str, str] = {}
        for _, value in sorted(log):
            if value in sent:
                process = story.writers[value].process
                before = last.setdefault(process, value)
                last[process] = value
                if sent[value] < sent[before]:
                    what = f"{process} sent {value} before {before}, which key {key} has first"
                    yield Anomaly(Kind.REORDERED, what)


def _changed(story: Story) -> Iterator[Anomaly]:
    contents: dict[tuple[int, int], str] = {}
    for seen in story.visible():
        yield from _strange(seen, story.writers.get(seen.element.value))
        offset, value = seen.element
        before = contents.setdefault((seen.key, offset), value)
        if before != value:
            what = f"{before}, and {value} for {seen.process}"
            yield Anomaly(Kind.CHANGED, f"offset {offset} of key {seen.key} was {what}")
    for (process, key), stream in story.streams.items():
        gone = {each.element for each in stream} - set(_log(story, key))
        for element in sorted(gone):
            what = f"{process} got {element} of key {key}, which is not there at the end"
            yield Anomaly(Kind.CHANGED, what)


def _strange(seen: Seen, writer: Transaction | None) -> Iterator[Anomaly]:
    offset, value = seen.element
    what = f"{seen.process} read {seen.element} of key {seen.key}"
    if writer is None:
        yield Anomaly(Kind.CHANGED, f"{what}, which nobody sent")
    elif writer.keys[value] != seen.key or writer.acknowledged.get(value, offset) != offset:
        told = f"key {writer.keys[value]}, offset {writer.acknowledged.get(value)}"
        yield Anomaly(Kind.CHANGED, f"{what}, which was sent to {told}")


def _unfenced(story: Story) -> Iterator[Anomaly]:
    """What an instance asks for after the next one has been let in is refused."""
    asked: dict[str, Event] = {}
    instances: dict[str, _Instance] = {}
    for event in story.events:
        match event.what, event.phase:
            case Open(transactional_id), Phase.OK:
                since = asked[event.process].at
                instances[event.process] = _Instance(transactional_id, since, event.at)
            case _, Phase.INVOKE:
                asked[event.process] = event
            case ((Append() | End()), Phase.OK):
                if later := _successor(instances, event.process, asked[event.process].at):
                    what = f"{event.what} of {event.process} was accepted after {later}"
                    yield Anomaly(Kind.UNFENCED, f"{what} had been let in")


class _Instance(NamedTuple):
    transactional_id: str
    asked_at: int
    let_in_at: int


def _successor(instances: Mapping[str, _Instance], process: str, at: int) -> str | None:
    """Who had been let in by then, having asked when this one had been let in already."""
    own = instances.get(process)
    if own is None:
        return None
    for name, other in instances.items():
        if other.transactional_id == own.transactional_id and (
            own.let_in_at < other.asked_at and other.let_in_at < at
        ):
            return name
    return None


def _logs(story: Story) -> Iterable[Iterable[Element]]:
    return (story.logs or {}).values()


def _log(story: Story, key: int) -> Iterable[Element]:
    return (story.logs or {}).get(key, ())
