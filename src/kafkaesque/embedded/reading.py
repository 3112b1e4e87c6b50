"""Records of a partition, decoded, for readers in this process: Fetch leaves that to clients."""

from kafkaesque.broker.disk import Disk
from kafkaesque.broker.partition import Partition
from kafkaesque.records.batch import Record, batches, records

_PAGE_BYTES = 64 << 10


async def page(disk: Disk, partition: Partition, offset: int) -> list[Record]:
    """Records from `offset` on, of a batch at least; none where nothing is visible there."""
    while offset < partition.high_watermark:
        found = partition.read(offset, _PAGE_BYTES, partition.high_watermark)
        data = found.read_nowait()
        if data is None:
            data = await disk.run(found.read)
        decoded: list[Record] = []
        for position, header in batches(data):
            if not header.is_control:
                decoded += (r for r in records(data, position) if r.offset >= offset)
            following = header.next_offset
        if decoded:
            return decoded
        offset = following
    return []
