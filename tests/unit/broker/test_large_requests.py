"""No request holds the loop: what names many things is gone through in slices."""

import asyncio
from collections.abc import Awaitable, Generator
from itertools import count
from typing import Any

import pytest
from tests.unit.broker.brokers import PathFiles, call, new_topic, until, with_broker
from tests.unit.broker.large_requests import REQUESTS, member_of, prepare
from tests.unit.broker.state_logs import Now

from kafkaesque.broker.broker import Broker
from kafkaesque.errors import ErrorCode
from kafkaesque.groups.offsets import CommittedOffset
from kafkaesque.protocol.messages.describe_groups import DescribeGroupsRequest
from kafkaesque.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from kafkaesque.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kafkaesque.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from kafkaesque.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from kafkaesque.types import TopicPartition

MOST_PER_TURN = 10_000
"""Of the cheapest things there are: taking one entry out of a list."""


class Counted:
    """Awaits something, and counts how often the loop is given back meanwhile."""

    def __init__(self, awaited: Awaitable[Any]) -> None:
        self._awaited = awaited
        self.turns = 0

    def __await__(self) -> Generator[Any, Any, Any]:
        steps = self._awaited.__await__()
        while True:
            try:
                step = next(steps)
            except StopIteration as end:
                return end.value
            self.turns += 1
            yield step


@pytest.mark.slow
def test_a_request_of_a_megabyte_gives_the_loop_back(subtests: pytest.Subtests) -> None:
    async def work(broker: Broker, files: PathFiles, now: Now) -> None:
        scene = await prepare(broker)
        for name, (request, version, things) in REQUESTS.items():
            with subtests.test(name):
                counted = Counted(call(broker, request(scene), version))
                await counted
                assert counted.turns >= things // MOST_PER_TURN

    with_broker(None, work)


def test_what_is_named_again_and_again_is_answered_once() -> None:
    async def work(broker: Broker, files: PathFiles, now: Now) -> None:
        await new_topic(broker, "t")
        names = {TopicPartition("t", 0): CommittedOffset(1, metadata="m" * 4_000)}
        await broker.coordinator.commit("g", names)
        topics = [OffsetFetchRequestTopics(name="t", partition_indexes=[0, 0])] * 2
        groups = [OffsetFetchRequestGroup(group_id="g", topics=each) for each in (topics, None)]
        fetched = await call(broker, OffsetFetchRequest(groups=groups * 2), 8)
        answers = [len(topic.partitions) for group in fetched.groups for topic in group.topics]
        assert (len(fetched.groups), sum(answers)) == (4, 1)
        described = await call(broker, DescribeGroupsRequest(groups=["g", "h"] * 3), 6)
        assert [group.group_id for group in described.groups] == ["g", "h"]

    with_broker(None, work)


def test_a_commit_of_many_partitions_is_checked_when_each_of_its_slices_is_written() -> None:
    async def work(broker: Broker, files: PathFiles, now: Now) -> None:
        await new_topic(broker, "t", 1_000)
        partitions = [OffsetCommitRequestPartition(partition_index=n) for n in range(1_000)]
        topic = OffsetCommitRequestTopic(name="t", partitions=partitions)
        request = OffsetCommitRequest(group_id="g", topics=[topic])
        committing = asyncio.ensure_future(call(broker, request, 9))
        await until(lambda: broker.coordinator.table.offsets.has("g"))
        await broker.delete_topic(broker.topics.named("t"))
        response = await committing
        errors = {partition.error_code for partition in response.topics[0].partitions}
        assert errors == {ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
        assert broker.coordinator.table.groups == {}

    with_broker(None, work)


def test_a_member_that_has_lost_its_place_meanwhile_commits_no_more() -> None:
    async def work(broker: Broker, files: PathFiles, now: Now) -> None:
        await new_topic(broker, "t", 1_000)
        member_id, generation = await member_of(broker, "m")
        partitions = [OffsetCommitRequestPartition(partition_index=n) for n in range(1_000)]
        request = OffsetCommitRequest(
            group_id="m",
            member_id=member_id,
            generation_id_or_member_epoch=generation,
            topics=[OffsetCommitRequestTopic(name="t", partitions=partitions)],
        )
        committing = asyncio.ensure_future(call(broker, request, 9))
        await until(lambda: broker.coordinator.table.offsets.has("m"))
        leave = LeaveGroupRequest(group_id="m", members=[MemberIdentity(member_id=member_id)])
        await call(broker, leave, 5)
        response = await committing
        errors = {partition.error_code for partition in response.topics[0].partitions}
        assert errors == {ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID}

    with_broker(None, work)


@pytest.mark.parametrize(
    ("protocol_type", "error"),
    [
        ("consumer", ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC),
        # Its members do not say what they read: to them, all offsets may matter.
        ("connect", ErrorCode.NON_EMPTY_GROUP),
    ],
)
def test_a_group_that_gets_members_meanwhile_keeps_the_offsets_that_are_not_deleted_yet(
    protocol_type: str, error: ErrorCode
) -> None:
    async def work(broker: Broker, files: PathFiles, now: Now) -> None:
        await new_topic(broker, "t", 1_000)
        offsets, names = broker.coordinator.table.offsets, _names("t", 1_000)
        await broker.coordinator.commit("g", dict.fromkeys(names, CommittedOffset(1)))
        partitions = [OffsetDeleteRequestPartition(partition_index=n) for n in range(1_000)]
        topic = OffsetDeleteRequestTopic(name="t", partitions=partitions)
        broker.slices._clock = count().__next__
        deleting = asyncio.ensure_future(
            call(broker, OffsetDeleteRequest(group_id="g", topics=[topic]), 0)
        )
        await until(lambda: len(offsets.known("g", "t")) < 1_000)
        await member_of(broker, "g", protocol_type)
        await broker.coordinator.commit("g", {names[-1]: CommittedOffset(2)})
        response = await deleting
        answers = response.topics[0].partitions
        kept = {name for name in names if answers[name.partition].error_code}
        assert {answers[name.partition].error_code for name in kept} == {error}
        assert offsets.fetch("g", names[-1]) == CommittedOffset(2)
        assert kept == set(offsets.known("g", "t"))

    with_broker(None, work)


def _names(topic: str, partitions: int) -> list[TopicPartition]:
    return [TopicPartition(topic, number) for number in range(partitions)]
