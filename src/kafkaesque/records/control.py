"""The marker that ends a transaction in a partition: a control batch of one record.

    key    version i16 (0) | type i16: 0 abort, 1 commit
    value  version i16 (0) | coordinator epoch i32

It carries the producer's id and epoch in the batch header, and no sequence. Consumers skip it.
Above: broker/partition.py. Below: batch.py.
"""

import struct
from enum import Enum

from kafkaesque.records.batch import Record, new_batch, records
from kafkaesque.types import Buffer

_KEY = struct.Struct(">hh")
_VALUE = struct.Struct(">hi")


class Marker(Enum):
    ABORT = 0
    COMMIT = 1


def new_marker(
    base_offset: int,
    producer_id: int,
    producer_epoch: int,
    marker: Marker,
    timestamp_ms: int,
    coordinator_epoch: int = 0,
) -> bytearray:
    key = _KEY.pack(0, marker.value)
    value = _VALUE.pack(0, coordinator_epoch)
    return new_batch(
        [Record(base_offset, timestamp_ms, key, value)],
        base_offset=base_offset,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        transactional=True,
        control=True,
    )


def read_marker(batch: Buffer, position: int = 0) -> Marker | None:
    """How a control batch ends its transaction. None: it is about something else."""
    for record in records(batch, position):
        if record.key is not None and len(record.key) >= _KEY.size:
            kind = _KEY.unpack_from(record.key)[1]
            return Marker(kind) if kind in (Marker.ABORT.value, Marker.COMMIT.value) else None
    return None
