"""What a consumer takes in: librdkafka's consumer, the messages it has given, and the commits.

Everything here runs in one thread at a time: the program's, or the one that a program which
awaits has for it. Messages are taken in batches, as many as are there, because one call for each
is slow. While a program works through a batch, librdkafka is served every LOOK_S all the same, so
that a group whose members work slowly still changes quickly.
Above: consumer.py. Below: assignment.py, progress.py.
"""

import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import confluent_kafka
from confluent_kafka import KafkaError as ClientError
from confluent_kafka import KafkaException

from kafkaesque.client.absence import Absence
from kafkaesque.client.assignment import ASK_S, Assignment, ByGroup, ByHand
from kafkaesque.client.connection import ClusterError, Connection
from kafkaesque.client.event_reading import ReadBatch
from kafkaesque.client.failures import kafka_error
from kafkaesque.client.logs import chained, warn
from kafkaesque.client.profiles import made
from kafkaesque.client.progress import Progress
from kafkaesque.client.registry.errors import RegistryAwayError
from kafkaesque.client.serde import DecodeEventError
from kafkaesque.client.starts import Start, watermarks
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.event import Event
from kafkaesque.types import TopicPartition

# Larger ones are slower: their events outlive the youngest generation of the garbage collector.
BATCH = 100
LOOK_S = 0.5
RETRY_S = 0.5
SEEK_TIMEOUT_S = 10.0

# librdkafka goes on by itself after these.
_PASSING = {
    ClientError._ALL_BROKERS_DOWN,
    ClientError._TRANSPORT,
    ClientError._RESOLVE,
    ClientError._TIMED_OUT,
    ClientError._MAX_POLL_EXCEEDED,
    ClientError._WAIT_COORD,
    ClientError.COORDINATOR_NOT_AVAILABLE,
    ClientError.COORDINATOR_LOAD_IN_PROGRESS,
    ClientError.NOT_COORDINATOR,
    ClientError.LEADER_NOT_AVAILABLE,
    ClientError.NOT_LEADER_FOR_PARTITION,
    ClientError.REBALANCE_IN_PROGRESS,
    ClientError.REQUEST_TIMED_OUT,
}


