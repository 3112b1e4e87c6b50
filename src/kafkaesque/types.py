"""Names that every part shares: where a record lies, what a clock is, what counts as bytes."""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

Buffer: TypeAlias = bytes | bytearray | memoryview
"""Bytes that are looked at, not owned. A memoryview is always of format "B"."""

Clock: TypeAlias = Callable[[], int]
"""Wall time in milliseconds since 1970, unless something else is said. Passed in, so that tests own
the time.
"""


class Moment(NamedTuple):
    """One moment by two clocks. Deadlines go by the one that only goes forward; what is stored or
    told goes by the wall's, which can be set back.
    """

    monotonic_ms: int
    wall_ms: int


class AbortedTransaction(NamedTuple):
    """Its first record in a partition, and the marker there that ends it."""

    producer_id: int
    first_offset: int
    last_offset: int


class TopicPartition(NamedTuple):
    """The name of a partition: its directory on disk is `<topic>-<partition>`."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"
