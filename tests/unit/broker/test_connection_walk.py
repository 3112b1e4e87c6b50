"""Connections that begin, stall, go on and break off anywhere, by chance: whatever happens, nothing
stays in flight, nobody waits for ever, and who keeps to the rules is answered.
"""

import asyncio
import random

import pytest
from tests.unit.broker.connections import Client, memory_broker
from tests.unit.broker.test_connection import long_poll
from tests.wire.requests import batch, create_topic, fetch, produce

from kafkaesque.broker.broker import Broker
from kafkaesque.broker.topics import NewTopic
from kafkaesque.protocol.messages.list_groups import ListGroupsRequest
from kafkaesque.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic

SETTINGS = {
    "queued.max.request.bytes": "300000",
    "queued.max.request.bytes.per.connection": "100000",
}
STEPS = 400


class Walk:
    def __init__(self, broker: Broker, seed: int) -> None:
        self._broker = broker
        self._random = random.Random(seed)
        self._clients: list[Client] = []

    def _request(self, client: Client) -> bytes:
        chance = self._random
        size = chance.choice((10, 5_000, 50_000, 200_000))
        many = [MetadataRequestTopic(name=f"none{i}") for i in range(chance.choice((1, 900)))]
        return chance.choice(
            (
                lambda: client.frame(produce("t", 0, batch([bytes(size)])), 9),
                lambda: client.frame(produce("c", 0, batch([bytes(size)])), 9),
                lambda: client.frame(fetch("t", 0, 0, max_bytes=size), 11),
                lambda: client.frame(long_poll(min_bytes=1 << 30, max_wait_ms=3), 11),
                lambda: client.frame(
                    MetadataRequest(topics=many, allow_auto_topic_creation=False), 9
                ),
                lambda: client.frame(create_topic("t", 1), 5),
                lambda: client.frame(ListGroupsRequest(), 4),
                lambda: b"\x00\x00\x00\x09not Kafka",
            )
        )()

    def _begin(self) -> None:
        self._clients.append(Client(self._broker, room=self._random.choice((0, 1000, 1 << 40))))

    def _send(self, client: Client) -> None:
        client.queue_bytes(self._request(client))
        client.flush()

    def _send_half(self, client: Client) -> None:
        frame = self._request(client)
        cut = self._random.randrange(len(frame))
        client.queue_bytes(client.rest + frame[:cut])
        client.rest = frame[cut:]
        client.flush()

    def _read(self, client: Client) -> None:
        client.wire.take()

    def _cut(self, client: Client) -> None:
        client.cut()
        self._clients.remove(client)

    def _stop_reading_from(self, client: Client) -> None:
        client.connection.take_no_more()

    async def run(self) -> None:
        acts = [self._send] * 8 + [self._send_half] * 3 + [self._read] * 4
        acts += [self._cut, self._stop_reading_from]
        for _ in range(STEPS):
            if len(self._clients) < 8:
                self._begin()
            self._random.choice(acts)(self._random.choice(self._clients))
            for _ in range(self._random.choice((0, 0, 1, 5))):
                await asyncio.sleep(0)

    def end(self) -> None:
        for client in self._clients:
            client.cut()


@pytest.mark.parametrize("seed", range(20))
def test_nothing_stays_in_flight_whatever_breaks_off(seed: int) -> None:
    async def main() -> None:
        broker = await memory_broker(SETTINGS)
        await broker.topics.create(NewTopic("t", 1))
        await broker.topics.create(NewTopic("c", 1, {"cleanup.policy": "compact"}))
        walk = Walk(broker, seed)
        await walk.run()
        honest = Client(broker)
        honest.queue(produce("t", 0, batch([bytes(200_000)])), 9)
        walk.end()
        honest.flush()
        async with asyncio.timeout(60):
            while not honest.answers():
                await asyncio.sleep(0.001)
            honest.cut()
            while broker.budget.used or broker.budget.waiting:
                await asyncio.sleep(0.001)
        await broker.close()

    asyncio.run(main())
