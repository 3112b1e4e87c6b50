"""What a partition remembers of its idempotent producers, so that a retried batch is appended once.

For each producer id: its epoch and its last five batches (clients keep at most five in flight).
  a batch that is one of the five        → a duplicate: answered with its *original* offset
  the next sequence, or a new epoch at 0 → appended
  anything else                          → OUT_OF_ORDER_SEQUENCE_NUMBER
An id that is not known may start anywhere (its state has expired, or its records are deleted).
A marker, and an offset that is committed in a transaction, have no sequence: they set the epoch.
Pure: partition.py asks `check` before it appends and tells `update` after; at start the same
`update` replays the headers of the log from the last snapshot on.

A snapshot: count u32, then the state of each producer (log/producer_state.py). In memory each
producer is these bytes, too: there may be many of them, and a snapshot is taken every few seconds.
"""

import struct
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import NamedTuple

from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.log.producer_state import (
    BATCH,
    HAS_ENDED,
    PRODUCER,
    Appended,
    appended_batches,
    last_batch,
    split,
)
from kafkaesque.records.batch import BatchHeader

BATCHES_KEPT = 5
_COORDINATOR_EPOCH = 0
"""As the markers have it: one node coordinates for ever."""
_COUNT = struct.Struct(">I")
_SEQUENCES = struct.Struct(">ii")
_OLDER_SIZE = (BATCHES_KEPT - 1) * BATCH.size


class Described(NamedTuple):
    """What DescribeProducers tells of one; no sequence is −1, and so is the coordinator's epoch
    until a marker has ended a transaction here.
    """

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_timestamp: int
    coordinator_epoch: int


class Producers:
    """The idempotent producers of one partition."""

    def __init__(self) -> None:
        self._producers: dict[int, bytes] = {}

    def __len__(self) -> int:
        return len(self._producers)

    def check(self, header: BatchHeader) -> Appended | None:
        """None: append it. An `Appended`: it is there already. Otherwise raises the protocol's
        error.
        """
        producer = self._producers.get(header.producer_id)
        if producer is None:
            return None
        _, epoch, _, _ = PRODUCER.unpack_from(producer)
        if header.producer_epoch < epoch:
            raise _fenced(header.producer_epoch, epoch)
        if header.base_sequence < 0:
            return None
        is_new_epoch = header.producer_epoch > epoch
        expected = 0 if is_new_epoch else _next_sequence(producer)
        if header.base_sequence == expected:
            return None
        if not is_new_epoch:
            for batch in appended_batches(producer):
                if batch[:2] == (header.base_sequence, header.last_sequence):
                    return batch
        raise _out_of_order(header, expected)

    def check_epoch(self, producer_id: int, epoch: int) -> None:
        producer = self._producers.get(producer_id)
        if producer is not None:
            _, current, _, _ = PRODUCER.unpack_from(producer)
            if epoch < current:
                raise _fenced(epoch, current)

    def update(self, header: BatchHeader, now_ms: int) -> None:
        """Note a batch that has been appended. `header` is the stamped one."""
        if header.producer_id < 0:
            return
        has_ended = HAS_ENDED if header.is_control else 0
        batches = b""
        if before := self._producers.get(header.producer_id):
            _, epoch, _, count = PRODUCER.unpack_from(before)
            has_ended |= count & HAS_ENDED
            if epoch == header.producer_epoch:
                batches = before[PRODUCER.size :]
        if header.base_sequence >= 0:
            append_time = header.max_timestamp if header.is_log_append_time else -1
            batches = batches[-_OLDER_SIZE:] + BATCH.pack(
                header.base_sequence, header.last_sequence, header.base_offset, append_time
            )
        count = len(batches) // BATCH.size | has_ended
        head = PRODUCER.pack(header.producer_id, header.producer_epoch, now_ms, count)
        self._producers[header.producer_id] = head + batches

    def states(self) -> Mapping[int, bytes]:
        """Those that there are now, by id, and as they are now: one call, however many."""
        return self._producers.copy()

    def describe(self) -> Iterator[Described]:
        """Those that there are now, one by one: they can be many."""
        for producer in list(self._producers.values()):
            producer_id, epoch, last_timestamp, count = PRODUCER.unpack_from(producer)
            last = last_batch(producer)
            yield Described(
                producer_id,
                epoch,
                last.last_sequence if last else -1,
                last_timestamp,
                _COORDINATOR_EPOCH if count & HAS_ENDED else -1,
            )

    def silent_ms(self, now_ms: int) -> Iterator[tuple[int, int]]:
        """Each producer, and how long ago it was heard of."""
        for producer_id, producer in self._producers.items():
            yield producer_id, now_ms - PRODUCER.unpack_from(producer)[2]

    def ids(self) -> set[int]:
        return set(self._producers)

    def forget(self, producer_id: int) -> None:
        self._producers.pop(producer_id, None)

    def snapshot(self) -> list[bytes]:
        """Those that there are now, in parts: to join them takes longer than to name them."""
        return [_COUNT.pack(len(self._producers)), *self._producers.values()]

    @classmethod
    def restore(cls, snapshot: bytes) -> "tuple[Producers, int]":
        """Read a snapshot back, and where it ends. The log guards it with a CRC, so it is whole or
        absent.
        """
        producers = cls()
        (count,) = _COUNT.unpack_from(snapshot)
        position = _COUNT.size
        for producer_id, producer in islice(split(snapshot, position), count):
            producers._producers[producer_id] = producer
            position += len(producer)
        return producers, position


def _next_sequence(producer: bytes) -> int:
    """Asked for every batch; after the last there is comes 0."""
    if len(producer) == PRODUCER.size:
        return 0
    last_sequence: int = _SEQUENCES.unpack_from(producer, len(producer) - BATCH.size)[1]
    return last_sequence + 1 & 0x7FFFFFFF


def _fenced(epoch: int, current: int) -> KafkaError:
    message = f"producer epoch {epoch} is behind {current}"
    return KafkaError(ErrorCode.INVALID_PRODUCER_EPOCH, message)


def _out_of_order(header: BatchHeader, expected: int) -> KafkaError:
    message = (
        f"producer {header.producer_id} sent sequence {header.base_sequence}, expected {expected}"
    )
    return KafkaError(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, message)
