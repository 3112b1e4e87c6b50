"""What the coordinator of a group can be asked: members, commits, to commit, to delete the group.

Each is a question for `Coordinators.ask`, and yields the answers as they come. Versions are those
that every Kafka since 0.11 has a part of, with one group a request where later ones have many.
Where all have many, it is a hundred: a broker bounds what it takes in one request, and an answer
must fit into a frame.
Above: groups.py, pipelines/. Below: coordinators.py, protocol/.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from kafkaesque.client.cluster_metadata import error_code
from kafkaesque.client.connection import UnsupportedError
from kafkaesque.client.coordinators import LATER, Answers, Coordinator, Question
from kafkaesque.errors import DecodeError, ErrorCode
from kafkaesque.protocol.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    ConsumerGroupMember,
    DescribedConsumerGroup,
)
from kafkaesque.protocol.messages.consumer_protocol import assigned_partitions
from kafkaesque.protocol.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from kafkaesque.protocol.messages.describe_groups import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from kafkaesque.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from kafkaesque.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse
from kafkaesque.types import TopicPartition

_CONSUMER_GROUP_DESCRIBE: Final = 0
# The last in which a group that is not there is a dead one.
_DESCRIBE_GROUPS: Final = 5
# The last with one group a request, and the first that can leave out what is not stable yet.
_OFFSET_FETCH: Final = 7
_ALL_TOPICS_SINCE: Final = 2
# The last with names of topics.
_OFFSET_COMMIT: Final = 9
_DELETE_GROUPS: Final = 2
_GROUPS_A_REQUEST: Final = 100
_NOT_NEW: Final = {ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNSUPPORTED_VERSION}


@dataclass(frozen=True, slots=True)
class Member:
    member_id: str
    client_id: str
    host: str
    partitions: list[TopicPartition]


@dataclass(frozen=True, slots=True)
class Description:
    state: str
    coordinator: int
    assignor: str
    members: list[Member]


@dataclass(frozen=True, slots=True)
class Commit:
    """What is committed for one partition; `offset` is negative if nothing is."""

    offset: int
    metadata: str
    error: ErrorCode


def describe(coordinator: Coordinator, groups: Sequence[str]) -> "Answers[Description]":
    """Both protocols: who is not of KIP-848's is of the classic one."""
    new = set()
    for name, answer in _describe_new(coordinator, groups):
        new.add(name)
        yield name, answer
    yield from _describe_classic(coordinator, [name for name in groups if name not in new])


def _describe_new(coordinator: Coordinator, groups: Sequence[str]) -> "Answers[Description]":
    """Without the groups that are none of KIP-848's."""
    requests = [ConsumerGroupDescribeRequest(group_ids=some) for some in _hundreds(groups)]
    answers = coordinator.wire.ask_each(
        requests, ConsumerGroupDescribeResponse, _CONSUMER_GROUP_DESCRIBE
    )
    try:
        for answer in answers:
            for each in answer.groups:
                if each.error_code not in _NOT_NEW:
                    yield each.group_id, _new_group(coordinator, each)
    except UnsupportedError:  # The broker has no such groups.
        return


def _describe_classic(coordinator: Coordinator, groups: Sequence[str]) -> "Answers[Description]":
    answers = coordinator.wire.ask_each(
        [DescribeGroupsRequest(groups=some) for some in _hundreds(groups)],
        DescribeGroupsResponse,
        _DESCRIBE_GROUPS,
        min_version=0,
    )
    for answer in answers:
        for each in answer.groups:
            yield each.group_id, _classic_group(coordinator, each)


def committed(*, stable: bool = False) -> "Question[dict[TopicPartition, Commit]]":
    """All that a group has committed. `stable`: UNSTABLE_OFFSET_COMMIT is the error of a partition
    that an open transaction may still commit."""

    def ask(
        coordinator: Coordinator, groups: Sequence[str]
    ) -> "Answers[dict[TopicPartition, Commit]]":
        answers = coordinator.wire.ask_each(
            [
                OffsetFetchRequest(group_id=name, topics=None, require_stable=stable)
                for name in groups
            ],
            OffsetFetchResponse,
            _OFFSET_FETCH,
            min_version=_OFFSET_FETCH if stable else _ALL_TOPICS_SINCE,
        )
        for name, answer in zip(groups, answers, strict=True):
            yield name, error_code(answer.error_code) if answer.error_code else _commits(answer)

    return ask


