"""What is known of a producer, as the bytes that a snapshot of the log has of it.

    id i64, epoch i16, last timestamp i64,
    batches u8 (its highest bit: a transaction has ended here), and per batch, the last one last:
        base sequence i32, last sequence i32, base offset i64, append time i64 (−1: create time)

It stays these bytes in memory, and on its way to the process that compacts: there may be many.
"""

import struct
from collections.abc import Iterator
from typing import NamedTuple

PRODUCER = struct.Struct(">qhqB")
BATCH = struct.Struct(">iiqq")
HAS_ENDED = 0x80


class Appended(NamedTuple):
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


def appended_batches(state: bytes) -> Iterator[Appended]:
    return map(Appended._make, BATCH.iter_unpack(state[PRODUCER.size :]))


def last_batch(state: bytes) -> Appended | None:
    if len(state) == PRODUCER.size:
        return None
    return Appended._make(BATCH.unpack_from(state, len(state) - BATCH.size))


def epoch(state: bytes) -> int:
    number: int = PRODUCER.unpack_from(state)[1]
    return number


def split(states: bytes, position: int = 0) -> Iterator[tuple[int, bytes]]:
    """Each producer id and its state, of those that lie one after the other from here on."""
    while position < len(states):
        producer_id, _, _, count = PRODUCER.unpack_from(states, position)
        end = position + PRODUCER.size + (count & ~HAS_ENDED) * BATCH.size
        yield producer_id, states[position:end]
        position = end
