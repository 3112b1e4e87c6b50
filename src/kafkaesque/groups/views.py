"""A group as DescribeGroups and ListGroups show it.

Above: the broker's APIs. Below: group.py and member.py, which are copied from.
"""

from dataclasses import dataclass

from kafkaesque.groups.events import State
from kafkaesque.groups.member import Member

GROUP_TYPE = "classic"


@dataclass(frozen=True, slots=True)
class MemberDescription:
    """One member. Metadata and assignment are shown only while the group is stable, as in Kafka."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    metadata: bytes = b""
    assignment: bytes = b""

    @classmethod
    def of(cls, member: Member, protocol_name: str | None) -> "MemberDescription":
        who = (member.member_id, member.group_instance_id, member.client_id, member.client_host)
        if protocol_name is None:
            return cls(*who)
        return cls(*who, member.metadata(protocol_name), member.assignment)


@dataclass(frozen=True, slots=True)
class GroupDescription:
    """One group. The protocol is shown only while the group is stable."""

    group_id: str
    state: State
    protocol_type: str
    protocol_name: str
    members: tuple[MemberDescription, ...]
    group_type: str = GROUP_TYPE
