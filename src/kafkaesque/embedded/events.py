"""What the embedded classes hand out, and the error they raise for an offset that is not there."""

from dataclasses import dataclass
from typing import Any

from kafkaesque.embedded.values import decode_key, decode_value
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.records.record import Record
from kafkaesque.types import TopicPartition


@dataclass(frozen=True, slots=True)
class Event:
    """One event and where it lies. The timestamp is in milliseconds since 1970."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: str | bytes | None
    value: Any

    @classmethod
    def of(cls, name: TopicPartition, record: Record) -> "Event":
        return cls(
            name.topic,
            name.partition,
            record.offset,
            record.timestamp,
            decode_key(record.key),
            decode_value(record.value, record.headers),
        )


class OffsetOutOfRangeError(KafkaError, IndexError):
    """No event is at that offset. `earliest` is the first offset that there is, or will be."""

    def __init__(self, message: str, earliest: int) -> None:
        super().__init__(ErrorCode.OFFSET_OUT_OF_RANGE, message)
        self.earliest = earliest
