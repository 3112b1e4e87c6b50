"""What one connection may have in flight, and how its requests wait for each other."""

import asyncio
import logging
import struct
from collections.abc import Callable, Coroutine, Generator, Mapping
from importlib import import_module
from typing import Any

import pytest
from tests.unit.broker.connections import Client, EndlessTurn, memory_broker
from tests.wire.requests import batch, create_topic, fetch, produce, produce_answer

from kafkaesque.broker import steps
from kafkaesque.broker.broker import Broker
from kafkaesque.broker.topics import NewTopic
from kafkaesque.errors import ErrorCode
from kafkaesque.log.memory import MemorySlice
from kafkaesque.log.slices import KnownSlice
from kafkaesque.protocol.messages.describe_cluster import DescribeClusterRequest
from kafkaesque.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafkaesque.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafkaesque.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from kafkaesque.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from kafkaesque.types import Buffer

MB = 1 << 20
PER_CONNECTION = "queued.max.request.bytes.per.connection"
LONG_MS = 60_000


def with_broker(
    scenario: Callable[[Broker], Coroutine[Any, Any, None]],
    settings: Mapping[str, str] | None = None,
    megabytes: int = 0,
) -> None:
    """With a topic `t` of so many batches of a megabyte."""

    async def main() -> None:
        broker = await memory_broker(settings)
        topic = await broker.topics.create(NewTopic("t", 1))
        for _ in range(megabytes):
            topic.partition(0).append(memoryview(batch([bytes(MB - 100)])))
        await scenario(broker)
        await broker.close()

    asyncio.run(main())


def long_poll(min_bytes: int = 1, offset: int = 0, max_wait_ms: int = LONG_MS) -> FetchRequest:
    wanted = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=100 * MB)
    return FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=min_bytes,
        max_bytes=100 * MB,
        session_epoch=-1,
        topics=[FetchTopic(topic="t", partitions=[wanted])],
    )


async def settled() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


def test_answers_that_are_ready_behind_one_that_is_not_are_in_flight() -> None:
    async def scenario(broker: Broker) -> None:
        client = Client(broker)
        client.send(long_poll(offset=10), 11)
        for _ in range(20):
            client.send(fetch("t", 0, 0, max_bytes=MB), 11)
        # The first that would be too much, and all after it, are not begun.
        assert 4 * MB <= client.connection._held < 6 * MB
        assert not client.wire.reads
        assert client.connection._held == broker.budget.used
        broker.topics.named("t").partition(0).wake_watchers()
        await settled()
        assert len(client.answers()) == 21
        assert (client.connection._held, client.wire.reads) == (0, True)

    with_broker(scenario, {PER_CONNECTION: str(4 * MB)}, megabytes=10)


def test_a_client_that_does_not_read_is_not_read_from_until_it_does() -> None:
    async def scenario(broker: Broker) -> None:
        client = Client(broker, room=0)
        for _ in range(20):
            client.send(fetch("t", 0, 0, max_bytes=MB), 11)
        assert 4 * MB <= client.connection._held < 6 * MB
        assert not client.wire.reads
        client.wire.room = 1 << 40
        found = []
        while client.connection._held:
            found += client.answers()
            await asyncio.sleep(0)
        found += client.answers()
        assert len(found) == 20
        assert client.wire.reads

    with_broker(scenario, {PER_CONNECTION: str(4 * MB)}, megabytes=1)


def test_slow_readers_share_the_brokers_budget() -> None:
    async def scenario(broker: Broker) -> None:
        clients = [Client(broker, room=0) for _ in range(100)]
        for client in clients:
            client.send(long_poll(min_bytes=8 * MB), 11)
        assert broker.budget.used <= 20 * MB + 2 * MB
        # Whoever reads is served, one after the other.
        for client in clients:
            client.wire.room = 1 << 40
        answered = 0
        while answered < 100:
            answered += sum(len(client.answers()) for client in clients)
            await asyncio.sleep(0)
        assert broker.budget.used == 0

    with_broker(scenario, {"queued.max.request.bytes": str(20 * MB)}, megabytes=9)


