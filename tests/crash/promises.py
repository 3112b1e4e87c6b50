"""What a broker has promised its clients, and whether it has kept it: pure bookkeeping.

Clients note what they ask for before they ask, and what they are told. After a power cut `broken`
holds what is found against that:
  records     acknowledged with acks=all, or fetched: at their offset, byte for byte
  a log       has no gap, holds nothing that was not sent, nothing twice, ends no earlier than was
              seen, starts no earlier than DeleteRecords promised and no later than was asked for,
              unless retention may move it
  topics      created, grown and deleted as acknowledged; what is in doubt is whole or not at all
  offsets     the last acknowledged commit, or one in doubt that came after it
  producers   an id is never given out twice
`settle` then takes what was found for promised: a client has seen it. `stories` tells what befell
each partition: a race may not come a second time.
Above: power_clients.py, which gathers the evidence, and test_broker_power_cuts.py.
"""

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias
from uuid import UUID

from kafkaesque.records.batch import read_header, stamp
from kafkaesque.types import Buffer

Key: TypeAlias = tuple[UUID, int]
"""A partition: topic id and index."""

Commit: TypeAlias = tuple[str, UUID, int]
"""Group, topic id, partition."""


class TopicState(NamedTuple):
    """One thing that a topic may be. No id: a creation in doubt, whose id nobody was told."""

    partitions: int
    id: UUID | None = None


ABSENT = TopicState(0)


@dataclass(slots=True)
class FoundLog:
    start: int
    end: int
    batches: dict[int, bytes] = field(default_factory=dict)
    """By base offset, as fetched."""


@dataclass(slots=True)
class Found:
    """What a broker answers after it has come back."""

    topics: dict[str, tuple[UUID, int]] = field(default_factory=dict)
    logs: dict[Key, FoundLog] = field(default_factory=dict)
    commits: dict[Commit, int] = field(default_factory=dict)


@dataclass(slots=True)
class _Log:
    batches: dict[int, bytes] = field(default_factory=dict)
    end: int = 0
    start: int = 0
    latest_start: int = 0


