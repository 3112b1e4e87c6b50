"""A long answer to a short question has room for all that it comes to, and says what is there when
it is built.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from tests.unit.broker.brokers import until
from tests.unit.broker.connections import Client, memory_broker
from tests.wire.requests import batch

from kafkaesque.broker.apis import context
from kafkaesque.broker.broker import Broker
from kafkaesque.broker.slices import Slices
from kafkaesque.broker.topics import INTERNAL_TOPICS, NewTopic
from kafkaesque.groups.events import Join
from kafkaesque.groups.member import Member
from kafkaesque.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from kafkaesque.protocol.messages.describe_groups import DescribeGroupsRequest
from kafkaesque.protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from kafkaesque.protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest
from kafkaesque.protocol.messages.describe_transactions import DescribeTransactionsRequest
from kafkaesque.protocol.messages.list_config_resources import ListConfigResourcesRequest
from kafkaesque.protocol.messages.list_groups import ListGroupsRequest
from kafkaesque.protocol.messages.list_transactions import ListTransactionsRequest
from kafkaesque.protocol.messages.metadata import MetadataRequest
from kafkaesque.records.batch import read_header
from kafkaesque.transactions.events import State
from kafkaesque.transactions.partitions import Partitions
from kafkaesque.types import TopicPartition

EMOJI = "\U0001f600"
LIST_TOPICS = [
    pytest.param(MetadataRequest(topics=None), 10, id="Metadata"),
    pytest.param(DescribeLogDirsRequest(topics=None), 4, id="DescribeLogDirs"),
    pytest.param(ListConfigResourcesRequest(), 1, id="ListConfigResources"),
]


def with_broker(
    scenario: Callable[[Broker], Coroutine[Any, Any, None]], limit: int = 100_000_000
) -> None:
    async def main() -> None:
        broker = await memory_broker({"queued.max.request.bytes": str(limit)})
        await scenario(broker)
        await broker.close()

    asyncio.run(main())


def topic_names(answer: Any) -> list[str]:
    if hasattr(answer, "config_resources"):
        topics = [each for each in answer.config_resources if each.resource_type == 2]
        return sorted(topic.resource_name for topic in topics)
    topics = answer.results[0].topics if hasattr(answer, "results") else answer.topics
    return sorted(topic.name for topic in topics if topic.name not in INTERNAL_TOPICS)


async def asked_while_there_is_no_room(
    broker: Broker, question: Any, version: int, meanwhile: Callable[[], Coroutine[Any, Any, None]]
) -> Any:
    room = await broker.long_requests.enter(2 * broker.budget.limit)
    client = Client(broker)
    client.send(question, version)
    await until(lambda: bool(broker.long_requests._waiting) or not client.connection.is_busy)
    await meanwhile()
    assert client.connection.is_busy
    room.leave()
    await until(lambda: not client.connection.is_busy)
    (answer,) = client.answers()
    return answer


@pytest.mark.parametrize(("question", "version"), LIST_TOPICS)
def test_topics_that_change_while_there_is_no_room_are_listed_as_they_are_after_that(
    question: Any, version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Room for all of what is there already: but a part of the answer has been built before.
    monkeypatch.setattr(context, "_LITTLE_BYTES", 3_000)
    monkeypatch.setattr(context, "_MUCH_BYTES", 3_000)

    async def scenario(broker: Broker) -> None:
        topics = broker.topics
        for name in ("again", "gone", "x", "y", *(f"t{n}" for n in range(20))):
            await topics.create(NewTopic(name, 1))

        async def meanwhile() -> None:
            for name in ("again", "gone", "t19"):
                await topics.delete(topics.named(name))
            for name in ("again", "new"):
                await topics.create(NewTopic(name, 1))

        answer = await asked_while_there_is_no_room(broker, question, version, meanwhile)
        there = sorted(topic.name for topic in topics if not topic.is_unused)
        assert topic_names(answer) == there
        assert {"again", "new"} <= set(there)
        if isinstance(question, MetadataRequest):
            ids = {topic.name: topic.topic_id for topic in answer.topics}
            assert ids == {name: topics.named(name).id for name in there}
        await until(lambda: not broker.budget.used)

    with_broker(scenario)


def test_groups_that_change_while_there_is_no_room_are_listed_as_they_are_after_that() -> None:
    async def scenario(broker: Broker) -> None:
        table = broker.coordinator.table
        names = [f"{index:03}".ljust(30_000, "g") for index in range(40)]
        for name in names:
            table.create(name, 0)

        async def meanwhile() -> None:
            for name in (names[0], names[-1]):
                table.remove(name, 0)
            table.create("new", 0)

        answer = await asked_while_there_is_no_room(broker, ListGroupsRequest(), 4, meanwhile)
        assert [group.group_id for group in answer.groups] == [*names[1:-1], "new"]
        await until(lambda: not broker.budget.used)

    with_broker(scenario)


@pytest.mark.parametrize(("question", "version"), LIST_TOPICS)
def test_a_topic_that_is_deleted_between_two_slices_of_an_answer_is_left_out(
    question: Any, version: int
) -> None:
    async def scenario(broker: Broker) -> None:
        for number in range(60):
            await broker.topics.create(NewTopic(f"t{number:02}", 1))
        broker.slices = Slices(iter(range(10**9)).__next__)
        client = Client(broker)
        client.send(question, version)
        for _ in range(20):
            await asyncio.sleep(0)
        await broker.topics.delete(broker.topics.named("t59"))
        assert not client.wire.sent
        await until(lambda: not client.connection.is_busy)
        (answer,) = client.answers()
        assert topic_names(answer) == [f"t{number:02}" for number in range(59)]

    with_broker(scenario)


@pytest.mark.parametrize("question", [ListGroupsRequest(), ListTransactionsRequest()])
def test_what_is_forgotten_between_two_slices_of_an_answer_is_left_out(question: Any) -> None:
    async def scenario(broker: Broker) -> None:
        names = [f"n{number:02}" for number in range(30)]
        groups, table = broker.coordinator.table, broker.transactions.table
        for name in names:
            groups.create(name, 0)
            table.get_or_create(name).producer_id = 1
            table.get_or_create(name).state = State.COMPLETE_COMMIT
        broker.slices = Slices(iter(range(10**9)).__next__)
        client = Client(broker)
        client.send(question, 0)
        await asyncio.sleep(0)
        groups.remove(names[-1], 0)
        del table.transactions[names[-1]]
        assert not client.wire.sent
        await until(lambda: not client.connection.is_busy)
        (answer,) = client.answers()
        if isinstance(question, ListGroupsRequest):
            listed = [group.group_id for group in answer.groups]
        else:
            listed = [each.transactional_id for each in answer.transaction_states]
        assert listed == names[:-1]

    with_broker(scenario)


async def most_held(
    broker: Broker, question: Any, version: int, others: int = 0
) -> tuple[int, int]:
    """While it is answered, and what is sent."""
    client, most = Client(broker), 0
    client.send(question, version)
    while not client.wire.sent:
        await asyncio.sleep(0)
        most = max(most, broker.budget.used)
    sent = sum(map(len, client.wire.sent))
    await until(lambda: broker.budget.used == others)
    return most, sent


def configs_of(names: list[str], *keys: str) -> DescribeConfigsRequest:
    resources = [
        DescribeConfigsResource(
            resource_type=2, resource_name=name, configuration_keys=list(keys) or None
        )
        for name in names
    ]
    return DescribeConfigsRequest(
        resources=resources, include_synonyms=True, include_documentation=True
    )


async def with_much_to_tell(broker: Broker) -> None:
    await broker.topics.create(NewTopic("large", 2000))
    for number in range(300):
        await broker.topics.create(NewTopic(f"topic{number:03}".ljust(200, "x"), 1))
    producers = broker.topics.named("large").partitions[0].producers
    for producer_id in range(2000):
        header = read_header(memoryview(bytearray(batch([b""], producer=(producer_id, 0, 0)))), 0)
        producers.update(header, 0)
    transaction = broker.transactions.table.get_or_create("x")
    transaction.partitions = Partitions(TopicPartition("large", n) for n in range(20_000))


@pytest.mark.parametrize(
    ("question", "version"),
    [
        (DescribeLogDirsRequest(topics=None), 4),
        (configs_of([f"topic{number:03}".ljust(200, "x") for number in range(30)]), 4),
        (DescribeTransactionsRequest(transactional_ids=["x"]), 0),
        (DescribeProducersRequest(topics=[TopicRequest(name="large", partition_indexes=[0])]), 0),
        (ListConfigResourcesRequest(), 1),
    ],
    ids=["directories", "settings", "transactions", "producers", "resources"],
)
def test_a_long_answer_to_a_short_question_is_counted(question: Any, version: int) -> None:
    async def scenario(broker: Broker) -> None:
        await with_much_to_tell(broker)
        most, sent = await most_held(broker, question, version)
        assert sent > 40_000
        # It is held twice, built and encoded.
        assert 2 * sent <= most

    with_broker(scenario)


def test_one_setting_of_each_topic_and_settings_of_nobody_wait_for_nobody() -> None:
    async def scenario(broker: Broker) -> None:
        await with_much_to_tell(broker)
        names = [f"topic{number:03}".ljust(200, "x") for number in range(30)]
        nobodys = DescribeConfigsRequest(
            resources=[
                DescribeConfigsResource(resource_type=4, resource_name=f"{number}")
                for number in range(2, 100)
            ]
        )
        room = await broker.long_requests.enter(2 * broker.budget.limit)
        for question in (configs_of(names, "retention.ms"), nobodys):
            await most_held(broker, question, 4, room.size // 4)
        room.leave()

    with_broker(scenario)


def member(client_id: str, number: int) -> Member:
    protocols = (("range", b""),)
    join = Join(1, "", None, client_id, "/h", "consumer", protocols, 10_000, 10_000)
    return Member.joining(join, f"m{number}", 10_000)


def test_names_in_a_group_are_counted_as_they_are_sent() -> None:
    async def scenario(broker: Broker) -> None:
        group = broker.coordinator.table.create("g", 0)
        for number in range(20):
            group.roster.add(member(EMOJI * 8000, number))
        most, sent = await most_held(broker, DescribeGroupsRequest(groups=["g"]), 5)
        assert sent > 20 * 32_000
        assert 2 * sent <= most < 3 * sent

    with_broker(scenario)


def test_a_group_that_is_not_there_is_counted_with_the_error_that_names_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sizes: list[int] = []
    take_room = context.Context.take_room

    async def counted(ctx: context.Context, size: int) -> None:
        sizes.append(size)
        await take_room(ctx, size)

    monkeypatch.setattr(context.Context, "take_room", counted)

    async def scenario(broker: Broker) -> None:
        names = [f"{number:03}".ljust(3000, "g") for number in range(100)]
        _, sent = await most_held(broker, DescribeGroupsRequest(groups=names), 6)
        assert sent > 600_000
        assert 2 * sent <= sum(sizes)

    with_broker(scenario)
