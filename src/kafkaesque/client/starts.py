"""Where a consumer begins in each partition, and what lies there.

    "earliest", "latest"    the first event there is; the next that will come
    12                      that offset, in every partition
    {0: 12, 1: 7}           those offsets; a partition that is not named begins at its earliest.
                            A key is a partition's number, or (topic, number)
    Timestamp(ms), datetime the first event of that time or later; the end where there is none

Above: assignment.py. Below: confluent-kafka.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, TypeAlias

import confluent_kafka

from kafkaesque.client.moments import Timestamp, milliseconds
from kafkaesque.types import TopicPartition

EARLIEST: int = confluent_kafka.OFFSET_BEGINNING
LATEST: int = confluent_kafka.OFFSET_END


Start: TypeAlias = str | int | Mapping[Any, int] | Timestamp | datetime


def check_start(start: Start) -> None:
    """Raises ValueError if it is none of these."""
    if isinstance(start, str) and start not in ("earliest", "latest"):
        raise ValueError(f"start={start!r} is neither 'earliest' nor 'latest'")
    if isinstance(start, int) and start < 0:
        raise ValueError(f"start={start}: an offset is 0 or more; for a time use Timestamp(ms)")
    if not isinstance(start, str | int | Mapping | Timestamp | datetime):
        raise ValueError(f"start={start!r}: use earliest, latest, offsets, Timestamp or datetime")


def resolve(
    client: Any, start: Start, places: Sequence[TopicPartition], timeout_s: float
) -> dict[TopicPartition, int]:
    """The offset in each partition; EARLIEST is for librdkafka to find. Raises KafkaException."""
    if start == "latest":
        return {place: watermarks(client, place, timeout_s)[1] for place in places}
    if isinstance(start, Timestamp | datetime):
        return _at_time(client, start, places, timeout_s)
    return {place: _named(start, place) for place in places}


def watermarks(client: Any, place: TopicPartition, timeout_s: float) -> tuple[int, int]:
    """The first offset there is, and the next that will be written."""
    asked = confluent_kafka.TopicPartition(*place)
    low, high = client.get_watermark_offsets(asked, timeout_s)
    return low, high


def _named(start: Any, place: TopicPartition) -> int:
    if isinstance(start, Mapping):
        offset: int = start.get(place, start.get(place.partition, EARLIEST))
        return offset
    return EARLIEST if start == "earliest" else int(start)


def _at_time(
    client: Any, start: Timestamp | datetime, places: Sequence[TopicPartition], timeout_s: float
) -> dict[TopicPartition, int]:
    moment = milliseconds(start)
    asked = [confluent_kafka.TopicPartition(*place, moment) for place in places]
    found = client.offsets_for_times(asked, timeout_s) if asked else []
    offsets = {TopicPartition(each.topic, each.partition): each.offset for each in found}
    return {
        place: offset if offset >= 0 else watermarks(client, place, timeout_s)[1]
        for place, offset in offsets.items()
    }
