"""A reader's way through topics that grow, vanish, and lose their broker for a while."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path

import pytest
from confluent_kafka.admin import NewPartitions
from tests import foreign
from tests.broker_process import BrokerProcess

from kafkaesque.cli.options import parse_brokers
from kafkaesque.client.connection import Connection
from kafkaesque.gateway.events.config import EventsConfig
from kafkaesque.gateway.events.problems import ProblemError
from kafkaesque.gateway.events.reading import Match, Reading, open_reading
from kafkaesque.gateway.events.start import End
from kafkaesque.gateway.events.want import Want

pytestmark = pytest.mark.slow


def config(bootstrap: str) -> EventsConfig:
    return EventsConfig(Connection(tuple(parse_brokers(bootstrap))), metadata_interval_s=0.1)


async def matches(reading: Reading) -> AsyncGenerator[Match, None]:
    async with aclosing(reading.items(1.0)) as items:
        async for item in items:
            if isinstance(item, Match):
                yield item


def test_a_reader_outlives_its_broker_follows_its_topic_and_ends_with_it(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path / "data") as broker:
        topic = foreign.create_topic(broker.bootstrap)

        def change() -> None:
            broker.kill()
            broker.start()
            grown = NewPartitions(topic, 2)
            foreign.admin(broker.bootstrap).create_partitions([grown])[topic].result(60)
            foreign.produce(broker.bootstrap, topic, ["old"], 0)
            foreign.produce(broker.bootstrap, topic, ["new"], 1)

        async def read() -> None:
            start = open_reading(config(broker.bootstrap), Want((topic,)), End.LATEST)
            async with start as reading, aclosing(matches(reading)) as found:
                await asyncio.to_thread(change)
                values = {(await anext(found)).record.value for _ in range(2)}
                assert values == {b"old", b"new"}
                assert str(reading.vector) == "0:1,1:1"
                await asyncio.to_thread(foreign.delete_topic, broker.bootstrap, topic)
                with pytest.raises(ProblemError) as caught:
                    await anext(found)
                assert caught.value.status == 404

        asyncio.run(asyncio.wait_for(read(), 60))
