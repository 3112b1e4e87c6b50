"""ConsumerGroupDescribe (key 69), versions 0–1: state and members of KIP-848's groups.

Ours has no such groups, and does not serve it. A group of the classic protocol is told as
GROUP_ID_NOT_FOUND: DescribeGroups knows it.

v1  member_type
"""

from kafkaesque.protocol.schema import (
    ZERO_UUID,
    boolean,
    field,
    int8,
    int16,
    int32,
    message,
    string,
    struct,
    uuid,
)


@message(api_key=69, versions=(0, 1), flexible=0)
class ConsumerGroupDescribeRequest:
    group_ids: list[string] = field(default_factory=list)
    include_authorized_operations: boolean = False


@struct
class AssignedPartitions:
    topic_id: uuid = ZERO_UUID
    topic_name: string = ""
    partitions: list[int32] = field(default_factory=list)


@struct
class MemberAssignment:
    topic_partitions: list[AssignedPartitions] = field(default_factory=list)


@struct
class ConsumerGroupMember:
    member_id: string = ""
    instance_id: string | None = None
    rack_id: string | None = None
    member_epoch: int32 = 0
    client_id: string = ""
    client_host: string = ""
    subscribed_topic_names: list[string] = field(default_factory=list)
    subscribed_topic_regex: string | None = None
    assignment: MemberAssignment = field(default_factory=MemberAssignment)
    target_assignment: MemberAssignment = field(default_factory=MemberAssignment)
    member_type: int8 = field(since=1, default=-1)


@struct
class DescribedConsumerGroup:
    error_code: int16 = 0
    error_message: string | None = None
    group_id: string = ""
    group_state: string = ""
    group_epoch: int32 = 0
    assignment_epoch: int32 = 0
    assignor_name: string = ""
    members: list[ConsumerGroupMember] = field(default_factory=list)
    authorized_operations: int32 = -(2**31)


@message(api_key=69, versions=(0, 1), flexible=0)
class ConsumerGroupDescribeResponse:
    throttle_time_ms: int32 = 0
    groups: list[DescribedConsumerGroup] = field(default_factory=list)
