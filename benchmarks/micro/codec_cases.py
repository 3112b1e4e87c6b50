"""Codec and batch header: what each request costs before anything is done with it."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from uuid import UUID

from benchmarks.micro.case import Case, Operation
from tests.wire.requests import batch, produce

from kafkaesque.protocol.codec import decode, encode
from kafkaesque.protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchResponse,
    PartitionData,
)
from kafkaesque.protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kafkaesque.protocol.messages.produce import ProduceRequest
from kafkaesque.records.batch import crc_matches, read_header, records, stamp

_RECORDS = batch([bytes(1024)] * 16)
_SMALL_RECORDS = bytes(batch([bytes(100)] * 100))


@asynccontextmanager
async def _ready(make: Callable[[], Operation]) -> AsyncIterator[Operation]:
    yield make()


def _decode_produce() -> Operation:
    data = memoryview(b"".join(encode(produce("orders", 0, _RECORDS), 10)))
    return lambda: decode(ProduceRequest, 10, data)


def _encode_fetch() -> Operation:
    partitions = [PartitionData(partition_index=i, records=_RECORDS) for i in range(10)]
    topic = FetchableTopicResponse(topic_id=UUID(int=7), partitions=partitions)
    response = FetchResponse(responses=[topic])
    return lambda: encode(response, 16)


def _encode_metadata() -> Operation:
    partitions = [
        MetadataResponsePartition(partition_index=i, replica_nodes=[0], isr_nodes=[0])
        for i in range(10)
    ]
    topics = [
        MetadataResponseTopic(name=f"topic-{i}", topic_id=UUID(int=i), partitions=partitions)
        for i in range(10)
    ]
    broker = MetadataResponseBroker(host="127.0.0.1", port=9092)
    response = MetadataResponse(brokers=[broker], cluster_id="c" * 22, topics=topics)
    return lambda: encode(response, 12)


def _read_header() -> Operation:
    return lambda: read_header(_RECORDS)


def _check_crc() -> Operation:
    header = read_header(_RECORDS)
    return lambda: crc_matches(_RECORDS, 0, header)


def _stamp() -> Operation:
    return lambda: stamp(_RECORDS, 0, 1234, 0)


def _decode_one_by_one() -> Operation:
    return lambda: list(records(_SMALL_RECORDS))


def _decode_at_once() -> Operation:
    from kafkaesque.records.walk import walk

    return lambda: walk(_SMALL_RECORDS, 0, read_header(_SMALL_RECORDS))


CASES = [
    Case(name, partial(_ready, make))
    for name, make in (
        ("codec: decode Produce 10, 16 KB", _decode_produce),
        ("codec: encode Fetch 16, 10 partitions", _encode_fetch),
        ("codec: encode Metadata 12, 100 partitions", _encode_metadata),
        ("batch: read header", _read_header),
        ("batch: check CRC, 16 KB", _check_crc),
        ("batch: stamp", _stamp),
        ("batch: decode 100 records, one by one", _decode_one_by_one),
        ("batch: decode 100 records, at once", _decode_at_once),
    )
]
