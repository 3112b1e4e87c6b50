"""What the members of a classic consumer group tell each other, inside of JoinGroup and SyncGroup.

    assignment   int16 version | fields

Every version begins like the first, so only that much is read.
"""

from struct import Struct
from struct import error as struct_error
from typing import Final

from kafkaesque.errors import DecodeError
from kafkaesque.protocol.codec import decode
from kafkaesque.protocol.schema import bytes_, field, int32, message, string, struct
from kafkaesque.types import Buffer, TopicPartition

_VERSION: Final = Struct(">h")


@struct
class AssignedTopic:
    topic: string = ""
    partitions: list[int32] = field(default_factory=list)


@message(versions=(0, 0), flexible=None)
class ConsumerProtocolAssignment:
    assigned_partitions: list[AssignedTopic] = field(default_factory=list)
    user_data: bytes_ | None = None


def assigned_partitions(data: Buffer) -> list[TopicPartition]:
    """None of them if nothing is assigned. Raises DecodeError for what is not a consumer's."""
    if not data:
        return []
    try:
        _VERSION.unpack_from(data)
    except struct_error:
        raise DecodeError("an assignment without its version") from None
    told = decode(ConsumerProtocolAssignment, 0, data, _VERSION.size, surplus=True)
    return [
        TopicPartition(each.topic, partition)
        for each in told.assigned_partitions
        for partition in each.partitions
    ]