class Intake:
    def __init__(
        self,
        connection: Connection,
        config: dict[str, Any],
        read: ReadBatch,
        topics: Sequence[str],
        group: str | None,
        start: Start,
        *,
        wants_ends: bool,
        commits: bool,
        commit_interval_s: float,
    ) -> None:
        # Events, or in an event's place: a DecodeEventError, or a Message that says an error.
        self.buffer: deque[Any] = deque()
        self.batch = BATCH
        self.taken = 0
        self.progress = Progress()
        self.look_at = 0.0
        self.last_error: str | None = None
        self.assigned: set[TopicPartition] = set()
        self._connection = connection
        self._read = read
        self._group = group
        self._commits = commits
        self._commit_interval_s = commit_interval_s
        self._commit_at = 0.0
        # Of each partition that is paused: what had been taken in.
        self._held_back: dict[TopicPartition, list[Any]] = {}
        # What has come while the registry was away: without it nobody knows what it says.
        self._unread: list[Any] = []
        self._read_at = 0.0
        self._absence = Absence(connection, warn, "events will go on when something does")
        config = config | {
            # librdkafka wants a group's name even from one who joins none.
            "group.id": group or "kafkaesque",
            "auto.offset.reset": start if isinstance(start, str) else "earliest",
            "enable.partition.eof": wants_ends,
            "error_cb": chained(self._note, config.get("error_cb")),
            "on_commit": self._note_commit,
        }
        self.client: Any = made(confluent_kafka.Consumer, config)
        self._assignment: Assignment
        if group is None:
            self._assignment = ByHand(self.client, topics, start, self, wants_ends=wants_ends)
        else:
            strategy = str(config.get("partition.assignment.strategy", ""))
            is_cooperative = "cooperative" in strategy or config.get("group.protocol") == "consumer"
            self._assignment = ByGroup(
                self.client,
                topics,
                start,
                self,
                wants_ends=wants_ends,
                is_cooperative=is_cooperative,
            )

    def begin(self) -> bool:
        """Raises KafkaError if a topic is not there; False: nobody answers, try again."""
        try:
            self._assignment.begin()
        except KafkaException as error:
            self._pass_or_raise(error.args[0], "the topic cannot be read")
            return False
        return True

    def step(self, wait_s: float) -> None:
        """The program asks for more: do what is due, and take in what has come."""
        self.progress.settle()
        if not self.begin():
            time.sleep(min(wait_s, RETRY_S))
            return
        if self._commits and time.monotonic() >= self._commit_at:
            self._commit_at = time.monotonic() + self._commit_interval_s
            self._commit(self.progress.uncommitted(), wait=False)
        self._assignment.refresh()
        try:
            self._fill(wait_s)
        except KafkaException as error:  # Of a question that a rebalance had to ask.
            self._pass_or_raise(error.args[0], "the group cannot be read")
        self.look_at = time.monotonic() + LOOK_S

    def high_watermark(self, place: TopicPartition) -> int | None:
        """As the last fetch has told it."""
        asked = confluent_kafka.TopicPartition(*place)
        _, high = self.client.get_watermark_offsets(asked, cached=True)
        return None if high < 0 else int(high)

    def ends(self) -> dict[TopicPartition, int]:
        try:
            return {p: watermarks(self.client, p, ASK_S)[1] for p in sorted(self.assigned)}
        except KafkaException as error:
            raise kafka_error(error.args[0], "the ends are not known") from error

    def note(self, message: Any) -> None:
        """A message that is no event. Raises KafkaError for an error that does not pass."""
        self.taken -= 1
        error = message.error()
        if error.code() == ClientError._PARTITION_EOF:
            place = TopicPartition(message.topic(), message.partition())
            self.progress.settle()
            self.progress.reach(place, message.offset())
        else:
            what = message.topic() or "the topic"
            self._pass_or_raise(error, f"{what} cannot be read")

    def commit_finished(self) -> None:
        """Raises KafkaError if nobody takes it."""
        if self._commits:
            self._commit(self.progress.uncommitted(), wait=True)

    def commit(self, offsets: dict[TopicPartition, int]) -> None:
        if self._group is None:
            raise ValueError("nothing to commit to: give the Consumer a group=")
        self._commit(offsets, wait=True)

    def seek(self, place: TopicPartition, offset: int) -> None:
        self._forget([place])
        self.progress.move(place, offset)
        target = confluent_kafka.TopicPartition(*place, offset)
        deadline = time.monotonic() + SEEK_TIMEOUT_S
        while True:
            try:
                self.client.seek(target)
                break
            except KafkaException as error:
                # A partition that is ours since a moment cannot be moved yet.
                is_early = error.args[0].code() == ClientError._STATE
                if not is_early or time.monotonic() > deadline:
                    raise kafka_error(error.args[0], f"{place} cannot be moved") from error
                time.sleep(0.02)
        self._forget([place])

    def pause(self, places: Iterable[TopicPartition]) -> None:
        stopped = (set(places) & self.assigned) - self._held_back.keys()
        self.client.pause([confluent_kafka.TopicPartition(*place) for place in stopped])
        self._held_back |= {place: [] for place in stopped}
        unread = self._unread
        for item in self._forget(stopped):
            self._held_back[_place(item)].append(item)
        self._unread = unread

    def resume(self, places: Iterable[TopicPartition]) -> None:
        going = set(places) & self.assigned
        for place in going:
            held_back = self._held_back.pop(place, [])
            self.taken += len(held_back)
            self.buffer.extendleft(reversed(held_back))
        self.client.resume([confluent_kafka.TopicPartition(*place) for place in going])

    def close(self) -> None:
        """Commit what is finished with, and leave. Raises KafkaError if nobody takes it."""
        self.progress.let_go()
        try:
            self.commit_finished()
        finally:
            self._commits = False
            self.client.close()

    def take(
        self, starts: Mapping[TopicPartition, int | None], ends: dict[TopicPartition, int] | None
    ) -> None:
        self.assigned |= starts.keys()
        for place, offset in starts.items():
            self.progress.begin(place, offset)
        if ends is not None:
            self.progress.expect(ends)

    def leave(self, places: Sequence[TopicPartition], *, lost: bool) -> None:
        if self._commits and not lost:
            leaving = set(places)
            offsets = self.progress.uncommitted()
            try:
                self._commit({p: o for p, o in offsets.items() if p in leaving}, wait=True)
            except KafkaError as error:  # The next member reads it again.
                self.last_error = str(error)
        self._forget(places)
        for place in places:
            self._held_back.pop(place, None)
        self.progress.drop(places)
        self.assigned -= set(places)

    def _fill(self, wait_s: float) -> None:
        is_busy = bool(self.buffer or self._unread)
        message = self.client.poll(0 if is_busy else wait_s)
        if message is not None:
            self._absence.end()
            self._unread.append(message)
            if not is_busy:
                # What is there already; a timeout would wait until the batch is full.
                self._unread += self.client.consume(self.batch, 0)
        if self._unread:
            self._read_unread(wait_s)

    def _read_unread(self, wait_s: float) -> None:
        if self._read_at and time.monotonic() < self._read_at:
            time.sleep(0 if self.buffer else min(wait_s, RETRY_S))
            return
        try:
            items = self._read(self._unread)
        except RegistryAwayError as error:
            if not self._read_at:
                warn(f"{error}; events will go on when one does")
            self._read_at = time.monotonic() + RETRY_S
            return
        self._unread = []
        self._read_at = 0.0
        if self._held_back:
            # A partition was paused meanwhile.
            for item in (each for each in items if _place(each) in self._held_back):
                self._held_back[_place(item)].append(item)
            items = [each for each in items if _place(each) not in self._held_back]
        self.buffer.extend(items)
        self.taken += len(items)

    def _commit(self, offsets: dict[TopicPartition, int], *, wait: bool) -> None:
        if not offsets:
            return
        spelled = [confluent_kafka.TopicPartition(*p, offset) for p, offset in offsets.items()]
        try:
            if wait:
                # A commit that nobody answers would hold us up as long as a session lasts.
                self._connection.require_an_answer()
                self.client.commit(offsets=spelled, asynchronous=False)
                self.progress.note_commit(offsets)
            else:
                self.client.commit(offsets=spelled, asynchronous=True)
        except ClusterError as error:
            raise KafkaError(ErrorCode.NETWORK_EXCEPTION, _uncommitted(str(error))) from error
        except KafkaException as error:
            raise kafka_error(error.args[0], _uncommitted("the group took no commit")) from error

    def _note_commit(self, error: ClientError | None, partitions: list[Any]) -> None:
        if error is not None:
            self.last_error = error.str()
            return
        self.progress.note_commit({_spot(each): each.offset for each in partitions})

    def _forget(self, places: Iterable[TopicPartition]) -> list[Any]:
        """What of these partitions has been taken in, and now is not."""
        gone = set(places)
        self._unread = [each for each in self._unread if _place(each) not in gone]
        for place in gone & self._held_back.keys():
            self._held_back[place] = []
        kept: list[Any] = []
        dropped: list[Any] = []
        for item in self.buffer:
            (dropped if _place(item) in gone else kept).append(item)
        # In place, for an iteration under way holds the same buffer.
        self.buffer.clear()
        self.buffer.extend(kept)
        self.taken -= len(dropped)
        return dropped

    def _pass_or_raise(self, error: ClientError, what: str) -> None:
        self.last_error = error.str()
        if error.fatal() or error.code() not in _PASSING:
            raise kafka_error(error, what)
        self._absence.note(error)

    def _note(self, error: ClientError) -> None:
        self.last_error = error.str()
        self._absence.note(error)


def _place(item: Any) -> TopicPartition:
    if isinstance(item, DecodeEventError):
        item = item.event
    if isinstance(item, Event):
        return TopicPartition(item.topic, item.partition)
    return TopicPartition(item.topic(), item.partition())


def _spot(partition: Any) -> TopicPartition:
    return TopicPartition(partition.topic, partition.partition)


def _uncommitted(why: str) -> str:
    return f"what was read last is not committed, and will be read again: {why}"