def commit(offsets: Mapping[TopicPartition, int]) -> "Question[dict[TopicPartition, ErrorCode]]":
    """Commit in the place of a group that has no members."""

    def ask(
        coordinator: Coordinator, groups: Sequence[str]
    ) -> "Answers[dict[TopicPartition, ErrorCode]]":
        topics = [
            OffsetCommitRequestTopic(
                name=topic,
                partitions=[
                    OffsetCommitRequestPartition(
                        partition_index=place.partition, committed_offset=offsets[place]
                    )
                    for place in places
                ],
            )
            for topic, places in groupby(sorted(offsets), key=lambda place: place.topic)
        ]
        answers = coordinator.wire.ask_each(
            [OffsetCommitRequest(group_id=name, topics=topics) for name in groups],
            OffsetCommitResponse,
            _OFFSET_COMMIT,
            min_version=0,
        )
        for name, answer in zip(groups, answers, strict=True):
            yield name, _outcome(answer, offsets)

    return ask


def delete() -> "Question[None]":
    """Of a group that was asked for before, without an answer, GROUP_ID_NOT_FOUND says that it is
    done."""
    doubtful: set[str] = set()

    def ask(coordinator: Coordinator, groups: Sequence[str]) -> "Answers[None]":
        sent: set[str] = set()

        def requests() -> Iterator[DeleteGroupsRequest]:
            for some in _hundreds(groups):
                sent.update(some)
                yield DeleteGroupsRequest(groups_names=some)

        answers = coordinator.wire.ask_each(
            requests(), DeleteGroupsResponse, _DELETE_GROUPS, min_version=0
        )
        try:
            for answer in answers:
                for each in answer.results:
                    sent.discard(each.group_id)
                    code = error_code(each.error_code)
                    is_done = code is ErrorCode.NONE or (
                        code is ErrorCode.GROUP_ID_NOT_FOUND and each.group_id in doubtful
                    )
                    yield each.group_id, None if is_done else code
        finally:
            doubtful.update(sent)

    return ask


def _hundreds(groups: Sequence[str]) -> list[list[str]]:
    return [
        [*groups[start : start + _GROUPS_A_REQUEST]]
        for start in range(0, len(groups), _GROUPS_A_REQUEST)
    ]


def _commits(answer: OffsetFetchResponse) -> dict[TopicPartition, Commit]:
    return {
        TopicPartition(topic.name, each.partition_index): Commit(
            each.committed_offset, each.metadata or "", error_code(each.error_code)
        )
        for topic in answer.topics
        for each in topic.partitions
    }


def _outcome(
    answer: OffsetCommitResponse, places: Iterable[TopicPartition]
) -> "dict[TopicPartition, ErrorCode] | ErrorCode":
    """What all partitions are told concerns the group, and so does a coordinator's "later" that
    some are told: to commit the others twice does no harm."""
    told = {
        TopicPartition(topic.name, each.partition_index): error_code(each.error_code)
        for topic in answer.topics
        for each in topic.partitions
    }
    # What a broker passes over it has not committed.
    codes = {place: told.get(place, ErrorCode.UNKNOWN_SERVER_ERROR) for place in places}
    errors = set(codes.values())
    if later := errors & LATER:
        return min(later)
    return errors.pop() if len(errors) == 1 and ErrorCode.NONE not in errors else codes


def _new_group(coordinator: Coordinator, group: DescribedConsumerGroup) -> Description | ErrorCode:
    if group.error_code:
        return error_code(group.error_code)
    members = [_new_member(member) for member in group.members]
    return Description(group.group_state, coordinator.node_id, group.assignor_name, members)


def _classic_group(coordinator: Coordinator, group: DescribedGroup) -> Description | ErrorCode:
    if group.error_code:
        return error_code(group.error_code)
    members = [_classic_member(member) for member in group.members]
    return Description(group.group_state, coordinator.node_id, group.protocol_data, members)


def _new_member(member: ConsumerGroupMember) -> Member:
    partitions = [
        TopicPartition(topic.topic_name, partition)
        for topic in member.assignment.topic_partitions
        for partition in topic.partitions
    ]
    return _member(member.member_id, member.client_id, member.client_host, partitions)


def _classic_member(member: DescribedGroupMember) -> Member:
    try:
        partitions = assigned_partitions(member.member_assignment)
    except DecodeError:  # Of Connect's workers and others that are no consumers.
        partitions = []
    return _member(member.member_id, member.client_id, member.client_host, partitions)


def _member(member_id: str, client_id: str, host: str, partitions: list[TopicPartition]) -> Member:
    # Java's way to write an address that no name was looked up for.
    return Member(member_id, client_id, host.removeprefix("/"), sorted(partitions))
