"""What the embedded classes hand out, and the error they raise for an offset that is not there.

Above: node.py, member.py, bounds.py. Below: reading.py, which finds the records; values.py.
"""

from kafkaesque.embedded.reading import Found
from kafkaesque.embedded.values import decode_key, decode_value
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.event import Event
from kafkaesque.types import TopicPartition


def event_of(name: TopicPartition, found: Found) -> Event:
    record = found.record
    return Event(
        name.topic,
        name.partition,
        record.offset,
        record.timestamp,
        decode_key(record.key),
        decode_value(record.value, record.headers),
        list(record.headers),
        found.timestamp_type,
    )


class OffsetOutOfRangeError(KafkaError, IndexError):
    """No event is at that offset. `earliest` is the first offset that there is, or will be."""

    def __init__(self, message: str, earliest: int) -> None:
        super().__init__(ErrorCode.OFFSET_OUT_OF_RANGE, message)
        self.earliest = earliest
