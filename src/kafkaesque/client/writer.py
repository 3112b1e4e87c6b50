"""Records on their way to a cluster: keys are placed with murmur2, as Java's clients place them.

`send` returns at once; `delivered` is called, in order per partition, with each record as the
cluster has taken it: its partition, offset and time. What is refused is raised by the next `send`
or by `finish`. Above: cli/topic/produce.py. Below: connection.py, answers.py.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from kafkaesque.client.answers import unanswered, words_of
from kafkaesque.client.connection import ClusterError, Connection
from kafkaesque.client.record import UNKNOWN, Record

_CURES = {
    KafkaError.MSG_SIZE_TOO_LARGE: "raise it with "
    "`kafkaesque topic alter-config {topic} --set max.message.bytes=…`",
    KafkaError.INVALID_RECORD: "in a compacted topic every record needs a key: give --key",
    KafkaError._UNKNOWN_PARTITION: "see which partitions there are with "
    "`kafkaesque topic describe {topic}`",
    KafkaError._UNKNOWN_TOPIC: "make it with `kafkaesque topic create {topic}`",
}
_SEE = "see how it is with `kafkaesque topic describe {topic}` and `kafkaesque cluster health`"


class Writer:
    def __init__(
        self, connection: Connection, delivered: Callable[[Record], None], **settings: Any
    ) -> None:
        self._connection = connection
        self._delivered = delivered
        self._failure: ClusterError | None = None
        self._producer = Producer(
            connection.config(
                partitioner="murmur2_random",
                delivery_timeout_ms=int(connection.timeout_s * 1000),
                linger_ms=0,
                # The broker knows what is too large for its topic.
                message_max_bytes=1_000_000_000,
                **settings,
            )
        )

    def send(self, record: Record) -> None:
        self._raise_failure()
        while True:
            try:
                self._producer.produce(
                    record.topic,
                    record.value,
                    record.key,
                    partition=record.partition,
                    headers=list(record.headers),
                    on_delivery=lambda error, message: self._note(record, error, message),
                    timestamp=record.timestamp_ms or 0,
                )
            except BufferError:  # The queue is full.
                self._producer.poll(0.1)
            except KafkaException as error:
                raise self._refused(record, error.args[0]) from None
            else:
                break
        self._producer.poll(0)

    def finish(self) -> None:
        """Wait until everything has been taken or refused."""
        while self._producer.flush(1.0):
            pass
        self._raise_failure()

    def _note(self, record: Record, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self._failure = self._failure or self._refused(record, error)
            return
        _, timestamp_ms = message.timestamp()
        partition, offset = message.partition(), message.offset()
        self._delivered(
            replace(
                record,
                partition=UNKNOWN if partition is None else partition,
                offset=UNKNOWN if offset is None or offset < 0 else offset,
                timestamp_ms=timestamp_ms,
            )
        )

    def _refused(self, record: Record, error: KafkaError) -> ClusterError:
        if error.code() in (KafkaError._MSG_TIMED_OUT, KafkaError._TIMED_OUT):
            return unanswered(KafkaException(error), self._connection)
        cure = _CURES.get(error.code(), _SEE).format(topic=record.topic)
        return ClusterError(f"topic {record.topic} took no record: {words_of(error)}; {cure}")

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure
