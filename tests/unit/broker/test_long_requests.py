"""Requests that name thousands of things: each is answered once, in the order that clients know."""

import asyncio
import sys
from collections.abc import Callable, Coroutine
from itertools import count
from typing import Any

import pytest
from tests.unit.broker.brokers import until
from tests.unit.broker.connections import Client, memory_broker
from tests.wire.requests import batch

from kafkaesque.broker.broker import Broker
from kafkaesque.broker.fetch_sessions import FetchSessions
from kafkaesque.broker.slices import Slices
from kafkaesque.broker.topics import NewTopic
from kafkaesque.errors import ErrorCode
from kafkaesque.log.log import Log
from kafkaesque.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from kafkaesque.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from kafkaesque.protocol.messages.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
)
from kafkaesque.protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest
from kafkaesque.protocol.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
)
from kafkaesque.protocol.messages.describe_topic_partitions import (
    TopicRequest as DescribedTopic,
)
from kafkaesque.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafkaesque.protocol.messages.list_groups import ListGroupsRequest
from kafkaesque.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from kafkaesque.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)

TOPIC = 2


def with_client(scenario: Callable[[Broker, Client], Coroutine[Any, Any, None]]) -> None:
    async def main() -> None:
        broker = await memory_broker()
        await broker.topics.create(NewTopic("a.b", 2))
        await scenario(broker, Client(broker))
        await broker.close()

    asyncio.run(main())


@pytest.mark.parametrize("validate_only", [False, True])
def test_a_topic_that_is_to_be_created_twice_is_refused_once(validate_only: bool) -> None:
    async def scenario(broker: Broker, client: Client) -> None:
        names = ["new", "twice", "twice", "a_b", "twice"]
        topics = [CreatableTopic(name=n, num_partitions=1, replication_factor=1) for n in names]
        request = CreateTopicsRequest(topics=topics, validate_only=validate_only)
        answer = await client.call(request, 7)
        assert [(topic.name, ErrorCode(topic.error_code).name) for topic in answer.topics] == [
            ("new", "NONE"),
            ("twice", "INVALID_REQUEST"),
            ("a_b", "INVALID_TOPIC_EXCEPTION"),
        ]
        assert ("new" in broker.topics) is not validate_only

    with_client(scenario)


def test_ten_thousand_settings_are_refused_for_one_that_is_none() -> None:
    async def scenario(broker: Broker, client: Client) -> None:
        configs = [CreatableTopicConfig(name=f"no.{n}", value="1") for n in range(10_000)]
        topic = CreatableTopic(name="new", num_partitions=1, replication_factor=1, configs=configs)
        (answer,) = (await client.call(CreateTopicsRequest(topics=[topic]), 7)).topics
        assert answer.error_code == ErrorCode.INVALID_CONFIG
        assert "no.0" in answer.error_message
        assert "new" not in broker.topics

    with_client(scenario)


def test_groups_are_filtered_by_names_in_any_case_among_thousands_of_others() -> None:
    async def scenario(broker: Broker, client: Client) -> None:
        committed = OffsetCommitRequestTopic(
            name="a.b", partitions=[OffsetCommitRequestPartition(committed_offset=1)]
        )
        await client.call(OffsetCommitRequest(group_id="group", topics=[committed]), 8)
        others = [f"state {number}" for number in range(5000)]

        async def listed(states: list[str], types: list[str]) -> list[str]:
            request = ListGroupsRequest(states_filter=states, types_filter=types)
            return [group.group_id for group in (await client.call(request, 5)).groups]

        assert await listed([*others, "EMPTY"], [*others, "Classic"]) == ["group"]
        assert await listed(["stable", "empty"], []) == ["group"]
        assert await listed(others, []) == await listed([], others) == []
        assert await listed(["Stable"], ["classic"]) == await listed(["Empty"], ["share"]) == []

    with_client(scenario)


def test_a_name_is_free_again_when_the_topic_that_it_collided_with_is_gone() -> None:
    async def scenario(broker: Broker, client: Client) -> None:
        await broker.delete_topic(broker.topics.named("a.b"))
        await broker.topics.create(NewTopic("a_b", 1))
        assert "a_b" in broker.topics

    with_client(scenario)


def test_a_topic_that_is_asked_for_a_thousand_times_is_described_once() -> None:
    async def scenario(broker: Broker, client: Client) -> None:
        wanted = [MetadataRequestTopic(name="a.b")] * 1000
        metadata = await client.call(MetadataRequest(topics=wanted), 9)
        assert [(t.name, len(t.partitions)) for t in metadata.topics] == [("a.b", 2)]
        resources = [DescribeConfigsResource(resource_type=TOPIC, resource_name="a.b")] * 1000
        configs = await client.call(DescribeConfigsRequest(resources=resources), 4)
        assert [result.resource_name for result in configs.results] == ["a.b"]
        asked = TopicRequest(name="a.b", partition_indexes=[1] * 1000)
        producers = await client.call(DescribeProducersRequest(topics=[asked]), 0)
        assert [p.partition_index for p in producers.topics[0].partitions] == [1]
        directory = DescribableLogDirTopic(topic="a.b", partitions=[1] * 1000)
        dirs = await client.call(DescribeLogDirsRequest(topics=[directory]), 4)
        assert [p.partition_index for p in dirs.results[0].topics[0].partitions] == [1]

    with_client(scenario)


