"""Long requests are under way as far as there is room for what they come to."""

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

import pytest
from tests.unit.broker.brokers import ShiftedLoop, until
from tests.unit.broker.connections import Client, memory_broker
from tests.wire.requests import batch, produce

from kafkaesque.broker.apis import context
from kafkaesque.broker.broker import Broker
from kafkaesque.broker.budget import Budget
from kafkaesque.broker.long_requests import LongRequests, Room
from kafkaesque.broker.slices import Slices
from kafkaesque.broker.topics import NewTopic
from kafkaesque.protocol.messages.describe_groups import DescribeGroupsRequest
from kafkaesque.protocol.messages.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from kafkaesque.protocol.messages.list_groups import ListGroupsRequest
from kafkaesque.protocol.messages.list_transactions import ListTransactionsRequest
from kafkaesque.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from kafkaesque.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kafkaesque.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
)
from kafkaesque.protocol.messages.sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
)

LIMIT = 1000


class Visit:
    """Somebody who enters, stays, and leaves when told to."""

    def __init__(self, requests: LongRequests, size: int, elements: int = 0) -> None:
        self.is_in = False
        self._leave = asyncio.Event()
        self.task = asyncio.ensure_future(self._visit(requests, size, elements))

    async def _visit(self, requests: LongRequests, size: int, elements: int) -> None:
        room = await requests.enter(size, elements)
        self.is_in = True
        try:
            await self._leave.wait()
        finally:
            room.leave()

    async def leave(self) -> None:
        self._leave.set()
        await self.task


def in_a_loop(
    scenario: Callable[[Budget, LongRequests, ShiftedLoop], Coroutine[Any, Any, None]],
) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, ShiftedLoop)
        budget = Budget(LIMIT, loop)
        await scenario(budget, LongRequests(budget, loop), loop)
        assert budget.used == 0

    with asyncio.Runner(loop_factory=ShiftedLoop) as runner:
        runner.run(main())


