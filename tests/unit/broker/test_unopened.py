"""A partition that a start could not open has an empty log in its place. Nobody may be told that it
is empty: a consumer would take that for truncation.
"""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.unit.broker.brokers import (
    PathFiles,
    call,
    new_topic,
    with_broker,
    with_unopened,
    write,
)
from tests.unit.broker.state_logs import Now

from kafkaesque.broker.apis import APIS
from kafkaesque.broker.broker import Broker
from kafkaesque.broker.lag import group_metrics
from kafkaesque.broker.partition import LEADER_EPOCH, Partition
from kafkaesque.errors import ErrorCode
from kafkaesque.groups.offsets import CommittedOffset
from kafkaesque.metrics import exposition
from kafkaesque.protocol.messages import MESSAGES
from kafkaesque.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from kafkaesque.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from kafkaesque.protocol.messages.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
)
from kafkaesque.protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest
from kafkaesque.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafkaesque.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from kafkaesque.protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from kafkaesque.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafkaesque.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from kafkaesque.protocol.schema import schema_of
from kafkaesque.records.batch import Record, new_batch
from kafkaesque.types import TopicPartition

WHOSE = 7, 0
PARTITION = TopicPartition("b", 0)
BATCH = new_batch([Record(0, 0, b"key", b"value")])

REQUESTS: dict[str, tuple[Any, int]] = {
    "Produce": (
        ProduceRequest(
            acks=-1,
            topic_data=[
                TopicProduceData(
                    name="b", partition_data=[PartitionProduceData(index=0, records=BATCH)]
                )
            ],
        ),
        9,
    ),
    "Fetch": (
        FetchRequest(
            topics=[FetchTopic(topic="b", partitions=[FetchPartition(partition_max_bytes=1000)])]
        ),
        12,
    ),
    "ListOffsets": (
        ListOffsetsRequest(
            topics=[ListOffsetsTopic(name="b", partitions=[ListOffsetsPartition(timestamp=-1)])]
        ),
        7,
    ),
    "DeleteRecords": (
        DeleteRecordsRequest(
            topics=[DeleteRecordsTopic(name="b", partitions=[DeleteRecordsPartition(offset=-1)])]
        ),
        2,
    ),
    "OffsetForLeaderEpoch": (
        OffsetForLeaderEpochRequest(
            topics=[
                OffsetForLeaderTopic(
                    topic="b", partitions=[OffsetForLeaderPartition(leader_epoch=LEADER_EPOCH)]
                )
            ]
        ),
        4,
    ),
    "WriteTxnMarkers": (
        WriteTxnMarkersRequest(
            markers=[
                WritableTxnMarker(
                    producer_id=7,
                    topics=[WritableTxnMarkerTopic(name="b", partition_indexes=[0])],
                )
            ]
        ),
        1,
    ),
    "DescribeProducers": (
        DescribeProducersRequest(topics=[TopicRequest(name="b", partition_indexes=[0])]),
        0,
    ),
}

LEFT_OUT = {"DescribeLogDirs"}
ITS_PATH = {"AlterReplicaLogDirs"}
NOT_OF_ITS_LOG = {
    *("CreateTopics", "DescribeTopicPartitions"),
    *("OffsetCommit", "OffsetFetch", "OffsetDelete", "TxnOffsetCommit", "AddPartitionsToTxn"),
    *("ElectLeaders", "AlterPartitionReassignments", "ListPartitionReassignments"),
    "DescribeQuorum",
}
"""What they answer is in the metadata, or in a coordinator's table."""


def _start(path: Path, work: Any) -> None:
    """With a record in the partition, of a transaction that nobody has ended."""

    async def fill(broker: Broker, files: PathFiles, now: Now) -> None:
        partition = await new_topic(broker, "b")
        await write(partition, *WHOSE)
        await broker.coordinator.commit("g", {partition.name: CommittedOffset(0)})

    with_broker(path, fill)
    with_unopened(path, PARTITION, work)


def _names_partitions(message: type[Any]) -> bool:
    return any(
        "partition" in field.name
        or (isinstance(field.type, type) and _names_partitions(field.type))
        for field in schema_of(message).fields
    )


def _error_codes(answer: Any) -> Iterator[int]:
    """Those of partitions: there is none in what is above them."""
    if isinstance(answer, list):
        for each in answer:
            yield from _error_codes(each)
    elif dataclasses.is_dataclass(answer):
        fields = {field.name: getattr(answer, field.name) for field in dataclasses.fields(answer)}
        if "error_code" in fields and fields.keys() & {"partition", "partition_index", "index"}:
            yield fields["error_code"]
        for value in fields.values():
            yield from _error_codes(value)


def test_every_api_that_names_partitions_is_asked() -> None:
    naming = {api.name for key, api in APIS.items() if _names_partitions(MESSAGES[key].request)}
    assert naming == {*REQUESTS, *LEFT_OUT, *ITS_PATH, *NOT_OF_ITS_LOG}


@pytest.mark.parametrize("name", REQUESTS)
def test_what_could_not_be_opened_is_never_answered_without_an_error(
    tmp_path: Path, name: str
) -> None:
    async def work(broker: Broker, partition: Partition, files: PathFiles) -> None:
        answer = await call(broker, *REQUESTS[name])
        assert list(_error_codes(answer)) == [ErrorCode.KAFKA_STORAGE_ERROR]

    _start(tmp_path, work)


def test_a_replica_that_could_not_be_opened_is_not_moved(tmp_path: Path) -> None:
    async def work(broker: Broker, partition: Partition, files: PathFiles) -> None:
        topics = [AlterReplicaLogDirTopic(name="b", partitions=[0])]
        directory = AlterReplicaLogDir(path=broker.storage.path, topics=topics)
        answer = await call(broker, AlterReplicaLogDirsRequest(dirs=[directory]), 2)
        assert list(_error_codes(answer)) == [ErrorCode.KAFKA_STORAGE_ERROR]

    _start(tmp_path, work)


def test_a_fetch_does_not_say_where_an_unopened_partition_ends(tmp_path: Path) -> None:
    async def work(broker: Broker, partition: Partition, files: PathFiles) -> None:
        answer = await call(broker, *REQUESTS["Fetch"])
        (data,) = answer.responses[0].partitions
        assert (data.high_watermark, data.last_stable_offset, data.log_start_offset) == (-1, -1, -1)

    _start(tmp_path, work)


def test_nobody_is_told_the_size_of_an_unopened_partition(tmp_path: Path) -> None:
    wanted = [DescribableLogDirTopic(topic="b", partitions=[0])]

    async def sizes(broker: Broker) -> list[int]:
        answer = await call(broker, DescribeLogDirsRequest(topics=wanted), 4)
        (topic,) = answer.results[0].topics
        return [partition.partition_size for partition in topic.partitions]

    async def work(broker: Broker, partition: Partition, files: PathFiles) -> None:
        assert await sizes(broker) == []
        files.broken.clear()
        await broker.storage.revive()
        assert await sizes(broker) == [partition.log.size]

    _start(tmp_path, work)


def test_the_lag_leaves_an_unopened_partition_out(tmp_path: Path) -> None:
    async def work(broker: Broker, partition: Partition, files: PathFiles) -> None:
        line = 'kafkaesque_group_lag{group="g",topic="b",partition="0"} 1'
        assert "kafkaesque_group_lag{" not in exposition(group_metrics(broker))
        files.broken.clear()
        await broker.storage.revive()
        assert line in exposition(group_metrics(broker))

    _start(tmp_path, work)