def test_what_one_response_about_settings_cannot_hold_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module = sys.modules["kafkaesque.broker.apis.describe_configs"]
    monkeypatch.setattr(module, "_MAX_CONFIGS", 1)

    async def scenario(broker: Broker, client: Client) -> None:
        await broker.topics.create(NewTopic("other", 1))
        resources = [
            DescribeConfigsResource(resource_type=TOPIC, resource_name=name)
            for name in ("a.b", "other")
        ]
        first, second = (await client.call(DescribeConfigsRequest(resources=resources), 4)).results
        assert (first.error_code, bool(first.configs)) == (0, True)
        assert (second.error_code, second.configs) == (ErrorCode.INVALID_REQUEST, [])

    with_client(scenario)


def test_thousands_of_topics_are_described_in_the_order_of_their_names() -> None:
    async def scenario(broker: Broker, client: Client) -> None:
        names = [f"topic-{number}" for number in range(3000)]
        request = DescribeTopicPartitionsRequest(
            topics=[DescribedTopic(name=name) for name in (*names, *names[:10])]
        )
        answer = await client.call(request, 0)
        assert [topic.name for topic in answer.topics] == sorted(names)

    with_client(scenario)


@pytest.mark.parametrize("turns", range(0, 60, 6))
def test_what_comes_while_a_long_poll_looks_at_many_partitions_wakes_it(turns: int) -> None:
    async def scenario(broker: Broker, client: Client) -> None:
        topic = await broker.topics.create(NewTopic("many", 300))
        clock = count()
        broker.slices = Slices(lambda: next(clock))
        partitions = [FetchPartition(partition=i, partition_max_bytes=1000) for i in range(300)]
        topics = [FetchTopic(topic="many", partitions=partitions)]
        an_hour = 3_600_000
        client.send(
            FetchRequest(max_wait_ms=an_hour, min_bytes=1, max_bytes=1000, topics=topics), 11
        )
        await until(lambda: broker.long_polls)
        for _ in range(turns):
            await asyncio.sleep(0)
        topic.partition(0).append(memoryview(batch([b"value"])))
        async with asyncio.timeout(60):
            await until(lambda: client.wire.sent)
        (answer,) = client.answers()
        assert [bool(p.records) for p in answer.responses[0].partitions] == [True] + [False] * 299

    with_client(scenario)


@pytest.mark.parametrize("turns", [0, 3])
def test_a_fetch_whose_connection_is_lost_leaves_nothing_of_it_to_come(turns: int) -> None:
    def fetch(number: int) -> FetchRequest:
        partitions = [FetchPartition(partition=i) for i in range(number)]
        topics = [FetchTopic(topic="a.b", partitions=partitions)]
        return FetchRequest(session_epoch=0, topics=topics)

    async def scenario(broker: Broker, client: Client) -> None:
        clock = count()
        broker.slices = Slices(lambda: next(clock))
        broker.fetch_sessions = FetchSessions(10, lambda: 0, max_partitions=399)
        client.send(fetch(300), 11)
        await until(lambda: broker.fetch_sessions._sessions)
        for _ in range(turns):
            await asyncio.sleep(0)
        client.cut()
        for _ in range(2):
            await asyncio.sleep(0)
        answer = await Client(broker).call(fetch(100), 11)
        assert answer.session_id > 0

    with_client(scenario)


def test_fetches_of_one_session_that_come_at_once_keep_no_more_than_there_is_room_for() -> None:
    def fetch(session_id: int, epoch: int) -> FetchRequest:
        numbers = range(300 * epoch, 300 * (epoch + 1))
        topics = [
            FetchTopic(topic="a.b", partitions=[FetchPartition(partition=i) for i in numbers])
        ]
        return FetchRequest(
            session_id=session_id, session_epoch=epoch, max_wait_ms=0, min_bytes=0, topics=topics
        )

    async def scenario(broker: Broker, client: Client) -> None:
        clock = count()
        broker.slices = Slices(lambda: next(clock))
        sessions = broker.fetch_sessions = FetchSessions(10, lambda: 0, max_partitions=1000)
        session_id = (await client.call(fetch(0, 0), 11)).session_id
        calls = [Client(broker).call(fetch(session_id, epoch), 11) for epoch in (1, 2, 3, 4)]
        answers = await asyncio.gather(*calls)
        not_found = ErrorCode.FETCH_SESSION_ID_NOT_FOUND
        assert [answer.error_code for answer in answers] == [0, 0, not_found, not_found]
        assert sum(len(session.wanted) for session in sessions._sessions.values()) <= 1000
        assert not sessions._kept()

    with_client(scenario)


def test_a_long_poll_of_many_partitions_looks_at_them_again_in_slices(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks = 0
    read = Log.read

    def counted(*args: Any, **kwargs: Any) -> Any:
        nonlocal looks
        looks += 1
        return read(*args, **kwargs)

    async def scenario(broker: Broker, client: Client) -> None:
        nonlocal looks
        monkeypatch.setattr(Log, "read", counted)
        await broker.topics.create(NewTopic("many", 300))
        clock = count()
        broker.slices = Slices(lambda: next(clock))
        partitions = [FetchPartition(partition=i, partition_max_bytes=1000) for i in range(300)]
        topics = [FetchTopic(topic="many", partitions=partitions)]
        client.send(FetchRequest(max_wait_ms=1, min_bytes=1, max_bytes=1000, topics=topics), 11)
        most = 0
        while not (found := client.answers()):
            looks = 0
            await asyncio.sleep(0)
            most = max(most, looks)
        assert len(found[0].responses[0].partitions) == 300
        assert 0 < most < 12

    with_client(scenario)
