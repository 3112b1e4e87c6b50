"""Requests that tests make again and again, with the parts that matter as arguments.

`produce_answer` is what a response says to such a request. client.py sends them.
"""

from collections.abc import Sequence

from kafkaesque.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from kafkaesque.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafkaesque.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from kafkaesque.records.batch import Codec, Record, new_batch
from kafkaesque.types import Buffer

ALL = -1
"""acks=all"""


def batch(
    values: Sequence[bytes],
    *,
    timestamp: int = 1_700_000_000_000,
    codec: Codec = Codec.NONE,
    producer: tuple[int, int, int] = (-1, -1, -1),
    control: bool = False,
) -> bytearray:
    """A batch of records with these values; `producer` is (id, epoch, base sequence).

    Without a `timestamp` the records are years old: retention, where it runs, removes them.
    """
    producer_id, epoch, sequence = producer
    return new_batch(
        [Record(i, timestamp, None, value, ()) for i, value in enumerate(values)],
        codec=codec,
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
        control=control,
    )


def produce(topic: str, partition: int, records: Buffer, acks: int = ALL) -> ProduceRequest:
    data = PartitionProduceData(index=partition, records=records)
    return ProduceRequest(
        acks=acks,
        timeout_ms=10_000,
        topic_data=[TopicProduceData(name=topic, partition_data=[data])],
    )


def produce_answer(response: ProduceResponse) -> PartitionProduceResponse:
    """What a request of `produce` was answered."""
    return response.responses[0].partition_responses[0]


def fetch(
    topic: str, partition: int, offset: int, *, max_wait_ms: int = 0, max_bytes: int = 1 << 20
) -> FetchRequest:
    wanted = FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=max_bytes)
    return FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=1,
        max_bytes=max_bytes,
        topics=[FetchTopic(topic=topic, partitions=[wanted])],
    )


def create_topic(name: str, partitions: int, **configs: str) -> CreateTopicsRequest:
    """Settings are keywords with underscores: segment_bytes="1024"."""
    topic = CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=1,
        configs=[
            CreatableTopicConfig(name=key.replace("_", "."), value=value)
            for key, value in configs.items()
        ],
    )
    return CreateTopicsRequest(topics=[topic], timeout_ms=10_000)
