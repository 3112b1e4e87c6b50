"""Records: what was sent where, what was acknowledged or seen at which offset.

Each record carries a number of its own, its label. What was acknowledged by acks=all, or fetched,
stays at its offset, the same for ever; nothing is there that nobody sent, nothing twice. Topics
with write caching promise less, retention and DeleteRecords move the start, compaction removes what
a later record of the same key has replaced.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias
from uuid import UUID

from tests.simulation.model.topics import Traits

Key: TypeAlias = tuple[UUID, int]
"""A partition: topic id and index."""


@dataclass(slots=True)
class Sent:
    key: Key
    record_key: bytes | None
    is_tombstone: bool


@dataclass(slots=True)
class FoundLog:
    start: int
    end: int
    labels: dict[int, int] = field(default_factory=dict)
    """By offset, as fetched."""


@dataclass(slots=True)
class _Log:
    promised: dict[int, int] = field(default_factory=dict)
    ever: dict[int, int] = field(default_factory=dict)
    """All that was ever known of it, replaced records included."""
    end: int = 0
    start: int = 0
    latest_start: int = 0


class Records:
    def __init__(self) -> None:
        self.problems: list[str] = []
        self._sent: dict[int, Sent] = {}
        self._logs: dict[Key, _Log] = {}
        self._next_label = 1

    def forget_all(self) -> None:
        self._logs.clear()

    def new_label(self) -> int:
        self._next_label += 1
        return self._next_label

    def sending(self, label: int, sent: Sent) -> None:
        self._sent[label] = sent

    def log(self, key: Key) -> _Log:
        return self._logs.setdefault(key, _Log())

    def promised(self, key: Key, offset: int, label: int) -> None:
        """Acknowledged, or seen by a reader."""
        log = self.log(key)
        if log.ever.setdefault(offset, label) != label:
            self.problems.append(
                f"{name(key)}: at offset {offset} was record {log.ever[offset]}, now {label}"
            )
        log.promised[offset] = label
        log.end = max(log.end, offset + 1)
        if label not in self._sent or self._sent[label].key != key:
            self.problems.append(f"{name(key)}: nobody sent record {label} at offset {offset}")

    def deleting_before(self, key: Key, offset: int) -> None:
        log = self.log(key)
        log.latest_start = max(log.latest_start, offset)

    def deleted_before(self, key: Key, offset: int) -> None:
        log = self.log(key)
        log.start = max(log.start, offset)

    def check(
        self, key: Key, found: FoundLog, traits: Traits, may_be_aborted: Callable[[int], bool]
    ) -> Iterator[str]:
        log = self.log(key)
        if traits.is_weak:
            return
        if found.end < log.end:
            yield f"{name(key)} ends at {found.end}, and {log.end} was seen"
        for offset, label in log.promised.items():
            there = found.labels.get(offset)
            if offset < found.start or there == label:
                continue
            is_compacted = traits.may_compact and (
                may_be_aborted(label) or self._is_replaced(log, found, offset, label)
            )
            if there is not None or not is_compacted:
                yield f"{name(key)}: record {label} of offset {offset} is lost: {there}"
        latest = found.end if traits.may_expire else max(log.start, log.latest_start)
        if not log.start <= found.start <= latest:
            yield f"{name(key)} starts at {found.start}, not in {log.start}…{latest}"
        yield from self._strangers(key, found)

    def _is_replaced(self, log: _Log, found: FoundLog, offset: int, label: int) -> bool:
        """Whether compaction may have removed it: a later one of its key is known."""
        sent = self._sent[label]
        known = {**log.ever, **found.labels}
        later = {self._sent[other].record_key for at, other in known.items() if at > offset}
        return sent.is_tombstone or sent.record_key in later

    def _strangers(self, key: Key, found: FoundLog) -> Iterator[str]:
        there: dict[int, int] = {}
        for offset, label in found.labels.items():
            if label not in self._sent or self._sent[label].key != key:
                yield f"{name(key)}: nobody sent record {label} at offset {offset}"
            if label in there:
                yield f"{name(key)}: record {label} is there twice: {there[label]} and {offset}"
            there[label] = offset

    def settle(self, key: Key, found: FoundLog, traits: Traits, durable_start: int) -> None:
        """From here on, what was found is what has been promised. Not so a start that no disk has
        taken yet, of retention or of a deletion that was refused: nobody was told that it stays.
        """
        log = self.log(key)
        log.promised = dict(found.labels)
        if traits.is_weak:
            log.ever = dict(found.labels)
        log.ever.update(found.labels)
        log.end, log.start = found.end, min(found.start, durable_start)
        log.latest_start = found.start


def name(key: Key) -> str:
    return f"{str(key[0])[:8]}-{key[1]}"
