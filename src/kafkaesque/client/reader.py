"""Records as they come: of partitions from given offsets, or of what a group gives us.

A reader is polled, tells each record once, and is closed. `PartitionReader` ends by itself if it
was given where. `GroupReader` commits what its owner has `accept`ed: at the latest
COMMIT_INTERVAL_S after, when partitions move to another member, and when it is closed.
Above: cli/topic/consume.py; tail.py for `record_of`. Below: connection.py, answers.py.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import confluent_kafka
from confluent_kafka import Consumer, KafkaError, KafkaException, Message

from kafkaesque.client.absence import Absence
from kafkaesque.client.answers import words_of
from kafkaesque.client.connection import ClusterError, Connection
from kafkaesque.client.record import UNKNOWN, Record
from kafkaesque.types import TopicPartition

Tell: TypeAlias = Callable[[str], None]
"""Is told in a sentence when the cluster goes away, and when it is back."""

COMMIT_INTERVAL_S = 5.0
_WAITING = "records will go on when something does"
_DAY_MS = 86_400_000


class PartitionReader:
    """`ends` are the offsets to end before; without them it never ends."""

    def __init__(
        self,
        connection: Connection,
        starts: Mapping[TopicPartition, int],
        ends: Mapping[TopicPartition, int] | None,
        tell: Tell,
        **settings: Any,
    ) -> None:
        self._absence = Absence(connection, tell, _WAITING)
        self._ends = ends
        self._open = {
            place for place, start in starts.items() if ends is None or start < ends[place]
        }
        # librdkafka wants a group's name even from one who joins none.
        self._consumer = _consumer(
            connection, "kafkaesque", self._absence, enable_partition_eof=True, **settings
        )
        self._consumer.assign(
            [confluent_kafka.TopicPartition(*place, starts[place]) for place in self._open]
        )

    @property
    def is_done(self) -> bool:
        return not self._open

    def poll(self, timeout_s: float) -> Record | None:
        message = self._consumer.poll(timeout_s)
        if message is None:
            return None
        self._absence.end()
        place, offset = _place(message), message.offset() or 0
        if _is_end_of_partition(message):
            self._close_if(place, offset)
            return None
        self._close_if(place, offset + 1)
        return record_of(message) if self._ends is None or offset < self._ends[place] else None

    def accept(self, record: Record) -> None:
        """Nothing is kept of what has been read."""

    def close(self) -> None:
        self._consumer.close()

    def _close_if(self, place: TopicPartition, position: int) -> None:
        if self._ends is not None and position >= self._ends[place]:
            self._open.discard(place)


class GroupReader:
    """A member of a group. It starts where the group has committed, else at `reset`."""

    is_done = False

    def __init__(
        self,
        connection: Connection,
        group: str,
        topics: Sequence[str],
        reset: str,
        tell: Tell,
        **settings: Any,
    ) -> None:
        self._connection = connection
        self._absence = Absence(connection, tell, _WAITING)
        self._commit_at: float | None = None
        self._consumer = _consumer(
            connection,
            group,
            self._absence,
            auto_offset_reset=reset,
            enable_auto_offset_store=False,
            # A reader of the output may pause for as long as it likes.
            max_poll_interval_ms=_DAY_MS,
            **settings,
        )
        self._consumer.subscribe(list(topics), on_revoke=self._leave_partitions)

    def poll(self, timeout_s: float) -> Record | None:
        if self._commit_at is not None and time.monotonic() >= self._commit_at:
            self._try_to_commit()
        message = self._consumer.poll(timeout_s)
        if message is None or _is_end_of_partition(message):
            return None
        self._absence.end()
        return record_of(message)

    def accept(self, record: Record) -> None:
        place = confluent_kafka.TopicPartition(record.topic, record.partition, record.offset + 1)
        try:
            self._consumer.store_offsets(offsets=[place])
        except KafkaException as error:
            # The partition has moved on to another member, who will read the record again.
            if error.args[0].code() != KafkaError._STATE:
                raise
        if self._commit_at is None:
            self._commit_at = time.monotonic() + COMMIT_INTERVAL_S

    def close(self) -> None:
        """Raises ClusterError if what was accepted last could not be committed."""
        try:
            self._commit()
        finally:
            self._consumer.close()

    def _commit(self) -> None:
        if self._commit_at is None:
            return
        try:
            # A commit that nobody answers would hold up the close as long as a session lasts.
            self._connection.require_an_answer()
            self._consumer.commit(asynchronous=False)
        except ClusterError as error:
            raise _uncommitted(str(error)) from None
        except KafkaException as error:
            if error.args[0].code() != KafkaError._NO_OFFSET:
                raise _uncommitted(words_of(error.args[0])) from None
        self._commit_at = None

    def _try_to_commit(self) -> None:
        try:
            self._commit()
        except ClusterError:  # The cluster may come back.
            self._commit_at = time.monotonic() + COMMIT_INTERVAL_S

    def _leave_partitions(self, _consumer: Any, _partitions: Any) -> None:
        self._try_to_commit()


def _uncommitted(why: str) -> ClusterError:
    return ClusterError(f"what was read last is not committed, and will be read again: {why}")


def _consumer(connection: Connection, group: str, absence: Absence, **settings: Any) -> Consumer:
    defaults = {"group_id": group, "enable_auto_commit": False, "auto_offset_reset": "earliest"}
    config = connection.config(**(defaults | settings))
    return Consumer({**config, "error_cb": absence.note})


def _is_end_of_partition(message: Message) -> bool:
    """Raises ClusterError for any other error."""
    error = message.error()
    if error is None:
        return False
    if error.code() == KafkaError._PARTITION_EOF:
        return True
    place = f"{message.topic()}: " if message.topic() else ""
    raise ClusterError(
        f"{place}{words_of(error)}: see what is there with `kafkaesque topic list` "
        "and `kafkaesque cluster health`"
    )


def _place(message: Message) -> TopicPartition:
    return TopicPartition(message.topic() or "", _number(message.partition()))


def record_of(message: Message) -> Record:
    kind, timestamp_ms = message.timestamp()
    headers: Any = message.headers() or ()
    return Record(
        topic=message.topic() or "",
        key=_bytes(message.key()),
        value=_bytes(message.value()),
        headers=tuple((name, value) for name, value in headers),
        partition=_number(message.partition()),
        offset=_number(message.offset()),
        timestamp_ms=None if kind == confluent_kafka.TIMESTAMP_NOT_AVAILABLE else timestamp_ms,
    )


def _bytes(data: Any) -> bytes | None:
    return None if data is None else bytes(data)


def _number(number: int | None) -> int:
    return UNKNOWN if number is None else number
