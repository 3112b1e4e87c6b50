"""Records: what was sent where, what was acknowledged or seen at which offset.

Each record carries a number of its own, its label. What was acknowledged by acks=all, or fetched,
stays at its offset, the same for ever; nothing is there that nobody sent, nothing twice; what one
client sent is there in the order in which it sent it, and no offset is left out. Retention and
DeleteRecords move the start, compaction removes what a later record of the same key has replaced.

What a topic with write caching has told of, or an answer to acks=1, is *cached*: a power cut may
take the end of it, up to what was there when this life of the broker began, and a disk that fails
may. Nothing else may, and below the end that is left nothing has changed.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import TypeAlias
from uuid import UUID

from tests.simulation.model.topics import Traits

Key: TypeAlias = tuple[UUID, int]
"""A partition: topic id and index."""


class Harm(Enum):
    """What has befallen a partition since it was looked at."""

    NONE = auto()
    POWER_CUT = auto()
    BAD_DISK = auto()


@dataclass(slots=True)
class Sent:
    key: Key
    record_key: bytes | None
    is_tombstone: bool
    sender: str = ""


@dataclass(slots=True)
class FoundLog:
    start: int
    end: int
    labels: dict[int, int] = field(default_factory=dict)
    """By offset, as fetched."""
    gaps: list[int] = field(default_factory=list)
    """Offsets that no batch has, and the next batch is beyond them."""

    @property
    def last(self) -> int:
        """Of its records. Beyond it are markers, which a start may have added to what was left."""
        return max(self.labels, default=-1)


@dataclass(slots=True)
class _Log:
    promised: dict[int, int] = field(default_factory=dict)
    cached: dict[int, int] = field(default_factory=dict)
    """Told as well, and perhaps not on the disk yet."""
    ever: dict[int, int] = field(default_factory=dict)
    """All that was ever known of it, replaced records included."""
    end: int = 0
    cached_end: int = 0
    start: int = 0
    latest_start: int = 0
    deleted: int = 0
    """Somebody has asked to delete what is below it."""

    def drop_cached(self, offset: int) -> None:
        """From there on, it was lost."""
        self.cached = {at: label for at, label in self.cached.items() if at < offset}
        self.ever = {
            at: label for at, label in self.ever.items() if at < offset or at in self.promised
        }
        self.cached_end = min(self.cached_end, offset)


class Records:
    def __init__(self, has_bad_disk: Callable[[Key], bool] = lambda key: False) -> None:
        """`has_bad_disk`: what is cached of such a partition may be gone, and others follow."""
        self.problems: list[str] = []
        self._has_bad_disk = has_bad_disk
        self._sent: dict[int, Sent] = {}
        self._anew: set[int] = set()
        self._logs: dict[Key, _Log] = {}
        self._next_label = 1

    def forget_all(self) -> None:
        self._logs.clear()

    def new_label(self) -> int:
        self._next_label += 1
        return self._next_label

    def sending(self, label: int, sent: Sent) -> None:
        self._sent[label] = sent

    def refused(self, label: int) -> None:
        """It was not appended, and will not be."""
        del self._sent[label]

    def appended_anew(self, label: int) -> None:
        """It was sent again when nobody remembered that it had been there."""
        self._anew.add(label)

    def log(self, key: Key) -> _Log:
        return self._logs.setdefault(key, _Log())

    def promised(self, key: Key, offset: int, label: int) -> None:
        """Acknowledged, or seen by a reader: it is on the disk."""
        self._told(key, offset, label)
        log = self.log(key)
        log.promised[offset] = label
        log.end = max(log.end, offset + 1)

    def cached(self, key: Key, offset: int, label: int) -> None:
        """The same, and it may not be on the disk yet."""
        self._told(key, offset, label)
        log = self.log(key)
        log.cached[offset] = label
        log.cached_end = max(log.cached_end, offset + 1)

    def _told(self, key: Key, offset: int, label: int) -> None:
        log = self.log(key)
        known = log.ever.get(offset, label)
        if known != label and offset not in log.promised and self._has_bad_disk(key):
            log.drop_cached(offset)
            known = label
        if known != label:
            self.problems.append(f"{name(key)}: at offset {offset} was record {known}, now {label}")
        log.ever[offset] = known
        if label not in self._sent or self._sent[label].key != key:
            self.problems.append(f"{name(key)}: nobody sent record {label} at offset {offset}")

    def is_there(self, key: Key, offset: int, label: int, traits: Traits, harm: Harm) -> bool:
        """Whether what was acknowledged is in the log for certain, and so whoever sent it is
        remembered: retention and DeleteRecords take producers with their records.
        """
        log = self.log(key)
        if traits.may_expire or offset < log.deleted:
            return False
        is_cached = harm is Harm.NONE and log.cached.get(offset) == label
        return not traits.is_weak or is_cached or log.promised.get(offset) == label

    def deleting_before(self, key: Key, offset: int) -> None:
        log = self.log(key)
        log.latest_start = max(log.latest_start, offset)
        log.deleted = max(log.deleted, offset)

    def deleted_before(self, key: Key, offset: int) -> None:
        log = self.log(key)
        log.start = max(log.start, offset)

    def check(
        self,
        key: Key,
        found: FoundLog,
        traits: Traits,
        may_be_aborted: Callable[[int], bool],
        harm: Harm,
    ) -> Iterator[str]:
        log = self.log(key)
        end = max(log.end, log.cached_end) if harm is Harm.NONE else log.end
        if found.end < end:
            yield f"{name(key)} ends at {found.end}, and {end} was seen"
        for offset, label in _expected(log, found, harm).items():
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
        if found.gaps and not traits.may_compact:
            yield f"{name(key)} has no batch for offsets {found.gaps}"
        yield from self._strangers(key, found)

    def _is_replaced(self, log: _Log, found: FoundLog, offset: int, label: int) -> bool:
        """Whether compaction may have removed it: a later one of its key is known."""
        sent = self._sent[label]
        known = {**log.ever, **found.labels}
        later = {self._sent[other].record_key for at, other in known.items() if at > offset}
        return sent.is_tombstone or sent.record_key in later

    def _strangers(self, key: Key, found: FoundLog) -> Iterator[str]:
        there: dict[int, int] = {}
        last: dict[str, int] = {}
        for offset, label in found.labels.items():
            if label not in self._sent or self._sent[label].key != key:
                yield f"{name(key)}: nobody sent record {label} at offset {offset}"
            if label in there:
                yield f"{name(key)}: record {label} is there twice: {there[label]} and {offset}"
            there[label] = offset
            if label not in self._sent or label in self._anew:
                continue
            sender = self._sent[label].sender
            if label < last.get(sender, label):
                yield f"{name(key)}: {sender} sent record {label} before {last[sender]}"
            last[sender] = label

    def settle(self, key: Key, found: FoundLog, durable_start: int, harm: Harm) -> None:
        """From here on, what was found is what has been promised. Not so a start that no disk has
        taken yet, of retention or of a deletion that was refused: nobody was told that it stays.
        """
        log = self.log(key)
        if harm is not Harm.NONE:
            last = found.last
            log.ever = {at: label for at, label in log.ever.items() if at <= last}
        log.promised, log.cached, log.cached_end = dict(found.labels), {}, 0
        log.ever.update(found.labels)
        log.end, log.start = found.end, min(found.start, durable_start)
        log.latest_start = found.start


def _expected(log: _Log, found: FoundLog, harm: Harm) -> dict[int, int]:
    """What has to be there, unless the log starts beyond it."""
    if harm is Harm.BAD_DISK:
        return log.promised
    is_cut, last = harm is Harm.POWER_CUT, found.last
    cached = {at: label for at, label in log.cached.items() if at <= last or not is_cut}
    return cached | log.promised


def name(key: Key) -> str:
    return f"{str(key[0])[:8]}-{key[1]}"
