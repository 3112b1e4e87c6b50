"""Batches whose records carry labels: made here, and read here."""

from collections.abc import Iterator, Sequence

from tests.simulation.model.records import Key
from tests.wire.requests import ALL

from kafkaesque.protocol.messages.fetch import PartitionData
from kafkaesque.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafkaesque.records.batch import Record, batches, new_batch, records
from kafkaesque.records.control import Marker, read_marker

_LABEL = "label"
NO_PRODUCER = (-1, -1, -1)


def labelled_batch(
    labels: Sequence[int],
    record_key: bytes | None,
    value: bytes | None,
    timestamp: int,
    producer: tuple[int, int, int] = NO_PRODUCER,
    transactional: bool = False,
) -> bytearray:
    producer_id, epoch, sequence = producer
    return new_batch(
        [
            Record(i, timestamp, record_key, value, ((_LABEL, b"%06d" % label),))
            for i, label in enumerate(labels)
        ],
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
        transactional=transactional,
    )


def produce_request(
    data: dict[Key, bytearray], acks: int = ALL, transactional_id: str | None = None
) -> ProduceRequest:
    return ProduceRequest(
        transactional_id=transactional_id,
        acks=acks,
        timeout_ms=10_000,
        topic_data=[
            TopicProduceData(
                topic_id=topic_id,
                partition_data=[PartitionProduceData(index=index, records=bytearray(batch))],
            )
            for (topic_id, index), batch in data.items()
        ],
    )


def labels(data: bytes) -> Iterator[tuple[int, int]]:
    """(offset, label) of every record."""
    for position, header in batches(data):
        if not header.is_control:
            for record in records(data, position):
                yield record.offset, _label(record)


def committed_labels(answer: PartitionData) -> Iterator[tuple[int, int]]:
    """The same for a reader of committed records, who leaves out what was aborted."""
    aborted = sorted((a.first_offset, a.producer_id) for a in answer.aborted_transactions or ())
    hidden: set[int] = set()
    data = bytes(answer.records or b"")
    for position, header in batches(data):
        while aborted and aborted[0][0] <= header.last_offset:
            hidden.add(aborted.pop(0)[1])
        if header.is_control:
            if read_marker(data, position) is Marker.ABORT:
                hidden.discard(header.producer_id)
        elif not (header.is_transactional and header.producer_id in hidden):
            for record in records(data, position):
                yield record.offset, _label(record)


def gaps(data: bytes, position: int) -> Iterator[int]:
    """Where the next batch is beyond the offset that follows."""
    for _, header in batches(data):
        if header.base_offset > position:
            yield position
        position = header.next_offset


def next_offset(data: bytes, otherwise: int) -> int:
    for _, header in batches(data):
        otherwise = header.next_offset
    return otherwise


def _label(record: Record) -> int:
    return int(dict(record.headers)[_LABEL] or b"0")
