"""Answers that clients do not read: counted until they are, and no more are made than there is room
for.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from tests.unit.broker.brokers import ShiftedLoop, until
from tests.unit.broker.connections import Client, memory_broker
from tests.wire.requests import batch, fetch, produce

from kafkaesque.broker.broker import Broker
from kafkaesque.broker.budget import Budget
from kafkaesque.broker.long_requests import LongRequests, Room
from kafkaesque.broker.topics import NewTopic
from kafkaesque.protocol.messages.describe_groups import DescribeGroupsRequest
from kafkaesque.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from kafkaesque.protocol.messages.list_groups import ListGroupsRequest

LIMIT = 2_000_000
ANSWER_BYTES = 30 * 30_000
VERSION = 4


def with_long_answers(scenario: Callable[[Broker], Coroutine[Any, Any, None]]) -> None:
    """ListGroups is a question of twenty bytes, and is answered with almost a megabyte."""

    async def main() -> None:
        broker = await memory_broker({"queued.max.request.bytes": str(LIMIT)})
        for number in range(ANSWER_BYTES // 30_000):
            broker.coordinator.table.create(f"{number:04}".ljust(30_000, "g"), 0)
        await scenario(broker)
        await until(lambda: not (broker.budget.used or broker.budget.unread))
        await broker.close()

    asyncio.run(main())


def in_a_loop(
    scenario: Callable[[Budget, LongRequests, ShiftedLoop], Coroutine[Any, Any, None]],
) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, ShiftedLoop)
        budget = Budget(LIMIT, loop)
        await scenario(budget, LongRequests(budget, loop), loop)

    with asyncio.Runner(loop_factory=ShiftedLoop) as runner:
        runner.run(main())


def leave_unread(budget: Budget, size: int) -> None:
    budget.used += size - budget.unread
    budget.unread = size


async def settled() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def test_where_answers_are_not_read_one_more_is_made_each_second() -> None:
    async def scenario(budget: Budget, requests: LongRequests, loop: ShiftedLoop) -> None:
        leave_unread(budget, LIMIT - 1)
        (await requests.enter(LIMIT)).leave()
        entering = asyncio.ensure_future(requests.enter(LIMIT))
        await settled()
        assert not entering.done()
        loop.shift_ms += 1100
        (await entering).leave()

    in_a_loop(scenario)


def test_where_all_of_the_budget_is_not_read_no_more_is_made_until_it_is() -> None:
    async def scenario(budget: Budget, requests: LongRequests, loop: ShiftedLoop) -> None:
        leave_unread(budget, LIMIT + 1)
        entering = asyncio.ensure_future(requests.enter(1))
        await settled()
        loop.shift_ms += 60_000
        await settled()
        assert not entering.done()
        leave_unread(budget, 0)
        (await entering).leave()

    in_a_loop(scenario)


def test_nor_for_who_has_begun_and_wants_more_room() -> None:
    async def scenario(budget: Budget, requests: LongRequests, loop: ShiftedLoop) -> None:
        room: Room = await requests.enter(1)
        leave_unread(budget, LIMIT + 1)
        enlarging = asyncio.ensure_future(room.enlarge(LIMIT))
        await settled()
        assert not enlarging.done()
        leave_unread(budget, 0)
        await enlarging
        room.leave()

    in_a_loop(scenario)


def test_clients_that_do_not_read_are_not_answered_beyond_the_budget() -> None:
    async def scenario(broker: Broker) -> None:
        clients = [Client(broker, room=0) for _ in range(30)]
        for client in clients:
            client.send(ListGroupsRequest(), VERSION)
        await until(lambda: broker.budget.unread > LIMIT // 4)
        for _ in range(2000):
            await asyncio.sleep(0)
        kept = sum(client.wire.get_write_buffer_size() for client in clients)
        assert broker.budget.unread == kept
        assert kept <= LIMIT // 4 + 2 * ANSWER_BYTES
        # Who comes now and asks little is answered at once.
        join = JoinGroupRequest(
            group_id="new",
            session_timeout_ms=10_000,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name="range", metadata=b"")],
        )
        assert (await Client(broker).call(join, 5)).error_code == 79
        for client in clients:
            client.cut()

    with_long_answers(scenario)


def test_what_was_fetched_and_is_not_read_holds_up_nobody_who_asks_much() -> None:
    async def scenario(broker: Broker) -> None:
        await broker.topics.create(NewTopic("t", 1))
        await Client(broker).call(produce("t", 0, batch([bytes(900_000)])), 9)
        readers = [Client(broker, room=0) for _ in range(4)]
        for reader in readers:
            reader.send(fetch("t", 0, 0, max_bytes=LIMIT), 11)
        await until(lambda: broker.budget.used > LIMIT * 3 // 4)
        assert broker.budget.unread == 0
        for _ in range(3):
            await Client(broker).call(ListGroupsRequest(), VERSION)
        for reader in readers:
            reader.cut()

    with_long_answers(scenario)


def test_of_an_answer_that_is_read_in_part_all_is_kept() -> None:
    async def scenario(broker: Broker) -> None:
        client = Client(broker, room=ANSWER_BYTES - 100_000)
        client.send(ListGroupsRequest(), VERSION)
        await until(lambda: broker.budget.unread > 0)
        assert client.wire.get_write_buffer_size() < 200_000
        assert broker.budget.unread > ANSWER_BYTES
        await until(lambda: bool(client.answers()))

    with_long_answers(scenario)


def test_of_a_large_answer_all_is_kept_however_little_is_left_of_it() -> None:
    async def scenario(broker: Broker) -> None:
        client = Client(broker)
        await client.call(ListGroupsRequest(), VERSION)
        size = broker.traffic.sent_bytes
        client.wire.room = size - 10
        client.send(ListGroupsRequest(), VERSION)
        await until(lambda: bool(client.wire.sent))
        assert client.wire.get_write_buffer_size() == 10
        assert broker.budget.unread == size
        await until(lambda: bool(client.answers()))

    with_long_answers(scenario)


def test_answers_behind_one_that_waits_are_counted_too_and_end_with_their_connection() -> None:
    async def scenario(broker: Broker) -> None:
        client = Client(broker)
        place = client.connection._new_place(0)
        client.send(ListGroupsRequest(), VERSION)
        await until(lambda: broker.budget.unread > ANSWER_BYTES)
        assert not client.wire.sent
        client.connection._fill(place, [])
        await until(lambda: bool(client.answers()))
        assert broker.budget.unread == 0

        client.connection._new_place(0)
        client.send(ListGroupsRequest(), VERSION)
        await until(lambda: broker.budget.unread > ANSWER_BYTES)
        client.cut()

    with_long_answers(scenario)


def test_who_reads_a_little_now_and_then_is_complained_of_when_others_need_the_bytes() -> None:
    async def scenario(broker: Broker) -> None:
        client = Client(broker, room=0)
        client.send(ListGroupsRequest(), VERSION)
        await until(lambda: broker.budget.unread > 0)
        complaint = client.connection.complaint
        leave_unread(broker.budget, broker.budget.unread + LIMIT)
        assert complaint() is None
        for room, complains in ((5000, True), (ANSWER_BYTES // 10, False)):
            client.wire.room = room
            client.wire.take()
            assert bool(complaint()) is complains
        leave_unread(broker.budget, broker.budget.unread - LIMIT)
        client.cut()

    with_long_answers(scenario)


def test_texts_count_in_the_room_of_a_long_request() -> None:
    """One emoji, and each letter of a name takes four bytes."""

    async def scenario(broker: Broker) -> None:
        names = [f"{number:04}\N{SNAKE}".ljust(30_000, "n") for number in range(8)]
        client = Client(broker)
        client.send(DescribeGroupsRequest(groups=names), VERSION)
        most = 0
        while not client.wire.sent:
            most = max(most, broker.long_requests._held)
            await asyncio.sleep(0)
        assert most > 4 * 8 * 30_000

    with_long_answers(scenario)
