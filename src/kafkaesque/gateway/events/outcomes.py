"""What became of an event that was to be written: where it lies, or why it does not.

Plain data, with an HTTP status for each error. Above: writer.py, write.py.
"""

from typing import Any, NamedTuple, TypeAlias

from confluent_kafka import KafkaError

from kafkaesque.client.answers import error_code, words_of
from kafkaesque.client.connection import Connection


class Written(NamedTuple):
    partition: int
    offset: int


class Refused(NamedTuple):
    """`where` is the line of the input, the number of the event, the field, if it has one."""

    status: int
    error: str
    message: str
    where: dict[str, Any] | None = None


Outcome: TypeAlias = Written | Refused

_SILENCE = {KafkaError._MSG_TIMED_OUT, KafkaError._TIMED_OUT, KafkaError._ALL_BROKERS_DOWN}
_UNKNOWN = {KafkaError._UNKNOWN_PARTITION, KafkaError._UNKNOWN_TOPIC}
_STATUSES = {
    KafkaError.MSG_SIZE_TOO_LARGE: 413,
    KafkaError.INVALID_RECORD: 400,
    KafkaError._UNKNOWN_PARTITION: 404,
    KafkaError.INVALID_TIMESTAMP: 400,
    KafkaError._UNKNOWN_TOPIC: 404,
    KafkaError.UNKNOWN_TOPIC_OR_PART: 404,
    KafkaError.TOPIC_AUTHORIZATION_FAILED: 403,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED: 403,
}
_CURES = {
    KafkaError.MSG_SIZE_TOO_LARGE: "raise the topic's max.message.bytes",
    KafkaError.INVALID_RECORD: "in a compacted topic every event needs a key",
    KafkaError._UNKNOWN_PARTITION: "GET /topics/{topic} tells which partitions there are",
    KafkaError._UNKNOWN_TOPIC: "create it with POST /topics",
    KafkaError.UNKNOWN_TOPIC_OR_PART: "create it with POST /topics",
}
BAD_GATEWAY = 502
GATEWAY_TIMEOUT = 504


def refused(error: KafkaError, topic: str, connection: Connection) -> Refused:
    code = error.code()
    if code in _SILENCE:
        return Refused(
            GATEWAY_TIMEOUT,
            "REQUEST_TIMED_OUT",
            f"no answer from {connection.bootstrap_servers} within {connection.timeout_s:g} s: "
            "the event may or may not be written; look before sending it again",
        )
    # What librdkafka says itself becomes the nearest of Kafka's words.
    name = "UNKNOWN_TOPIC_OR_PARTITION" if code in _UNKNOWN else error_code(code).name
    cure = _CURES.get(code, "").format(topic=topic)
    words = words_of(error).rpartition("Local: ")[2]
    message = f"topic {topic}: {words}" + (f"; {cure}" if cure else "")
    return Refused(_STATUSES.get(code, BAD_GATEWAY), name, message)


def fields(outcome: Outcome) -> dict[str, Any]:
    """As the client is told."""
    if isinstance(outcome, Written):
        return {"partition": outcome.partition, "offset": outcome.offset}
    return {"error": outcome.error, "message": outcome.message, **(outcome.where or {})}


class Tally:
    """What many outcomes come to: the first refusal, and whether anything was written."""

    def __init__(self) -> None:
        self._first: Refused | None = None
        self._any_written = False
        self.failed = 0

    def note(self, outcome: Outcome) -> None:
        if isinstance(outcome, Written):
            self._any_written = True
        else:
            self._first = self._first or outcome
            self.failed += 1

    @property
    def status(self) -> int:
        """200 if all are written, 207 if some are, else what the first one says."""
        if self._first is None:
            return 200
        return 207 if self._any_written else self._first.status
