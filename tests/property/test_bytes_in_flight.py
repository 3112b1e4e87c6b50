"""Whatever clients do, and wherever they are cut off: what is in flight is the sum of what the
connections and long requests hold, stays within the budget, and is nothing when they have gone.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.broker.brokers import until
from tests.unit.broker.connections import Client, memory_broker
from tests.wire.requests import batch, fetch, produce

from kafkaesque.broker.broker import Broker
from kafkaesque.broker.topics import NewTopic
from kafkaesque.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic

KB = 1024
LIMIT, PER_CONNECTION = 300 * KB, 100 * KB
LARGEST = 130 * KB
"""Of a request or a response, decoded: beyond the limit by one of each client at most."""
CLIENTS = 4


@dataclass
class World:
    broker: Broker
    clients: list[Client] = field(default_factory=list)

    def check(self) -> None:
        held = [client.connection._held for client in self.clients]
        long = self.broker.budget.used_by_long
        assert self.broker.budget.used == sum(held) + long
        assert 0 <= long <= LIMIT // 2
        assert all(size >= 0 for size in held)
        assert self.broker.budget.used <= LIMIT + CLIENTS * LARGEST


Action = Callable[[World, Client], None]


def _produces(size: int) -> Action:
    return lambda world, client: client.send(produce("t", 0, batch([bytes(size)])), 9)


def _half_a_frame(world: World, client: Client) -> None:
    frame = client.frame(produce("t", 0, batch([bytes(90 * KB)])), 9)
    client.queue_bytes(frame[: len(frame) // 2])
    client.flush()
    client.rest = frame[len(frame) // 2 :]


def _fetches(world: World, client: Client) -> None:
    client.send(fetch("t", 0, 0, max_wait_ms=60_000, max_bytes=80 * KB), 11)


def _waits(world: World, client: Client) -> None:
    end = world.broker.topics.named("t").partition(0).log.end_offset
    client.send(fetch("t", 0, end, max_wait_ms=60_000), 11)


def _asks_much(world: World, client: Client) -> None:
    names = [MetadataRequestTopic(name=f"no-such-{number}") for number in range(700)]
    client.send(MetadataRequest(topics=names, allow_auto_topic_creation=False), 9)


def _stops_reading(world: World, client: Client) -> None:
    client.wire.room = 0


def _reads(world: World, client: Client) -> None:
    client.wire.room = 1 << 40
    client.wire.take()


def _is_cut_off(world: World, client: Client) -> None:
    client.cut()
    assert client.connection._held == 0
    world.clients[world.clients.index(client)] = Client(world.broker)


ACTIONS: list[Action] = [
    _produces(100),
    _produces(60 * KB),
    _half_a_frame,
    _fetches,
    _waits,
    _asks_much,
    _stops_reading,
    _reads,
    _is_cut_off,
]


async def _topic_with_records(broker: Broker) -> None:
    topic = await broker.topics.create(NewTopic("t", 1))
    topic.partition(0).append(memoryview(batch([bytes(60 * KB)])))


steps = st.tuples(st.integers(0, CLIENTS - 1), st.sampled_from(ACTIONS), st.integers(0, 3))


@given(history=st.lists(steps, max_size=40))
def test_what_is_in_flight_is_what_connections_and_long_requests_hold(
    history: list[tuple[int, Action, int]],
) -> None:
    async def scenario() -> None:
        settings = {
            "queued.max.request.bytes": str(LIMIT),
            "queued.max.request.bytes.per.connection": str(PER_CONNECTION),
        }
        broker = await memory_broker(settings)
        await _topic_with_records(broker)
        world = World(broker, [Client(broker) for _ in range(CLIENTS)])
        for number, act, turns in history:
            client = world.clients[number]
            client.finish_frame()
            act(world, client)
            for _ in range(turns):
                await asyncio.sleep(0)
            world.check()
        for client in world.clients:
            client.cut()
        assert broker.budget.used == broker.budget.used_by_long
        await until(lambda: not broker.budget.used)
        assert not broker.budget.waiting
        await broker.close()
        assert broker.budget.used == 0

    asyncio.run(scenario())


@given(history=st.lists(steps, max_size=25))
def test_whoever_reads_is_answered_whatever_others_do(
    history: list[tuple[int, Action, int]],
) -> None:
    """The others read, too, in the end: then nobody waits for ever."""

    async def scenario() -> None:
        settings = {
            "queued.max.request.bytes": str(LIMIT),
            "queued.max.request.bytes.per.connection": str(PER_CONNECTION),
        }
        broker = await memory_broker(settings)
        await _topic_with_records(broker)
        world = World(broker, [Client(broker) for _ in range(CLIENTS)])
        for number, act, turns in history:
            world.clients[number].finish_frame()
            act(world, world.clients[number])
            for _ in range(turns):
                await asyncio.sleep(0)
        async with asyncio.timeout(60):
            while broker.budget.used:
                for client in world.clients:
                    client.finish_frame()
                    _reads(world, client)
                    client.flush()
                broker.stop_waiting()
                await asyncio.sleep(0)
        assert not broker.budget.waiting
        assert all(client.wire.reads for client in world.clients)
        await broker.close()

    asyncio.run(scenario())
