"""Records of a partition, decoded, for readers in this process: Fetch leaves that to clients."""

from typing import NamedTuple

from kafkaesque.broker.partition import Partition
from kafkaesque.event import TimestampType
from kafkaesque.records.batch import Record, batches, records

_PAGE_BYTES = 64 << 10


class Found(NamedTuple):
    """A record, and what its batch says about its timestamp."""

    record: Record
    timestamp_type: TimestampType


async def page(partition: Partition, offset: int) -> list[Found]:
    """Records from `offset` on, of a batch at least; none where nothing is visible there. Raises
    KafkaError while the partition is offline.
    """
    partition.check_online()
    while offset < partition.high_watermark:
        found = partition.read(offset, _PAGE_BYTES, partition.high_watermark)
        data = found.read_nowait()
        if data is None:
            data = await partition.cold_reads.run(found.read, is_patient=True)
        decoded: list[Found] = []
        for position, header in batches(data):
            if not header.is_control:
                kind: TimestampType = "append" if header.is_log_append_time else "create"
                decoded += (Found(r, kind) for r in records(data, position) if r.offset >= offset)
            following = header.next_offset
        if decoded:
            return decoded
        offset = following
    return []
