"""The topics in a consumer's protocol metadata.

    int16 version | int32 count | count x (int16 length | topic) | user data, owned partitions, …

Every version begins like version 0, so only that much is read and the rest is left alone. The bytes
belong to the clients; the broker looks inside only to learn which offsets are still in use.

Above: group.py.
"""

import struct
from collections.abc import Iterable

CONSUMER_PROTOCOL_TYPE = "consumer"

_HEAD = struct.Struct(">hi")
_LENGTH = struct.Struct(">h")


def subscribed_topics(subscriptions: Iterable[bytes]) -> frozenset[str] | None:
    """The topics of all subscriptions together; None if one of them is not a consumer's."""
    topics: set[str] = set()
    try:
        for subscription in subscriptions:
            topics.update(_topics(subscription))
    except (struct.error, UnicodeDecodeError):
        return None
    return frozenset(topics)


def _topics(subscription: bytes) -> Iterable[str]:
    _, count = _HEAD.unpack_from(subscription)
    position = _HEAD.size
    for _ in range(count):
        (length,) = _LENGTH.unpack_from(subscription, position)
        position += _LENGTH.size
        name = subscription[position : position + length]
        if length < 0 or len(name) < length:
            raise struct.error("a topic name runs past the end")
        yield name.decode()
        position += length
