"""A read_committed reader on raw fetches: what it is sent, less what it is told was aborted.

A fetch returns whole batches up to the last stable offset, and with them the transactions that were
aborted there, by producer and first offset. From there on the producer's batches do not count, up
to the marker that ends them. Above: test_transaction_power_cuts.py. Below: history.py.
"""

from tests.crash.history import Element
from tests.wire.requests import fetch
from tests.wire.transactional import Caller

from kafkaesque.errors import ErrorCode
from kafkaesque.protocol.messages.fetch import FetchResponse, PartitionData
from kafkaesque.records.batch import batches, records
from kafkaesque.records.control import Marker, read_marker

_READ_COMMITTED = 1


class CommittedReader:
    """Of one partition, from its start on."""

    def __init__(self, client: Caller, topic: str, partition: int) -> None:
        self.position = 0
        self.high_watermark = 0
        self._client = client
        self._topic = topic
        self._partition = partition

    def read(self) -> list[Element]:
        """What comes next. Nothing: it is at the last stable offset."""
        request = fetch(self._topic, self._partition, self.position)
        request.isolation_level = _READ_COMMITTED
        answer = self._client.call(request, FetchResponse, 11)
        data = answer.responses[0].partitions[0]
        if data.error_code:
            raise ConnectionRefusedError(ErrorCode(data.error_code).name)
        self.high_watermark = data.high_watermark
        return list(self._committed(data))

    def read_to_the_end(self) -> list[Element]:
        found: list[Element] = []
        before = -1
        while before < self.position:
            before = self.position
            found += self.read()
        return found

    def _committed(self, data: PartitionData) -> list[Element]:
        aborted = sorted(data.aborted_transactions or (), key=lambda each: each.first_offset)
        ignored: set[int] = set()
        found: list[Element] = []
        content = data.records or b""
        for at, header in batches(content):
            while aborted and aborted[0].first_offset <= header.last_offset:
                ignored.add(aborted.pop(0).producer_id)
            if header.is_control:
                if read_marker(content, at) is Marker.ABORT:
                    ignored.discard(header.producer_id)
            elif not (header.is_transactional and header.producer_id in ignored):
                found += [
                    Element(record.offset, (record.value or b"").decode())
                    for record in records(content, at)
                    if record.offset >= self.position
                ]
            self.position = header.next_offset
        return found