async def settled() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def test_half_of_the_budget_is_for_them_and_one_may_be_larger() -> None:
    async def scenario(budget: Budget, requests: LongRequests, loop: ShiftedLoop) -> None:
        large = Visit(requests, 5 * LIMIT)
        await until(lambda: large.is_in)
        others = [Visit(requests, 200) for _ in range(3)]
        await settled()
        assert (budget.used, [each.is_in for each in others]) == (LIMIT // 2, [False] * 3)
        await large.leave()
        await settled()
        assert (budget.used, [each.is_in for each in others]) == (400, [True, True, False])
        await others[0].leave()
        await settled()
        assert others[2].is_in
        await others[1].leave()
        await others[2].leave()

    in_a_loop(scenario)


def test_those_that_ask_less_come_first_but_not_for_ever() -> None:
    async def scenario(budget: Budget, requests: LongRequests, loop: ShiftedLoop) -> None:
        first = Visit(requests, LIMIT)
        await until(lambda: first.is_in)
        long = Visit(requests, LIMIT, elements=100_000)
        await settled()
        short = Visit(requests, LIMIT, elements=1000)
        await settled()
        loop.shift_ms += 11_000
        # A second without anybody has passed, too.
        await until(lambda: short.is_in)
        late = Visit(requests, LIMIT, elements=1000)
        await settled()
        await first.leave()
        await short.leave()
        await until(lambda: long.is_in)
        assert not late.is_in
        await long.leave()
        await until(lambda: late.is_in)
        await late.leave()

    in_a_loop(scenario)


def test_where_none_comes_to_its_end_they_hold_twice_the_budget_at_most() -> None:
    async def scenario(budget: Budget, requests: LongRequests, loop: ShiftedLoop) -> None:
        visits = [Visit(requests, LIMIT // 2) for _ in range(6)]
        for _ in visits:
            await settled()
            loop.shift_ms += 1100
            requests._look_again()
        await settled()
        assert [visit.is_in for visit in visits] == [True] * 4 + [False] * 2
        for visit in visits:
            await until(lambda visit=visit: visit.is_in)  # type: ignore[misc]
            await visit.leave()

    in_a_loop(scenario)


def test_room_that_others_give_back_is_found() -> None:
    async def scenario(budget: Budget, requests: LongRequests, loop: ShiftedLoop) -> None:
        first = Visit(requests, 100)
        await until(lambda: first.is_in)
        budget.used += LIMIT - 200
        second = Visit(requests, 200)
        await settled()
        assert not second.is_in
        budget.give_back(LIMIT - 200)
        await until(lambda: second.is_in)
        await first.leave()
        await second.leave()

    in_a_loop(scenario)


@pytest.mark.parametrize("turns", range(4))
def test_who_gives_up_holds_nothing(turns: int) -> None:
    async def scenario(budget: Budget, requests: LongRequests, loop: ShiftedLoop) -> None:
        first = Visit(requests, LIMIT)
        await until(lambda: first.is_in)
        second, third = Visit(requests, LIMIT), Visit(requests, LIMIT)
        await settled()
        leaving = asyncio.ensure_future(first.leave())
        for _ in range(turns):
            await asyncio.sleep(0)
        second.task.cancel()
        await leaving
        await until(lambda: third.is_in)
        assert budget.used == LIMIT // 2
        await third.leave()

    in_a_loop(scenario)


def test_one_that_comes_to_more_than_all_may_hold_keeps_nobody_behind_it() -> None:
    """A poll waits for what may never come: beside it there was never nothing under way."""

    async def scenario(budget: Budget, requests: LongRequests, loop: ShiftedLoop) -> None:
        hung = Visit(requests, 100)
        await until(lambda: hung.is_in)
        visits = [Visit(requests, 5 * LIMIT), Visit(requests, 100)]
        await settled()
        assert not any(visit.is_in for visit in visits)
        loop.shift_ms += 1100
        await until(lambda: visits[0].is_in)
        await visits[0].leave()
        await until(lambda: visits[1].is_in)
        await visits[1].leave()
        await hung.leave()

    in_a_loop(scenario)


def test_beside_one_that_only_waits_another_may_be_under_way() -> None:
    async def scenario(budget: Budget, requests: LongRequests, loop: ShiftedLoop) -> None:
        room = await requests.enter(100)
        room.rest()
        large = Visit(requests, 5 * LIMIT)
        await settled()
        assert large.is_in
        await large.leave()
        assert budget.used == 100
        room.leave()

    in_a_loop(scenario)


def test_the_oldest_polls_end_where_they_hold_half_of_the_budget() -> None:
    async def scenario(budget: Budget, requests: LongRequests, loop: ShiftedLoop) -> None:
        ended: list[int] = []
        rooms = []
        for number in range(5):
            rooms.append(room := await requests.enter(200))
            room.rest(partial(ended.append, number))
        # Three more come to 600, and one leaves by itself.
        assert ended == [0, 1, 2]
        rooms[3].leave()
        rooms.append(room := await requests.enter(200))
        room.rest(partial(ended.append, 5))
        assert ended == [0, 1, 2]
        for room in rooms:
            room.leave()
        assert not requests._polls
        assert requests._held_by_polls == 0

    in_a_loop(scenario)


def test_those_that_want_more_room_do_not_wait_for_each_other() -> None:
    async def scenario(budget: Budget, requests: LongRequests, loop: ShiftedLoop) -> None:
        rooms = [await requests.enter(200) for _ in range(2)]
        tasks = [asyncio.ensure_future(room.enlarge(900)) for room in rooms]
        newcomer = Visit(requests, 100)
        await settled()
        assert [task.done() for task in tasks] == [True, False]
        assert not newcomer.is_in
        assert rooms[0].size == 1100
        rooms[0].leave()
        await settled()
        assert tasks[1].done()
        rooms[1].leave()
        await until(lambda: newcomer.is_in)
        await newcomer.leave()

    in_a_loop(scenario)


def test_those_that_want_more_room_let_nobody_in_that_has_not_begun() -> None:
    """Else each that has begun would let in another."""

    async def scenario(budget: Budget, requests: LongRequests, loop: ShiftedLoop) -> None:
        first = await requests.enter(LIMIT)
        room = await _entered_late(requests, loop, LIMIT)
        enlarging = asyncio.ensure_future(room.enlarge(LIMIT))
        newcomers = [Visit(requests, LIMIT // 4) for _ in range(5)]
        await settled()
        assert not enlarging.done()
        first.leave()
        await settled()
        assert enlarging.done()
        assert not any(visit.is_in for visit in newcomers)
        room.leave()
        await settled()
        assert [visit.is_in for visit in newcomers] == [True, True, False, False, False]
        for visit in newcomers:
            await until(lambda visit=visit: visit.is_in)  # type: ignore[misc]
            await visit.leave()

    in_a_loop(scenario)


async def _entered_late(requests: LongRequests, loop: ShiftedLoop, size: int) -> Room:
    entering = asyncio.ensure_future(requests.enter(size))
    await settled()
    loop.shift_ms += 1100
    return await entering


def test_polls_that_have_ended_are_under_way_again() -> None:
    """Their disk may hang: with what they hold they must not let in one after the other."""

    async def scenario(budget: Budget, requests: LongRequests, loop: ShiftedLoop) -> None:
        rooms = []
        for _ in range(4):
            rooms.append(room := await _entered_late(requests, loop, LIMIT // 2))
            room.rest(room.go_on)
        assert requests._under_way == 3
        newcomer = Visit(requests, LIMIT // 2)
        await settled()
        assert not newcomer.is_in
        for room in rooms:
            room.leave()
        await until(lambda: newcomer.is_in)
        await newcomer.leave()

    in_a_loop(scenario)


@pytest.mark.parametrize("turns", range(4))
def test_who_gives_up_while_it_wants_more_room_holds_nothing(turns: int) -> None:
    async def scenario(budget: Budget, requests: LongRequests, loop: ShiftedLoop) -> None:
        first, second = [await requests.enter(200) for _ in range(2)]
        wanting = asyncio.ensure_future(second.enlarge(900))
        await settled()
        first.leave()
        for _ in range(turns):
            await asyncio.sleep(0)
        wanting.cancel()
        await asyncio.wait([wanting])
        second.leave()
        assert (budget.used, requests._held, requests._under_way) == (0, 0, 0)

    in_a_loop(scenario)


def with_broker(
    scenario: Callable[[Broker], Coroutine[Any, Any, None]], limit: int = 1_000_000
) -> None:
    async def main() -> None:
        settings = {
            "queued.max.request.bytes": str(limit),
            "auto.create.topics.enable": "true",
            "group.initial.rebalance.delay.ms": "50",
        }
        broker = await memory_broker(settings)
        await scenario(broker)
        await broker.close()

    asyncio.run(main())


def many_names(prefix: str, number: int = 5000, *, creates: bool = False) -> MetadataRequest:
    topics = [MetadataRequestTopic(name=f"{prefix}{number}") for number in range(number)]
    return MetadataRequest(topics=topics, allow_auto_topic_creation=creates)


def commit(partitions: int) -> OffsetCommitRequest:
    numbers = [OffsetCommitRequestPartition(partition_index=n) for n in range(partitions)]
    topic = OffsetCommitRequestTopic(name="t", partitions=numbers)
    return OffsetCommitRequest(group_id="g", topics=[topic])


def join() -> JoinGroupRequest:
    protocol = JoinGroupRequestProtocol(name="range", metadata=b"")
    return JoinGroupRequest(
        group_id="g",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
        protocol_type="consumer",
        protocols=[protocol],
    )


def sync(joined: JoinGroupResponse, assignments: list[SyncGroupRequestAssignment]) -> Any:
    return SyncGroupRequest(
        group_id="g",
        generation_id=joined.generation_id,
        member_id=joined.member_id,
        assignments=assignments,
    )


def test_thirty_long_requests_are_answered_and_hold_what_one_does() -> None:
    async def scenario(broker: Broker) -> None:
        clients = [Client(broker) for _ in range(30)]
        for client in clients:
            client.send(many_names("no", 1500), 1)
        most = 0
        while not all(client.wire.sent for client in clients):
            await asyncio.sleep(0)
            most = max(most, broker.budget.used)
        # Before it is decoded, one may come to 4 MB. All of them decoded are 9 MB and more.
        assert most < 5_000_000
        (answer,) = clients[0].answers()
        assert len(answer.topics) == 1500
        await until(lambda: not broker.budget.used)

    with_broker(scenario)


def test_questions_and_what_has_not_begun_end_with_their_connection() -> None:
    async def scenario(broker: Broker) -> None:
        broker.slices = Slices(iter(range(10**9)).__next__)
        requests = [many_names("no"), commit(5000), ListGroupsRequest(states_filter=["x"] * 500)]
        clients = [Client(broker) for _ in requests]
        for client, request in zip(clients, requests, strict=True):
            client.send(request, 4)
        await settled()
        works = [work for client in clients for work in client.connection._under_way]
        assert len(works) == 3
        for client in clients:
            client.cut()
        await settled()
        assert all(work.cancelled() for work in works)
        assert broker.budget.used == 0

    with_broker(scenario)


def test_a_change_that_has_begun_holds_its_bytes_until_it_ends() -> None:
    async def scenario(broker: Broker) -> None:
        await broker.topics.create(NewTopic("t", 200))
        broker.slices = Slices(iter(range(10**9)).__next__)
        client = Client(broker)
        client.send(commit(100), 4)
        await asyncio.sleep(0)
        (work,) = client.connection._under_way
        held = broker.budget.used
        client.cut()
        assert 0 < broker.budget.used == held
        await work
        await settled()
        assert broker.budget.used == 0
        assert len(broker.coordinator.table.offsets.of_group("g")) == 100

    with_broker(scenario)


def test_topics_that_are_being_created_are_created_though_nobody_waits() -> None:
    async def scenario(broker: Broker) -> None:
        client = Client(broker)
        client.send(many_names("new", 20, creates=True), 4)
        await until(lambda: "new3" in broker.topics)
        client.cut()
        await until(lambda: "new19" in broker.topics and not broker.budget.used)

    with_broker(scenario)


async def answer_once_there_is(room: Room, client: Client) -> Any:
    for _ in range(50):
        await asyncio.sleep(0)
    assert not client.answers()
    room.leave()
    await until(lambda: not client.connection.is_busy)
    (answer,) = client.answers()
    return answer


def test_long_answers_to_short_questions_wait_for_room_too() -> None:
    async def scenario(broker: Broker) -> None:
        await broker.topics.create(NewTopic("t", 2000))
        room = await broker.long_requests.enter(broker.budget.limit)
        client = Client(broker)
        client.send(MetadataRequest(topics=None), 4)
        answer = await answer_once_there_is(room, client)
        assert [len(topic.partitions) for topic in answer.topics] == [2000]

    with_broker(scenario)


@pytest.mark.parametrize(
    ("question", "version"),
    [
        (OffsetFetchRequest(group_id="g", topics=None), 2),
        (OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id="g", topics=None)]), 8),
        (DescribeGroupsRequest(groups=["g"]), 5),
        (ListTransactionsRequest(), 0),
    ],
    ids=["offsets of a group", "offsets of groups", "groups", "transactions"],
)
def test_what_has_a_long_answer_waits_for_room(
    question: Any, version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(context, "_LITTLE_BYTES", -1)
    monkeypatch.setattr(context, "_MUCH_BYTES", -1)

    async def scenario(broker: Broker) -> None:
        await broker.topics.create(NewTopic("t", 2000))
        client = Client(broker)
        await client.call(commit(2000), 4)
        room = await broker.long_requests.enter(broker.budget.limit)
        client.send(question, version)
        answer = await answer_once_there_is(room, client)
        if isinstance(question, OffsetFetchRequest):
            (topic,) = (answer.groups[0] if question.groups else answer).topics
            assert len(topic.partitions) == 2000
        await until(lambda: not broker.budget.used)

    with_broker(scenario)


def groups_of_long_names(broker: Broker, number: int) -> None:
    for index in range(number):
        broker.coordinator.table.create(f"{index:04}".ljust(30_000, "g"), 0)


def test_a_list_of_a_few_groups_with_long_names_waits_for_room() -> None:
    async def scenario(broker: Broker) -> None:
        groups_of_long_names(broker, 40)
        room = await broker.long_requests.enter(broker.budget.limit)
        client = Client(broker)
        client.send(ListGroupsRequest(), 4)
        assert len((await answer_once_there_is(room, client)).groups) == 40
        await until(lambda: not broker.budget.used)

    with_broker(scenario)


def test_what_is_not_much_is_counted_and_waits_for_nobody_long() -> None:
    async def scenario(broker: Broker) -> None:
        groups_of_long_names(broker, 4)
        room = await broker.long_requests.enter(2 * broker.budget.limit)
        before, most = broker.budget.used, 0
        client = Client(broker)
        client.send(ListGroupsRequest(), 4)
        while not client.wire.sent:
            most = max(most, broker.budget.used - before)
            await asyncio.sleep(0)
        assert most >= sum(map(len, client.wire.sent)) > 4 * 30_000
        room.leave()
        await until(lambda: not broker.budget.used)

    with_broker(scenario, limit=2_000_000)


def test_many_answers_that_are_not_much_wait_for_each_other() -> None:
    async def scenario(broker: Broker) -> None:
        groups_of_long_names(broker, 8)
        clients = [Client(broker) for _ in range(30)]
        for client in clients:
            client.send(ListGroupsRequest(), 4)
        most = 0
        while not all(client.wire.sent for client in clients):
            most = max(most, broker.budget.used)
            await asyncio.sleep(0)
        # Each comes to 480 KB: a quarter of the budget, and a half of it by turns.
        assert 1_000_000 < most < 3_100_000
        await until(lambda: not broker.budget.used)

    with_broker(scenario, limit=4_000_000)


def test_a_long_question_waits_for_the_room_of_its_answer() -> None:
    async def scenario(broker: Broker) -> None:
        await broker.topics.create(NewTopic("t", 2000))
        client = Client(broker)
        request = commit(2000)
        for partition in request.topics[0].partitions:
            partition.committed_metadata = "x" * 1500
        await client.call(request, 4)
        groups = [OffsetFetchRequestGroup(group_id=f"no{n}" * 20, topics=None) for n in range(300)]
        groups.append(OffsetFetchRequestGroup(group_id="g", topics=None))
        clients = [Client(broker) for _ in range(15)]
        for each in clients:
            each.send(OffsetFetchRequest(groups=groups), 8)
        most = 0
        while any(each.connection.is_busy for each in clients):
            await asyncio.sleep(0)
            most = max(most, broker.long_requests._held)
        # One comes to 10 MB, and before it is decoded it may come to as much.
        assert 10_000_000 < most < 21_000_000
        assert all(len(each.answers()) == 1 for each in clients)

    with_broker(scenario, limit=32_000_000)


def test_many_named_offsets_wait_for_room_but_a_few_do_not() -> None:
    async def scenario(broker: Broker) -> None:
        await broker.topics.create(NewTopic("t", 2000))
        client = Client(broker)
        await client.call(commit(2000), 4)
        room = await broker.long_requests.enter(broker.budget.limit)
        few = OffsetFetchRequestTopic(name="t", partition_indexes=[*range(1000)])
        await client.call(OffsetFetchRequest(group_id="g", topics=[few]), 2)
        many = OffsetFetchRequestTopic(name="t", partition_indexes=[*range(2000)])
        client.send(OffsetFetchRequest(group_id="g", topics=[many]), 2)
        await answer_once_there_is(room, client)

    with_broker(scenario)


def test_a_producer_that_wants_no_answer_may_go_when_it_has_sent_all() -> None:
    async def scenario(broker: Broker) -> None:
        await broker.topics.create(NewTopic("t", 300))
        request = produce("t", 0, batch([b"value"]), acks=0)
        topic = request.topic_data[0]
        for number in range(1, 300):
            topic.partition_data.append(
                type(topic.partition_data[0])(index=number, records=batch([b"value"]))
            )
        client = Client(broker)
        client.send(request, 9)
        assert client.connection._under_way
        client.cut()
        partitions = broker.topics.named("t").partitions
        await until(lambda: all(partition.log.end_offset == 1 for partition in partitions))
        await until(lambda: not broker.budget.used)

    with_broker(scenario, limit=100_000_000)


def test_whatever_long_requests_hold_half_of_the_budget_is_for_others() -> None:
    async def scenario(budget: Budget, requests: LongRequests, loop: ShiftedLoop) -> None:
        visits = []
        for _ in range(2):
            visits.append(visit := Visit(requests, LIMIT))
            loop.shift_ms += 2000
            await until(lambda visit=visit: visit.is_in)  # type: ignore[misc]
            assert budget.used == LIMIT // 2
        for visit in visits:
            await visit.leave()

    in_a_loop(scenario)


def test_an_answer_within_a_long_request_does_not_wait_for_its_own_room() -> None:
    async def scenario(broker: Broker) -> None:
        await broker.topics.create(NewTopic("t", 2000))
        client = Client(broker)
        request = many_names("no", 3000)
        assert request.topics is not None
        request.topics.append(MetadataRequestTopic(name="t"))
        client.send(request, 4)
        await until(lambda: not client.connection.is_busy)
        (answer,) = client.answers()
        assert len(answer.topics) == 3001
        await until(lambda: not broker.budget.used)

    with_broker(scenario)


def test_a_long_answer_about_one_topic_waits_for_room() -> None:
    async def scenario(broker: Broker) -> None:
        await broker.topics.create(NewTopic("t", 2000))
        room = await broker.long_requests.enter(broker.budget.limit)
        client = Client(broker)
        client.send(MetadataRequest(topics=[MetadataRequestTopic(name="t")]), 4)
        answer = await answer_once_there_is(room, client)
        assert [len(topic.partitions) for topic in answer.topics] == [2000]

    with_broker(scenario)


def test_an_answer_holds_its_room_until_it_is_encoded() -> None:
    async def scenario(broker: Broker) -> None:
        await broker.topics.create(NewTopic("t", 3000))
        clients = [Client(broker) for _ in range(5)]
        for client in clients:
            client.send(MetadataRequest(topics=[MetadataRequestTopic(name="t")]), 4)
        most = 0
        while any(client.connection.is_busy for client in clients):
            await asyncio.sleep(0)
            most = max(most, sum(len(client.connection._encoding) for client in clients))
        assert most == 1
        assert [len(client.answers()) for client in clients] == [1] * 5
        assert broker.budget.used == 0

    with_broker(scenario)


def test_who_waits_for_other_members_holds_nothing_that_others_need() -> None:
    async def scenario(broker: Broker) -> None:
        leader, follower = Client(broker), Client(broker)
        joining = [asyncio.ensure_future(client.call(join(), 3)) for client in (leader, follower)]
        joined = await asyncio.gather(*joining)
        if joined[0].leader != joined[0].member_id:
            leader, follower, joined = follower, leader, joined[::-1]
        assignments = [SyncGroupRequestAssignment(member_id=f"{n}") for n in range(20_000)]
        follower.send(sync(joined[1], assignments), 3)
        ((work, place),) = follower.connection._under_way.items()
        await until(lambda: place.context and place.context.waits)
        follower.cut()
        assert broker.budget.used == 0
        await leader.call(sync(joined[0], [SyncGroupRequestAssignment(member_id="x")]), 3)
        await work

    with_broker(scenario, limit=100_000_000)
