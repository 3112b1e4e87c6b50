"""The topic __pipelines, read and written: where pipelines and those who watch them meet.

A board is read by `poll`, from the beginning at first, so that what each pipeline said last is
known; the topic has one partition, and is made by the first pipeline that speaks. Whoever only
looks makes nothing. One thread uses a board at a time.
Above: pipelines/runner.py, console/, cli/pipeline/. Below: pipelines.py, admin.py.
"""

import time
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, Producer, TopicPartition

from kafkaesque.client.admin import Admin
from kafkaesque.client.answers import unanswered
from kafkaesque.client.connection import ClusterError, Connection
from kafkaesque.client.pipelines import TOPIC, Command, PipelineStatus, Verb, read

_BATCH = 500
_FLUSH_S = 5.0
_SETTINGS = {
    "cleanup.policy": "compact",
    # A status a second is soon forgotten: whoever looks reads the topic from its beginning.
    "segment.ms": "600000",
    "min.cleanable.dirty.ratio": "0.1",
}


class Board:
    def __init__(self, connection: Connection) -> None:
        self.statuses: dict[str, PipelineStatus] = {}
        """What each pipeline said last."""
        self._connection = connection
        self._consumer: Any = None
        self._producer: Any = None

    def make(self) -> None:
        """The topic, if it is not there. Raises ClusterError."""
        Admin.connect(self._connection).ensure(TOPIC, 1, _SETTINGS)

    def poll(self, timeout_s: float = 0.0) -> list[PipelineStatus | Command]:
        """What was said since the last time; nothing while there is no topic, or no answer."""
        if not self._is_reading():
            return []
        said: list[PipelineStatus | Command] = []
        messages = self._consumer.consume(_BATCH, timeout_s)
        while messages:
            found = (read(each.key(), each.value()) for each in messages if each.error() is None)
            said += [each for each in found if each is not None]
            messages = self._consumer.consume(_BATCH, 0.0) if len(messages) == _BATCH else []
        self.statuses |= {each.name: each for each in said if isinstance(each, PipelineStatus)}
        return said

    def catch_up(self) -> None:
        """Poll until all is read that is there now. Raises ClusterError if nobody answers."""
        self._connection.require_an_answer()
        deadline_s = time.monotonic() + self._connection.timeout_s
        while time.monotonic() < deadline_s:
            self.poll(0.1)
            if self._consumer is None:
                return
            (place,) = self._consumer.position([TopicPartition(TOPIC, 0)])
            try:
                low, high = self._consumer.get_watermark_offsets(
                    TopicPartition(TOPIC, 0), self._connection.timeout_s
                )
            except KafkaException as error:
                raise unanswered(error, self._connection) from None
            if low == high or place.offset >= high:
                return

    def publish(self, status: PipelineStatus) -> None:
        """Does not wait for the cluster: a status that is lost is followed by the next."""
        self._write(status.name.encode(), status.to_json())
        self._producer.poll(0)

    def command(self, verb: Verb, status: PipelineStatus) -> None:
        """Tell the run of this status; it is there when this returns. Raises ClusterError."""
        command = Command(verb, status.name, status.run, time.time_ns() // 1_000_000)
        self._connection.require_an_answer()
        self._write(command.key, command.to_json())
        if self._producer.flush(_FLUSH_S):
            raise ClusterError(
                f"{status.name} could not be told to {verb}: the cluster took no record within "
                f"{_FLUSH_S:g} s; see `kafkaesque cluster health`, then try again"
            )

    def flush(self) -> None:
        if self._producer is not None:
            self._producer.flush(_FLUSH_S)

    def close(self) -> None:
        self.flush()
        if self._consumer is not None:
            self._consumer.close()
            self._consumer = None

    def _is_reading(self) -> bool:
        if self._consumer is not None:
            return True
        # Its own group, which it never joins: librdkafka wants a name.
        consumer = Consumer(
            self._connection.config(
                group_id="kafkaesque-board",
                enable_auto_commit=False,
                auto_offset_reset="earliest",
                allow_auto_create_topics=False,
                fetch_wait_max_ms=100,
            )
        )
        try:
            found = consumer.list_topics(TOPIC, self._connection.timeout_s).topics[TOPIC]
        except KafkaException:
            found = None
        if found is None or found.error is not None or not found.partitions:
            consumer.close()
            return False
        consumer.assign([TopicPartition(TOPIC, 0, OFFSET_BEGINNING)])
        self._consumer = consumer
        return True

    def _write(self, key: bytes, value: bytes) -> None:
        if self._producer is None:
            self._producer = Producer(
                self._connection.config(
                    partitioner="murmur2_random", linger_ms=0, message_timeout_ms=30_000
                )
            )
        try:
            self._producer.produce(TOPIC, value, key)
        except BufferError:
            # Nobody has answered for a long time: this status is the next one's to tell.
            self._producer.poll(0)
