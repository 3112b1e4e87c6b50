"""`Table`: a topic as a dict that stays up to date."""

import asyncio
from pathlib import Path

import pytest
from tests.broker_process import BrokerProcess
from tests.foreign import create_topic, until

from kafkaesque import Event, KafkaError, Producer, Table
from kafkaesque.client.serde import DecodeEventError

pytestmark = pytest.mark.slow

PRICES = {"AMZN": 74.95, "MSFT": 12.5, "IBM": 3}


def test_it_has_the_last_value_of_each_key_and_follows(broker: BrokerProcess) -> None:
    topic = create_topic(broker.bootstrap, partitions=3)
    seen: list[Event] = []
    with Producer(broker.bootstrap, topic) as producer:
        for ticker, price in PRICES.items():
            producer.send(value=1, key=ticker)
            producer.send(value=price, key=ticker)
        producer.flush()
        with Table(topic, broker.bootstrap, on_update=seen.append) as prices:
            assert dict(prices) == PRICES
            assert len(seen) == 6
            updates = prices.updates()
            producer.send(value=None, key="IBM").result()
            producer.send(value=80, key="AMZN").result()
            prices.wait_until_caught_up(20)
            assert dict(prices) == {"AMZN": 80, "MSFT": 12.5}
            assert "IBM" not in prices
            assert sum(prices.position.values()) == 8
            assert "2 keys" in repr(prices)
        assert [(event.key, event.value) for event in updates] == [("IBM", None), ("AMZN", 80)]
    assert "closed" in repr(prices)


def test_it_survives_a_restart_of_the_broker(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path / "data") as broker:
        topic = create_topic(broker.bootstrap)
        with Producer(broker.bootstrap, topic) as producer, Table(topic, broker.bootstrap) as table:
            producer.send(value=1, key="a").result()
            broker.stop()
            broker.start()
            producer.send(value=2, key="b").result()
            until(lambda: dict(table) == {"a": 1, "b": 2})


def test_what_stops_it_is_raised_by_every_look(broker: BrokerProcess) -> None:
    topic = create_topic(broker.bootstrap)
    with Table(topic, broker.bootstrap) as table:
        with Producer(broker.bootstrap, topic, value="bytes") as producer:
            producer.send(value=b"{", key="a").result()
        with pytest.raises(DecodeEventError, match="offset 0"):
            table.wait_until_caught_up(20)
        with pytest.raises(DecodeEventError):
            _ = table["a"]
        assert "stopped" in repr(table)


def test_a_topic_that_is_not_there_is_said_so(broker: BrokerProcess) -> None:
    with pytest.raises(KafkaError, match="topic create"), Table("nowhere", broker.bootstrap):
        pass


def test_a_program_that_awaits_can_follow_it(broker: BrokerProcess) -> None:
    topic = create_topic(broker.bootstrap)

    async def follow() -> list[object]:
        async with (
            Producer(broker.bootstrap, topic) as producer,
            Table(topic, broker.bootstrap) as table,
        ):
            updates = table.updates()
            await producer.send(value=1, key="a")
            async for event in updates:
                return [event.value, table["a"]]
        return []

    assert asyncio.run(asyncio.wait_for(follow(), 60)) == [1, 1]