class Promises:
    def __init__(self, expiring: Container[str] = ()) -> None:
        """`expiring` are the names of topics that retention shortens."""
        self.problems: list[str] = []
        self._expiring = expiring
        self._topics: dict[str, list[TopicState]] = {}
        self._past_ids: set[UUID] = set()
        self._logs: dict[Key, _Log] = {}
        self._sent: dict[bytes, Key] = {}
        self._commits: dict[Commit, list[int | None]] = {}
        self._producer_ids: set[int] = set()
        self._stories: dict[Key, list[str]] = {}

    def problem(self, sentence: str) -> None:
        self.problems.append(sentence)

    def topics(self) -> dict[str, TopicState]:
        """The topics that are there for certain."""
        return {
            name: states[0]
            for name, states in self._topics.items()
            if len(states) == 1 and states[0].id is not None
        }

    def is_creation_in_doubt(self, name: str) -> bool:
        states = self._topics.get(name, [])
        return ABSENT in states and any(state.id is None and state.partitions for state in states)

    def is_absent(self, name: str) -> bool:
        return self._topics.get(name, [ABSENT]) == [ABSENT]

    def asked_for(self, name: str, state: TopicState) -> None:
        self._topics.setdefault(name, [ABSENT]).append(state)

    def told(self, name: str, state: TopicState) -> None:
        self._topics[name] = [state]
        if state.id is not None:
            self._past_ids.add(state.id)

    def sending(self, key: Key, batch: Buffer) -> None:
        self._sent[_content(batch)] = key
        self._tell(key, f"sending {_brief(batch)}")

    def acknowledged(self, key: Key, offset: int, batch: Buffer) -> None:
        self._tell(key, f"acknowledged at {offset}: {_brief(batch)}")
        stamped = bytearray(batch)
        stamp(stamped, 0, offset, 0)
        self._must_stay(key, offset, bytes(stamped))

    def fetched(self, key: Key, offset: int, batch: bytes) -> None:
        self._must_stay(key, offset, batch)

    def saw_high_watermark(self, key: Key, offset: int) -> None:
        log = self._log(key)
        log.end = max(log.end, offset)

    def deleting_records(self, key: Key, offset: int) -> None:
        self._tell(key, f"deleting up to {offset}")
        log = self._log(key)
        log.latest_start = max(log.latest_start, offset)

    def deleted_records(self, key: Key, offset: int) -> None:
        log = self._log(key)
        log.start = max(log.start, offset)

    def log_start(self, key: Key) -> int:
        return self._log(key).latest_start

    def end(self, key: Key) -> int:
        return self._log(key).end

    def committing(self, commit: Commit, offset: int) -> None:
        self._commits.setdefault(commit, [None]).append(offset)

    def committed(self, commit: Commit, offset: int) -> None:
        self._commits[commit] = [offset]

    def given_producer_id(self, producer_id: int) -> None:
        if producer_id in self._producer_ids:
            self.problem(f"producer id {producer_id} was given out twice")
        self._producer_ids.add(producer_id)

    def broken(self, found: Found) -> list[str]:
        """What is not as promised, in sentences."""
        names = {topic_id: name for name, (topic_id, _) in found.topics.items()}
        problems = [*self.problems, *self._broken_topics(found)]
        for key, log in found.logs.items():
            expires = names[key[0]] in self._expiring
            problems += self._broken_log(key, log)
            problems += self._broken_start(key, log, expires)
        return problems + list(self._broken_commits(found, names))

    def stories(self) -> list[str]:
        return [f"{_name(key)}: {event}" for key, told in self._stories.items() for event in told]

    def settle(self, found: Found) -> None:
        """From here on, what was found is what has been promised."""
        present = {topic_id for topic_id, _ in found.topics.values()}
        for name in self._topics:
            topic_id, partitions = found.topics.get(name, (None, 0))
            self.told(name, TopicState(partitions, topic_id))
        self._logs = {
            key: _Log(log.batches, log.end, log.start, log.start) for key, log in found.logs.items()
        }
        self._sent = {content: key for content, key in self._sent.items() if key[0] in present}
        for key, log in found.logs.items():
            self._tell(key, f"power cut: {log.start}…{log.end}, batches at {sorted(log.batches)}")
        self._commits = {commit: [offset] for commit, offset in found.commits.items()}

    def _tell(self, key: Key, event: str) -> None:
        self._stories.setdefault(key, []).append(event)

    def _log(self, key: Key) -> _Log:
        return self._logs.setdefault(key, _Log())

    def _must_stay(self, key: Key, offset: int, batch: bytes) -> None:
        log = self._log(key)
        if log.batches.setdefault(offset, batch) != batch:
            self.problem(f"{_name(key)}: what was at offset {offset} is another batch now")
        log.end = max(log.end, read_header(batch).next_offset)

    def _broken_topics(self, found: Found) -> Iterator[str]:
        for name, states in self._topics.items():
            topic_id, partitions = found.topics.get(name, (None, 0))
            possible = topic_id in self._past_ids and TopicState(partitions, topic_id) in states
            if topic_id is None or topic_id not in self._past_ids:
                possible = TopicState(partitions) in states
            if not possible:
                yield f"topic {name} is {found.topics.get(name)}, not one of {states}"
        for name in found.topics.keys() - self._topics.keys():
            yield f"nobody has asked for topic {name}"

    def _broken_log(self, key: Key, found: FoundLog) -> Iterator[str]:
        promised = self._logs.get(key, _Log())
        if found.end < promised.end:
            yield f"{_name(key)} ends at {found.end}, and {promised.end} was seen"
        for offset, batch in promised.batches.items():
            gone = read_header(batch).next_offset <= found.start
            if not gone and found.batches.get(offset) != batch:
                what = "changed" if offset in found.batches else "lost"
                yield f"{_name(key)}: the batch at offset {offset} is {what}"
        yield from self._gaps(key, found)
        yield from self._strangers(key, found.batches.values())

    def _broken_start(self, key: Key, found: FoundLog, expires: bool) -> Iterator[str]:
        promised = self._logs.get(key, _Log())
        latest = found.end if expires else max(promised.start, promised.latest_start)
        if not promised.start <= found.start <= latest:
            yield f"{_name(key)} starts at {found.start}, not in {promised.start}…{latest}"

    def _gaps(self, key: Key, found: FoundLog) -> Iterator[str]:
        expected = min(found.batches, default=found.start)
        if expected > found.start:
            yield f"{_name(key)} starts at {found.start}, but its first batch at {expected}"
        for offset, batch in sorted(found.batches.items()):
            if offset != expected:
                yield f"{_name(key)}: offset {offset} comes where {expected} is due"
            expected = read_header(batch).next_offset
        if expected != found.end:
            yield f"{_name(key)}: the last batch ends at {expected}, the log at {found.end}"

    def _strangers(self, key: Key, batches: Iterable[bytes]) -> Iterator[str]:
        there: set[bytes] = set()
        for batch in batches:
            content = _content(batch)
            offset = read_header(batch).base_offset
            if self._sent.get(content) != key:
                yield f"{_name(key)}: nobody has sent the batch at offset {offset}"
            if content in there:
                yield f"{_name(key)}: the batch at offset {offset} is there twice"
            there.add(content)

    def _broken_commits(self, found: Found, present: Container[UUID]) -> Iterator[str]:
        for commit in self._commits.keys() | found.commits.keys():
            possible = self._commits.get(commit, [None])
            if commit[1] in present and found.commits.get(commit) not in possible:
                yield f"commit {commit} is {found.commits.get(commit)}, not one of {possible}"


def _content(batch: Buffer) -> bytes:
    """What a client sent of a batch: all but the offset and the epoch that the broker stamps."""
    return bytes(batch[8:12]) + bytes(batch[16:])


def _brief(batch: Buffer) -> str:
    header = read_header(batch)
    sequence = f", sequence {header.base_sequence}" if header.producer_id >= 0 else ""
    return f"{header.count} records, CRC {header.crc:08x}{sequence}"


def _name(key: Key) -> str:
    return f"{str(key[0])[:8]}-{key[1]}"
