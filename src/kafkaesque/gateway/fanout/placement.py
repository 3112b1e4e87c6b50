"""Where a topic's producers put a key: learned from the records seen, never assumed.

Java, rpk and this project hash keys with murmur2, librdkafka by default with CRC-32. A topic's
placement is unknown until enough different keys have shown that one of the two explains them all.
From then on a key has one partition, until a record contradicts: somebody else writes here, too,
and no partition can be left out. Empty keys have no place: librdkafka scatters them. Pure.
Above: stream.py.
"""

from collections.abc import Callable
from typing import TypeAlias
from zlib import crc32

from kafkaesque.records.murmur2 import partition_for_key

Partitioner: TypeAlias = Callable[[bytes, int], int]

_ENOUGH_KEYS = 16
_MOST_KEYS_REMEMBERED = 100_000


def _crc32_partition(key: bytes, partitions: int) -> int:
    return crc32(key) % partitions


PARTITIONERS: dict[str, Partitioner] = {"murmur2": partition_for_key, "crc32": _crc32_partition}


class Placement:
    """Of one topic with this many partitions. A topic that grows gets a new one."""

    __slots__ = ("_candidates", "_keys", "_partitions", "seen")

    def __init__(self, partitions: int) -> None:
        self._partitions = partitions
        self._candidates = dict(PARTITIONERS)
        self._keys: set[bytes] = set()
        self.seen: dict[bytes | None, int] = {}
        """Where keys were seen last: whoever finds one there again need not `observe` it."""

    @property
    def name(self) -> str | None:
        """The partitioner that all producers use; None if it is not known, or there is none."""
        if len(self._candidates) == 1 and len(self._keys) >= _ENOUGH_KEYS:
            return next(iter(self._candidates))
        return None

    @property
    def is_contradicted(self) -> bool:
        return not self._candidates

    def partition_of(self, key: bytes) -> int | None:
        """The only partition that the key can be in, if that is known."""
        if self.name is None or not key:
            return None
        (partitioner,) = self._candidates.values()
        return partitioner(key, self._partitions)

    def observe(self, key: bytes | None, partition: int) -> bool:
        """A record was seen: does that change what is known?"""
        if not key or not self._candidates or self.seen.get(key) == partition:
            return False
        before = self.name
        for name, partitioner in list(self._candidates.items()):
            if partitioner(key, self._partitions) != partition:
                del self._candidates[name]
        self._remember(key, partition)
        return self.name != before or self.is_contradicted

    def _remember(self, key: bytes, partition: int) -> None:
        if len(self._keys) < _ENOUGH_KEYS:
            self._keys.add(key)
        if len(self.seen) >= _MOST_KEYS_REMEMBERED:
            self.seen.clear()
        self.seen[key] = partition
