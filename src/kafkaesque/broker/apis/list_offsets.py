"""ListOffsets (2), versions 1–11. A timestamp asks for an offset; negative ones ask for a place.

−1 latest (the high watermark, or the last stable offset for read_committed), −2 earliest, −3 the
record with the largest timestamp (KIP-734, version 7), −4 earliest on this disk (KIP-405, version
8), −5 latest in remote storage (KIP-1005, version 9), of which there is none. Timestamp and offset
−1: no such record, and no error.
"""

from kafkaesque.broker.apis.context import Context
from kafkaesque.broker.partition import LEADER_EPOCH, Partition, check_leader_epoch
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)

_LATEST, _EARLIEST, _MAX_TIMESTAMP, _EARLIEST_LOCAL, _LATEST_TIERED = -1, -2, -3, -4, -5
_NEEDS_VERSION = {_MAX_TIMESTAMP: 7, _EARLIEST_LOCAL: 8, _LATEST_TIERED: 9}
_NONE = (-1, -1)


def list_offsets(ctx: Context, request: ListOffsetsRequest) -> ListOffsetsResponse:
    return ListOffsetsResponse(
        topics=[
            ListOffsetsTopicResponse(
                name=topic.name,
                partitions=[
                    _list(ctx, topic.name, wanted, request.isolation_level == 1)
                    for wanted in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def _list(
    ctx: Context, topic: str, wanted: ListOffsetsPartition, committed: bool
) -> ListOffsetsPartitionResponse:
    answer = ListOffsetsPartitionResponse(partition_index=wanted.partition_index)
    try:
        check_leader_epoch(wanted.current_leader_epoch)
        partition = ctx.broker.topics.named(topic).partition(wanted.partition_index)
        if ctx.version < _NEEDS_VERSION.get(wanted.timestamp, 0):
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)
        answer.offset, answer.timestamp = _look_up(partition, wanted.timestamp, committed)
    except KafkaError as error:
        answer.error_code = error.code
        return answer
    if answer.offset >= 0:
        answer.leader_epoch = LEADER_EPOCH
    return answer


def _look_up(partition: Partition, timestamp: int, committed: bool) -> tuple[int, int]:
    partition.check_online()
    limit = partition.last_stable_offset if committed else partition.high_watermark
    if timestamp == _LATEST:
        return limit, -1
    if timestamp in (_EARLIEST, _EARLIEST_LOCAL):
        return partition.log.log_start_offset, -1
    if timestamp == _MAX_TIMESTAMP:
        return partition.log.offset_of_max_timestamp(limit) or _NONE
    if timestamp < 0:
        return _NONE
    return partition.log.offset_for_timestamp(timestamp, limit) or _NONE
