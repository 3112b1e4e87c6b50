"""What consumers of a group tell each other: the topics they want, the partitions they get.

    subscription   int16 version | int32 count | count x (int16 length | topic) | user data, …
    assignment     int16 version | int32 count | count x (int16 length | topic | int32 count |
                   count x int32 partition) | user data

Every version begins like version 0, so only that much is read and the rest is left alone. The bytes
belong to the clients; the broker looks inside only to learn which offsets are still in use.

Above: group.py; the embedded members, which are clients.
"""

import struct
from collections.abc import Iterable
from itertools import groupby

from kafkaesque.types import TopicPartition

CONSUMER_PROTOCOL_TYPE = "consumer"

_HEAD = struct.Struct(">hi")
_LENGTH = struct.Struct(">h")
_COUNT = struct.Struct(">i")
_NO_USER_DATA = _COUNT.pack(-1)


def subscribed_topics(subscriptions: Iterable[bytes]) -> frozenset[str] | None:
    """The topics of all subscriptions together; None if one of them is not a consumer's."""
    topics: set[str] = set()
    try:
        for subscription in subscriptions:
            topics.update(_topics(subscription))
    except (struct.error, UnicodeDecodeError):
        return None
    return frozenset(topics)


def encode_subscription(topics: Iterable[str], user_data: bytes | None = None) -> bytes:
    names = [_encode_name(topic) for topic in topics]
    rest = _NO_USER_DATA if user_data is None else _COUNT.pack(len(user_data)) + user_data
    return _HEAD.pack(0, len(names)) + b"".join(names) + rest


def encode_assignment(partitions: Iterable[TopicPartition]) -> bytes:
    parts = []
    for topic, names in groupby(sorted(partitions), key=lambda name: name.topic):
        indexes = [name.partition for name in names]
        body = struct.pack(f">i{len(indexes)}i", len(indexes), *indexes)
        parts.append(_encode_name(topic) + body)
    return _HEAD.pack(0, len(parts)) + b"".join(parts) + _NO_USER_DATA


def decode_assignment(data: bytes) -> list[TopicPartition]:
    """Raises struct.error or UnicodeDecodeError where it is not a consumer's. Nothing: nothing."""
    if not data:
        return []
    _, count = _HEAD.unpack_from(data)
    position = _HEAD.size
    found = []
    for _ in range(count):
        topic, position = _decode_name(data, position)
        (size,) = _COUNT.unpack_from(data, position)
        position += _COUNT.size
        indexes = struct.unpack_from(f">{max(size, 0)}i", data, position)
        position += 4 * len(indexes)
        found += [TopicPartition(topic, index) for index in indexes]
    return found


def _topics(subscription: bytes) -> Iterable[str]:
    _, count = _HEAD.unpack_from(subscription)
    position = _HEAD.size
    for _ in range(count):
        topic, position = _decode_name(subscription, position)
        yield topic


def _encode_name(topic: str) -> bytes:
    name = topic.encode()
    return _LENGTH.pack(len(name)) + name


def _decode_name(data: bytes, position: int) -> tuple[str, int]:
    (length,) = _LENGTH.unpack_from(data, position)
    position += _LENGTH.size
    name = data[position : position + length]
    if length < 0 or len(name) < length:
        raise struct.error("a topic name runs past the end")
    return name.decode(), position + length
