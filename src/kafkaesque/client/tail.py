"""The newest records of a topic as they come: `tail -f` for all its partitions.

A thread of its own reads, from now on or from the last `last` records on, and hands over what came
in batches. It is in no group and commits nothing, so nobody else notices. A broker that goes away
and comes back is waited for; records that were trimmed meanwhile are passed over. `deliver` and
`fail` are called in that thread. Above: console/. Below: connection.py, reader.py.
"""

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from kafkaesque.client.connection import Connection
from kafkaesque.client.reader import record_of
from kafkaesque.client.record import Record

BATCH = 1000
POLL_S = 0.1
RETRY_S = 0.5
BACKLOG_TIMEOUT_S = 5.0

# What waiting does not mend.
_FINAL = {
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError.TOPIC_EXCEPTION,
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError._AUTHENTICATION,
}


Deliver: TypeAlias = Callable[[Sequence[Record]], None]
Fail: TypeAlias = Callable[[str], None]


class Tail:
    """Reads from `start` to `stop`; for one more time, make one more."""

    def __init__(
        self, connection: Connection, topic: str, last: int, deliver: Deliver, fail: Fail
    ) -> None:
        self._connection = connection
        self._topic = topic
        self._last = last
        self._deliver = deliver
        self._fail = fail
        self._stopped = threading.Event()
        self._delivering = threading.Lock()
        self._thread = threading.Thread(target=self._run, name=f"tail of {topic}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Nothing is delivered from now on. The thread ends soon; `join` waits for that."""
        with self._delivering:
            self._stopped.set()

    def join(self, timeout_s: float) -> None:
        self._thread.join(timeout_s)

    def _run(self) -> None:
        consumer = _consumer(self._connection)
        try:
            self._read(consumer)
        except KafkaException as error:
            self._give_up(f"{self._topic} cannot be read ({error.args[0].str()})")
        finally:
            consumer.close()

    def _read(self, consumer: Any) -> None:
        ends = self._assign_in_the_end(consumer)
        if self._last:
            self._hand_over(self._backlog(consumer, ends))
        while not self._stopped.is_set():
            self._hand_over(_consume(consumer))

    def _hand_over(self, records: Sequence[Record]) -> None:
        with self._delivering:
            if records and not self._stopped.is_set():
                self._deliver(records)

    def _give_up(self, problem: str) -> None:
        with self._delivering:
            if not self._stopped.is_set():
                self._fail(problem)

    def _assign_in_the_end(self, consumer: Any) -> dict[int, int]:
        """A broker that does not answer may do so later."""
        while not self._stopped.is_set():
            try:
                return self._assign(consumer)
            except KafkaException as error:
                if error.args[0].code() in _FINAL:
                    raise
                self._stopped.wait(RETRY_S)
        return {}

    def _assign(self, consumer: Any) -> dict[int, int]:
        """Begin `last` records before the end of each partition: the ends that are not reached."""
        timeout_s = self._connection.timeout_s
        found = consumer.list_topics(self._topic, timeout_s).topics[self._topic]
        if found.error is not None:
            raise KafkaException(found.error)
        starts, ends = [], {}
        for number in found.partitions:
            place = TopicPartition(self._topic, number)
            low, high = consumer.get_watermark_offsets(place, timeout_s)
            place.offset = max(low, high - self._last)
            starts.append(place)
            if place.offset < high:
                ends[number] = high
        consumer.assign(starts)
        return ends

    def _backlog(self, consumer: Any, ends: dict[int, int]) -> list[Record]:
        """The newest of what was there before. Partitions come one after the other: read all."""
        # Offsets may be missing at the end of a partition (control records): a deadline, too.
        deadline = time.monotonic() + BACKLOG_TIMEOUT_S
        newest: list[Record] = []
        while ends and not self._stopped.is_set() and time.monotonic() < deadline:
            records = _consume(consumer)
            for record in records:
                if record.offset + 1 >= ends.get(record.partition, 0):
                    ends.pop(record.partition, None)
            newest = sorted([*newest, *records], key=_moment)[-self._last :]
        return newest


def _moment(record: Record) -> int:
    return record.timestamp_ms or 0


def _consumer(connection: Connection) -> Any:
    return Consumer(
        connection.config(
            # librdkafka wants a name even from a reader that joins no group.
            group_id="kafkaesque-tail",
            enable_auto_commit=False,
            enable_auto_offset_store=False,
            auto_offset_reset="earliest",
            fetch_wait_max_ms=100,
            queued_max_messages_kbytes=16384,
            reconnect_backoff_max_ms=1000,
        )
    )


def _consume(consumer: Any) -> list[Record]:
    records = []
    for message in consumer.consume(BATCH, POLL_S):
        error = message.error()
        if error is None:
            records.append(record_of(message))
        elif error.code() in _FINAL:
            raise KafkaException(error)
    return records