def test_fetches_that_wait_for_weeks_do_not_hold_the_budget(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(import_module("kafkaesque.broker.apis.fetch"), "_SHORT_WAIT_MS", 1)

    async def scenario(broker: Broker) -> None:
        for _ in range(20):
            greedy = Client(broker)
            for _ in range(128):
                greedy.queue(long_poll(max_wait_ms=2**31 - 1), 11)
            greedy.flush()
        assert broker.budget.waiting
        client = Client(broker)
        client.send(produce("t", 0, batch([bytes(900_000)])), 9)
        async with asyncio.timeout(20):
            while not client.answers():
                await asyncio.sleep(0.001)

    with_broker(scenario, {"queued.max.request.bytes": str(MB)})


def test_a_fetch_that_waits_for_megabytes_keeps_none(monkeypatch: pytest.MonkeyPatch) -> None:
    reads = []

    def read(there: MemorySlice | KnownSlice) -> Buffer:
        reads.append(there)
        return there.read()

    for kind in (MemorySlice, KnownSlice):
        monkeypatch.setattr(kind, "read_nowait", read)

    async def scenario(broker: Broker) -> None:
        client = Client(broker)
        for _ in range(50):
            client.send(long_poll(min_bytes=50 * MB), 11)
        assert (len(client.connection._line), reads) == (50, [])
        assert client.connection._held < MB
        broker.topics.named("t").partition(0).wake_watchers()
        await settled()
        assert len(client.answers()) == 50

    with_broker(scenario, megabytes=5)


def test_a_response_holds_eight_megabytes_whatever_is_waited_for() -> None:
    async def scenario(broker: Broker) -> None:
        client = Client(broker)
        answer = await client.call(long_poll(min_bytes=10 * MB), 11)
        assert 7 * MB < len(answer.responses[0].partitions[0].records) <= 8 * MB

    with_broker(scenario, megabytes=11)


def test_a_long_poll_waits_until_min_bytes_are_there_even_if_it_gets_less_at_a_time() -> None:
    async def scenario(broker: Broker) -> None:
        client = Client(broker)
        client.send(long_poll(min_bytes=10 * MB), 11)
        assert client.answers() == []
        partition = broker.topics.named("t").partition(0)
        for _ in range(2):
            await settled()
            assert client.answers() == []
            partition.append(memoryview(batch([bytes(MB - 100)])))
        await settled()
        assert len(client.answers()) == 1

    with_broker(scenario, megabytes=9)


def test_small_requests_get_through_when_the_budget_is_used_up() -> None:
    async def scenario(broker: Broker) -> None:
        broker.budget.used = broker.budget.limit
        client, producer = Client(broker), Client(broker)
        client.send(DescribeClusterRequest(), 2)
        assert len(client.answers()) == 1
        producer.send(produce("t", 0, batch([bytes(100_000)])), 9)
        assert (producer.answers(), producer.wire.reads) == ([], False)
        broker.budget.give_back(MB)
        await settled()
        (answer,) = producer.answers()
        assert produce_answer(answer).error_code == 0
        assert producer.wire.reads

    with_broker(scenario)


def test_frames_that_together_exceed_the_budget_go_one_after_the_other() -> None:
    async def scenario(broker: Broker) -> None:
        clients = [Client(broker) for _ in range(20)]
        frames = [c.frame(produce("t", 0, batch([bytes(900_000)])), 9) for c in clients]
        left = list(frames)
        answers = []
        for _ in range(10_000):
            for number, client in enumerate(clients):
                taken = client.send_bytes(left[number][:50_000])
                left[number] = left[number][taken:]
                answers += client.answers()
            assert broker.budget.used <= MB + 2 * MB
            await asyncio.sleep(0)
            if len(answers) == 20:
                break
        assert [produce_answer(answer).error_code for answer in answers] == [0] * 20
        assert (broker.budget.used, not broker.budget.waiting) == (0, True)

    with_broker(scenario, {"queued.max.request.bytes": str(MB)})


def test_a_frame_that_alone_exceeds_both_budgets_goes_through() -> None:
    async def scenario(broker: Broker) -> None:
        client = Client(broker)
        frame = client.frame(produce("t", 0, batch([bytes(900_000)])), 9)
        assert client.send_bytes(frame) == len(frame)
        assert len(client.answers()) == 1

    with_broker(scenario, {"queued.max.request.bytes": "1000", PER_CONNECTION: "1000"})


@pytest.mark.parametrize("at_once", [1, 3, 7, 100])
def test_a_frame_may_come_in_parts_of_any_size(at_once: int) -> None:
    async def scenario(broker: Broker) -> None:
        client = Client(broker)
        frame = client.frame(produce("t", 0, batch([b"value"])), 9)
        for start in range(0, len(frame), at_once):
            client.send_bytes(frame[start : start + at_once])
        (answer,) = client.answers()
        assert produce_answer(answer).error_code == 0
        assert broker.budget.used == 0

    with_broker(scenario)


def test_thousands_of_requests_in_one_read_leave_room_for_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scenario(broker: Broker) -> None:
        monkeypatch.setattr(EndlessTurn, "is_spent", lambda *read, **frame: True)
        client = Client(broker)
        for _ in range(40):
            client.queue(DescribeClusterRequest(), 2)
        client.flush()
        assert len(client.answers()) == 8
        while not client.wire.reads:
            await asyncio.sleep(0)
        await settled()
        assert len(client.answers()) == 32

    with_broker(scenario)


def test_a_large_request_is_answered_before_what_follows_it() -> None:
    async def scenario(broker: Broker) -> None:
        client = Client(broker)
        names = [MetadataRequestTopic(name=f"no-such-{n}") for n in range(5000)]
        request = MetadataRequest(topics=names, allow_auto_topic_creation=False)
        client.queue(request, 9)
        client.queue(ListGroupsRequest(), 4)
        client.flush()
        assert client.answers() == []
        found: list[Any] = []
        while len(found) < 2:
            found += client.answers()
            await asyncio.sleep(0)
        assert [type(answer) for answer in found] == [MetadataResponse, ListGroupsResponse]
        assert len(found[0].topics) == 5000
        assert broker.budget.used == 0

    with_broker(scenario)


def test_a_request_of_a_million_elements_closes_its_connection_alone(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def scenario(broker: Broker) -> None:
        client, bystander = Client(broker), Client(broker)
        keys = struct.pack(">hhih", 10, 4, 1, -1) + b"\0\0" + b"\xc1\x84\x3d" + bytes([1]) * 10**6
        with caplog.at_level(logging.WARNING):
            client.send_bytes(struct.pack(">i", len(keys)) + keys)
            while not client.wire.is_closed:
                await asyncio.sleep(0)
        assert "too many elements" in caplog.text
        await settled()
        assert broker.budget.used == 0
        answer = await bystander.call(FindCoordinatorRequest(key="g"), 3)
        assert answer.error_code == 0

    with_broker(scenario)


def test_a_frame_that_stops_coming_is_complained_of_and_one_that_goes_on_is_not() -> None:
    async def scenario(broker: Broker) -> None:
        client = Client(broker)
        client.send_bytes(struct.pack(">i", 100 * MB) + b"x")
        assert client.connection._held < 20_000
        assert client.connection.complaint() is None
        client.send_bytes(bytes(5000))
        assert client.connection.complaint() is None
        client.send_bytes(b"x")
        assert "5002 bytes of a frame of 104857600" in (client.connection.complaint() or "")

    with_broker(scenario)


def test_a_client_that_reads_nothing_is_complained_of_when_others_need_the_bytes() -> None:
    async def scenario(broker: Broker) -> None:
        client = Client(broker, room=0)
        client.send(fetch("t", 0, 0, max_bytes=MB), 11)
        complaint = client.connection.complaint
        assert (complaint(), complaint()) == (None, None)
        broker.budget.used = broker.budget.limit
        assert "wait to be read" in (complaint() or "")
        client.wire.room = 100_000
        client.answers()
        assert complaint() is None

    with_broker(scenario, megabytes=1)


def test_a_slow_client_that_reads_on_is_not_complained_of_whatever_else_it_asks_for() -> None:
    async def scenario(broker: Broker) -> None:
        client = Client(broker, room=0)
        client.send(fetch("t", 0, 0, max_bytes=MB), 11)
        broker.budget.used = broker.budget.limit // 2 + 1
        assert client.connection.complaint() is None
        client.wire.room = 100_000
        client.answers()
        client.send(fetch("t", 0, 0, max_bytes=MB), 11)
        # More waits for it than before, and it has taken a good deal.
        assert client.connection.complaint() is None

    with_broker(scenario, megabytes=1)


def test_what_a_slow_client_has_read_is_not_in_flight_any_more() -> None:
    async def scenario(broker: Broker) -> None:
        client = Client(broker, room=500_000)
        for _ in range(20):
            client.send(fetch("t", 0, 0, max_bytes=MB), 11)
            client.answers()
            client.answers()
        unsent = client.wire.get_write_buffer_size()
        assert unsent > 0
        assert broker.budget.used <= unsent + MB

    with_broker(scenario, megabytes=1)


def test_a_frame_that_had_to_wait_for_the_budget_is_not_complained_of() -> None:
    async def scenario(broker: Broker) -> None:
        client = Client(broker)
        client.send_bytes(struct.pack(">i", 100 * MB) + b"x")
        broker.budget.used += broker.budget.limit
        assert client.send_bytes(bytes(MB)) < MB
        assert client.connection.complaint() is None
        broker.budget.give_back(broker.budget.limit)
        await settled()
        assert client.wire.reads
        # It may go on from now on: nothing has come yet.
        assert client.connection.complaint() is None
        assert "and no more do" in (client.connection.complaint() or "")

    with_broker(scenario)


def test_who_comes_when_there_is_no_room_is_let_in_when_there_is() -> None:
    async def scenario(broker: Broker) -> None:
        first, second = Client(broker), Client(broker)
        assert (first.wire.is_closed, second.wire.is_closed) == (False, True)
        await settled()
        first.cut()
        third = Client(broker)
        third.send(DescribeClusterRequest(), 2)
        assert len(third.answers()) == 1

    with_broker(scenario, {"max.connections": "1"})


@pytest.mark.parametrize("is_long", [False, True])
@pytest.mark.parametrize(
    ("request_", "version"), [(ListGroupsRequest(), 4), (DescribeClusterRequest(), 0)]
)
def test_an_answer_that_cannot_be_encoded_is_answered_as_an_error(
    monkeypatch: pytest.MonkeyPatch, request_: object, version: int, is_long: bool
) -> None:
    def failing(response: object, version: int) -> Generator[None, None, None]:
        if is_long:
            yield
        raise struct.error

    async def scenario(broker: Broker) -> None:
        monkeypatch.setattr(steps, "encode_in_steps", failing)
        client = Client(broker)
        client.send(request_, version)
        await settled()
        (answer,) = client.answers()
        assert answer.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
        assert broker.budget.used == 0

    with_broker(scenario)


@pytest.mark.parametrize("version", [4, 7])
def test_an_error_that_repeats_a_long_word_of_the_request_is_answered(version: int) -> None:
    async def scenario(broker: Broker) -> None:
        client = Client(broker)
        client.send(create_topic("q", 1, retention_ms="x" * 32_767), version)
        await settled()
        (answer,) = client.answers()
        assert answer.topics[0].error_code == ErrorCode.INVALID_CONFIG
        assert answer.topics[0].error_message.endswith("x…")

    with_broker(scenario)
