"""Fetch sessions (KIP-227): a consumer names its partitions once, then only what has changed.

A session remembers, for each partition, where the consumer reads and what it was last told. A
request of epoch 0 starts one, later epochs continue it, −1 ends it or goes without. An incremental
response holds only partitions with records, an error, or a high watermark or log start that has
moved.

A session belongs to its client: address and client id. A client that comes back over another
connection may go on with it; nobody else may use it or end it, whatever number they guess.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from random import randint
from typing import TypeAlias
from uuid import UUID

from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ForgottenTopic,
)
from kafkaesque.protocol.schema import ZERO_UUID
from kafkaesque.types import Clock

_INITIAL, _FINAL = 0, -1
_MAX_ID = _MAX_EPOCH = 2**31 - 1
_EVICTABLE_AFTER_MS = 120_000
_MAX_PARTITIONS = 200_000
"""Of all sessions together: some 50 MB. Sessions that are silent for long give way here, too."""

Owner: TypeAlias = tuple[str, str | None]
"""Address and client id."""

Key: TypeAlias = tuple[str, int, int]
"""Name, id and partition. The id as the number that it is: a UUID is slow to hash."""


@dataclass(slots=True)
class Wanted:
    """A partition that a consumer reads, where it is, and what it was last told."""

    topic: str
    topic_id: UUID
    partition: int
    offset: int
    max_bytes: int
    current_leader_epoch: int
    told: tuple[int, int] | None = None
    """High watermark and log start of the last response, or None before the first."""


@dataclass(slots=True)
class Session:
    """The partitions of one fetch. Id 0 is a fetch without a session, forgotten afterwards."""

    id: int = 0
    owner: Owner | None = None
    epoch: int = 1
    incremental: bool = False
    used_ms: int = 0
    wanted: dict[Key, Wanted] = field(default_factory=dict)
    coming: dict[int, int] = field(default_factory=dict)
    """Partitions of requests that are let in and not yet taken over, by epoch: it tells a session's
    requests apart. They may come over several connections at once.
    """

    @property
    def size(self) -> int:
        """The partitions that it keeps, or is about to."""
        return len(self.wanted) + (sum(self.coming.values()) if self.coming else 0)

    def let_in(self, request: FetchRequest) -> int:
        """How many partitions are coming with it."""
        count = self.coming[request.session_epoch] = count_partitions(request)
        return count

    def take(self, request: FetchRequest) -> None:
        """Take over what the request says."""
        if self.incremental and request.forgotten_topics_data:
            for forgotten in request.forgotten_topics_data:
                for number in forgotten.partitions:
                    self.forget(forgotten, number)
        for topic in request.topics:
            for partition in topic.partitions:
                self.want(topic, partition)
        if self.coming:
            self.taken(request)

    def taken(self, request: FetchRequest) -> None:
        """Nothing more of this request is to come. May be said twice."""
        self.coming.pop(request.session_epoch, None)

    def forget(self, topic: ForgottenTopic, number: int) -> None:
        self.wanted.pop((topic.topic, topic.topic_id.int, number), None)

    def want(self, topic: FetchTopic, partition: FetchPartition) -> None:
        key = (topic.topic, topic.topic_id.int, partition.partition)
        known = self.wanted.get(key)
        if known is None:
            self.wanted[key] = Wanted(
                topic.topic,
                topic.topic_id,
                partition.partition,
                partition.fetch_offset,
                partition.partition_max_bytes,
                partition.current_leader_epoch,
            )
        else:
            known.offset = partition.fetch_offset
            known.max_bytes = partition.partition_max_bytes
            known.current_leader_epoch = partition.current_leader_epoch

    def to_the_end(self, keys: Iterable[Key]) -> None:
        """Partitions that have just been served wait their turn: others come first next time."""
        for key in keys:
            if wanted := self.wanted.pop(key, None):
                self.wanted[key] = wanted


class FetchSessions:
    """The sessions of all consumers; when there is no room, a fetch simply goes without.

    `clock` only goes forward.
    """

    def __init__(self, slots: int, clock: Clock, max_partitions: int = _MAX_PARTITIONS) -> None:
        self._slots = slots
        self._clock = clock
        self._max_partitions = max_partitions
        self._sessions: dict[int, Session] = {}
        self._most = 0
        """No more partitions than these are kept. To count them takes a look at every session."""
        self._ended: list[Session] = []
        """Those that still had requests to take over when they ended."""

    def resolve(self, request: FetchRequest, owner: Owner) -> Session:
        """The session that this request starts, continues, or goes without. What it changes in it
        is left to `Session.take`.
        """
        if request.session_epoch in (_INITIAL, _FINAL):
            if request.session_id:
                self._end(request.session_id, owner)
            if request.session_epoch == _FINAL or not self._make_room(request, slots=1):
                return Session()
            session = self._new(owner)
            self._most += session.let_in(request)
            return session
        session = self._known(request, owner)
        session.used_ms = self._clock()
        if request.topics and not self._make_room(request):
            self._end(session.id, owner)
            raise KafkaError(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        self._most += session.let_in(request)
        session.epoch = 1 if session.epoch == _MAX_EPOCH else session.epoch + 1
        session.incremental = True
        return session

    def _end(self, session_id: int, owner: Owner) -> None:
        session = self._sessions.get(session_id)
        if session is not None and session.owner == owner:
            del self._sessions[session_id]
            if session.coming:
                self._ended = [*self._unfinished(), session]

    def _make_room(self, request: FetchRequest, slots: int = 0) -> bool:
        """Whether there is room for a request, and for as many sessions more. If need be, those
        that were silent for long give way to it, the longest first; if that is not enough, none.
        """
        slots += len(self._sessions) - self._slots
        room = self._max_partitions - count_partitions(request)
        if self._most > room:
            self._most = self._kept()
        partitions = self._most - room
        evicted, silent = [], self._silent()
        while slots > 0 or partitions > 0:
            session = next(silent, None)
            if session is None:
                return False
            evicted.append(session.id)
            slots, partitions = slots - 1, partitions - session.size
        for session_id in evicted:
            del self._sessions[session_id]
        return True

    def _kept(self) -> int:
        self._ended = self._unfinished()
        kept = sum(session.size for session in self._sessions.values())
        return kept + sum(session.size for session in self._ended)

    def _unfinished(self) -> list[Session]:
        return [session for session in self._ended if session.coming]

    def _silent(self) -> Iterator[Session]:
        """Sessions that may be evicted. Not while requests are on their way into them: that would
        free nothing.
        """
        since_ms = self._clock() - _EVICTABLE_AFTER_MS
        silent = [s for s in self._sessions.values() if s.used_ms <= since_ms and not s.coming]
        yield from sorted(silent, key=lambda session: session.used_ms)

    def _known(self, request: FetchRequest, owner: Owner) -> Session:
        session = self._sessions.get(request.session_id)
        if session is None or session.owner != owner:
            raise KafkaError(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        if session.epoch != request.session_epoch:
            raise KafkaError(ErrorCode.INVALID_FETCH_SESSION_EPOCH)
        # All of a session's partitions are named in one way.
        by_id = any(topic_id for _, topic_id, _ in islice(session.wanted, 1))
        named = any(topic.topic_id == ZERO_UUID for topic in request.topics)
        if session.wanted and request.topics and by_id == named:
            raise KafkaError(ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR)
        return session

    def _new(self, owner: Owner) -> Session:
        session = Session(id=self._new_id(), owner=owner, used_ms=self._clock())
        self._sessions[session.id] = session
        return session

    def _new_id(self) -> int:
        """By chance: whoever comes back after a restart must not find the session of another."""
        while (number := randint(1, _MAX_ID)) in self._sessions:
            pass
        return number


def count_partitions(request: FetchRequest) -> int:
    """How many partitions a request names, to read or to forget."""
    count = 0
    for topic in request.topics:
        count += len(topic.partitions)
    for forgotten in request.forgotten_topics_data:
        count += len(forgotten.partitions)
    return count
