"""What a partition remembers of its idempotent producers, so that a retried batch is appended once.

For each producer id: its epoch and its last five batches (clients keep at most five in flight).
  a batch that is one of the five        → a duplicate: answered with its *original* offset
  the next sequence, or a new epoch at 0 → appended
  anything else                          → OUT_OF_ORDER_SEQUENCE_NUMBER
An id that is not known may start anywhere (its state has expired, or its records are deleted).
A marker, and an offset that is committed in a transaction, have no sequence: they set the epoch.
Pure: partition.py asks `check` before it appends and tells `update` after; at start the same
`update` replays the headers of the log from the last snapshot on.

A snapshot: count u32, then per producer: id i64, epoch i16, last timestamp i64, batches u8 (its
highest bit: a transaction has ended here), and per batch: base sequence i32, last sequence i32,
base offset i64, append time i64 (−1: create time).
"""

import struct
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.records.batch import BatchHeader

BATCHES_KEPT = 5
_COORDINATOR_EPOCH = 0
"""As the markers have it: one node coordinates for ever."""
_COUNT = struct.Struct(">I")
_PRODUCER = struct.Struct(">qhqB")
_BATCH = struct.Struct(">iiqq")
_HAS_ENDED = 0x80


@dataclass(frozen=True, slots=True)
class Appended:
    """A batch that is in the log: where its records begin, and when the broker stamped it, if it
    did.
    """

    base_sequence: int
    last_sequence: int
    base_offset: int
    append_time: int

    @property
    def last_offset(self) -> int:
        return self.base_offset + ((self.last_sequence - self.base_sequence) & 0x7FFFFFFF)


class Described(NamedTuple):
    """What DescribeProducers tells of one; no sequence is −1, and so is the coordinator's epoch
    until a marker has ended a transaction here.
    """

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_timestamp: int
    coordinator_epoch: int


@dataclass(slots=True)
class _Producer:
    epoch: int
    last_timestamp: int = 0
    has_ended: bool = False
    """A marker has ended a transaction of it here."""
    batches: deque[Appended] = field(default_factory=lambda: deque(maxlen=BATCHES_KEPT))


class Producers:
    """The idempotent producers of one partition."""

    def __init__(self) -> None:
        self._producers: dict[int, _Producer] = {}

    def __len__(self) -> int:
        return len(self._producers)

    def check(self, header: BatchHeader) -> Appended | None:
        """None: append it. An `Appended`: it is there already. Otherwise raises the protocol's
        error.
        """
        producer = self._producers.get(header.producer_id)
        if producer is None:
            return None
        self.check_epoch(header.producer_id, header.producer_epoch)
        if header.base_sequence < 0:
            return None
        if header.producer_epoch > producer.epoch:
            if header.base_sequence != 0:
                raise _out_of_order(header, 0)
            return None
        for batch in producer.batches:
            if batch.base_sequence == header.base_sequence and (
                batch.last_sequence == header.last_sequence
            ):
                return batch
        expected = _next_sequence(producer.batches[-1].last_sequence) if producer.batches else 0
        if header.base_sequence != expected:
            raise _out_of_order(header, expected)
        return None

    def check_epoch(self, producer_id: int, epoch: int) -> None:
        producer = self._producers.get(producer_id)
        if producer is not None and epoch < producer.epoch:
            message = f"producer epoch {epoch} is behind {producer.epoch}"
            raise KafkaError(ErrorCode.INVALID_PRODUCER_EPOCH, message)

    def update(self, header: BatchHeader, now_ms: int) -> None:
        """Note a batch that has been appended. `header` is the stamped one."""
        if header.producer_id < 0:
            return
        before = producer = self._producers.get(header.producer_id)
        if producer is None or producer.epoch != header.producer_epoch:
            producer = self._producers[header.producer_id] = _Producer(header.producer_epoch)
            producer.has_ended = before is not None and before.has_ended
        producer.last_timestamp = now_ms
        producer.has_ended |= header.is_control
        if header.base_sequence < 0:
            return
        append_time = header.max_timestamp if header.is_log_append_time else -1
        producer.batches.append(
            Appended(header.base_sequence, header.last_sequence, header.base_offset, append_time)
        )

    def last_offsets(self) -> dict[int, int]:
        """Where the last batch of each producer ends: it tells the producer's sequence."""
        return {
            producer_id: producer.batches[-1].last_offset
            for producer_id, producer in self._producers.items()
            if producer.batches
        }

    def describe(self) -> Iterator[Described]:
        """Those that there are now, one by one: they can be many."""
        for producer_id, producer in list(self._producers.items()):
            yield Described(
                producer_id,
                producer.epoch,
                producer.batches[-1].last_sequence if producer.batches else -1,
                producer.last_timestamp,
                _COORDINATOR_EPOCH if producer.has_ended else -1,
            )

    def ids(self) -> set[int]:
        return set(self._producers)

    def forget(self, producer_id: int) -> None:
        self._producers.pop(producer_id, None)

    def snapshot(self) -> bytes:
        parts = [_COUNT.pack(len(self._producers))]
        for producer_id, producer in self._producers.items():
            count = len(producer.batches) | _HAS_ENDED * producer.has_ended
            parts.append(
                _PRODUCER.pack(producer_id, producer.epoch, producer.last_timestamp, count)
            )
            parts += [
                _BATCH.pack(b.base_sequence, b.last_sequence, b.base_offset, b.append_time)
                for b in producer.batches
            ]
        return b"".join(parts)

    @classmethod
    def restore(cls, snapshot: bytes) -> "tuple[Producers, int]":
        """Read a snapshot back, and where it ends. The log guards it with a CRC, so it is whole or
        absent.
        """
        producers = cls()
        (count,) = _COUNT.unpack_from(snapshot)
        position = _COUNT.size
        for _ in range(count):
            producer_id, epoch, timestamp, batches = _PRODUCER.unpack_from(snapshot, position)
            position += _PRODUCER.size
            has_ended = bool(batches & _HAS_ENDED)
            producer = producers._producers[producer_id] = _Producer(epoch, timestamp, has_ended)
            for _ in range(batches & ~_HAS_ENDED):
                producer.batches.append(Appended(*_BATCH.unpack_from(snapshot, position)))
                position += _BATCH.size
        return producers, position


def _next_sequence(sequence: int) -> int:
    return 0 if sequence == 0x7FFFFFFF else sequence + 1


def _out_of_order(header: BatchHeader, expected: int) -> KafkaError:
    message = (
        f"producer {header.producer_id} sent sequence {header.base_sequence}, expected {expected}"
    )
    return KafkaError(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, message)
