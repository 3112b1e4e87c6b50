"""What a Metadata response says, made plain: brokers, leaders, partition counts. Pure.

A partition has a leader, or lacks one for now, or it is not known at all, or not to be seen by this
user: `error_of` tells which. Above: links.py, fetch.py. Below: protocol/.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from uuid import UUID

from kafkaesque.client.connection import Address
from kafkaesque.errors import ErrorCode
from kafkaesque.protocol.messages.metadata import MetadataResponse, MetadataResponseTopic
from kafkaesque.types import TopicPartition

_NO_LEADER = -1
_ABSENT = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.INVALID_TOPIC_EXCEPTION,
}


@dataclass(frozen=True, slots=True)
class ClusterMetadata:
    nodes: Mapping[int, Address] = field(default_factory=dict)
    leaders: Mapping[TopicPartition, int] = field(default_factory=dict)
    """Of the partitions that have one."""
    counts: Mapping[str, int] = field(default_factory=dict)
    """Partitions by topic; internal topics are among them."""
    internal: frozenset[str] = frozenset()
    ids: Mapping[str, UUID] = field(default_factory=dict)
    """By topic, if the cluster has any: one that is deleted and made anew has another."""
    errors: Mapping[str, ErrorCode] = field(default_factory=dict)
    """By topic that was asked for and cannot be told about."""

    @classmethod
    def of(cls, response: MetadataResponse) -> "ClusterMetadata":
        nodes = {each.node_id: Address(each.host, each.port) for each in response.brokers}
        told = {each.name: each for each in response.topics if each.name is not None}
        known = {name: each for name, each in told.items() if not each.error_code}
        return cls(
            nodes=nodes,
            leaders=dict(_leaders(known.values(), nodes)),
            counts={name: len(each.partitions) for name, each in known.items()},
            internal=frozenset(name for name, each in known.items() if each.is_internal),
            ids={name: each.topic_id for name, each in known.items() if each.topic_id.int},
            errors={
                name: error_code(each.error_code) for name, each in told.items() if each.error_code
            },
        )

    def error_of(self, place: TopicPartition) -> ErrorCode:
        """NONE: it has a leader. LEADER_NOT_AVAILABLE: it exists, but for now without one."""
        if place in self.leaders:
            return ErrorCode.NONE
        error = self.errors.get(place.topic)
        if error is not None:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if error in _ABSENT else error
        if place.partition < self.counts.get(place.topic, 0):
            return ErrorCode.LEADER_NOT_AVAILABLE
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def _leaders(
    topics: Iterable[MetadataResponseTopic], nodes: Mapping[int, Address]
) -> Iterable[tuple[TopicPartition, int]]:
    for topic in topics:
        for each in topic.partitions:
            # A leader may be named whose address is not: its broker has just gone.
            if each.leader_id != _NO_LEADER and each.leader_id in nodes:
                yield TopicPartition(topic.name or "", each.partition_index), each.leader_id


def error_code(number: int) -> ErrorCode:
    try:
        return ErrorCode(number)
    except ValueError:  # A newer cluster may have codes that we do not know.
        return ErrorCode.UNKNOWN_SERVER_ERROR
