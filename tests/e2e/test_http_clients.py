"""`HttpProducer` and `HttpConsumer`: for programs that wait or await, and without librdkafka."""

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition
from tests import foreign
from tests.broker_process import BrokerProcess, free_port
from tests.gateway_process import GatewayProcess

from kafkaesque.client.http import Gap, HttpConsumer, HttpProducer
from kafkaesque.client.http.answers import NotAllWrittenError
from kafkaesque.client.moments import Timestamp
from kafkaesque.client.serde import DecodeEventError
from kafkaesque.errors import ErrorCode, KafkaError
from kafkaesque.event import Event

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def bootstrap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with BrokerProcess(tmp_path_factory.mktemp("broker") / "data") as broker:
        yield broker.bootstrap


@pytest.fixture(scope="module")
def url(bootstrap: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    log = tmp_path_factory.mktemp("gateway") / "log"
    with GatewayProcess(bootstrap, log, "--keep-alive", "0.3") as gateway:
        yield gateway.url
        assert gateway.stop() == 0
        assert gateway.log == ""


@pytest.fixture
def topic(bootstrap: str) -> str:
    return foreign.create_topic(bootstrap, partitions=3)


def test_what_one_writes_the_other_reads(url: str, topic: str) -> None:
    with HttpProducer(url) as producer:
        place = producer.send(
            topic,
            {"price": 3200, "note": "a\u2028b\r\nc"},
            key="key1",
            headers=[("source", "web"), ("source", b"\xff"), ("empty", None)],
            timestamp=Timestamp(1700000000000),
        ).result()
        assert place == (2, 0)
        places = producer.send_many(topic, [1, 2, 3], key=lambda value: f"k{value}").result()
        assert len(places) == 3
        assert repr(producer) == f"<HttpProducer at {url}: 4 sent>"
    consumer = HttpConsumer(topic, url, until="end")
    events = list(consumer)
    assert sorted(event.value for event in events if event.key != "key1") == [1, 2, 3]
    (first,) = (event for event in events if event.key == "key1")
    assert first == Event(
        topic,
        2,
        0,
        1700000000000,
        "key1",
        {"price": 3200, "note": "a\u2028b\r\nc"},
        [("source", b"web"), ("source", b"\xff"), ("empty", None)],
    )
    assert sum(consumer.position.values()) == 4
    assert repr(consumer) == f"<HttpConsumer of {topic}: 4 events, at {consumer.vector}>"


def test_programs_that_await_do_the_same(url: str, topic: str) -> None:
    async def go() -> list[int]:
        async with HttpProducer(url, topic) as producer:
            places = await asyncio.gather(*(producer.send(value=n, key="k") for n in range(20)))
            assert sorted(place.offset for place in places) == list(range(20))
            await producer.send_many(None, range(20, 1500), key="k")
            # Nobody waits for this one: leaving does.
            producer.send(value=1500, key="k")
        return [event.value async for event in HttpConsumer(topic, url, until="end")]

    assert sorted(asyncio.run(go())) == list(range(1501))


def test_a_consumer_goes_on_where_another_has_stopped(url: str, topic: str) -> None:
    with HttpProducer(url, topic) as producer:
        producer.send_many(None, range(10))
    first = HttpConsumer(topic, url)
    seen = []
    for event in first:
        seen.append(event.value)
        if len(seen) == 4:
            break
    second = HttpConsumer(topic, url, resume=first.vector, until="end")
    assert sorted(seen + [event.value for event in second]) == list(range(10))


def test_a_consumer_begins_where_it_is_told(url: str, bootstrap: str) -> None:
    topic = foreign.create_topic(bootstrap)
    stamps = [1_700_000_000_000 + 1000 * number for number in range(4)]
    foreign.produce(bootstrap, topic, ["0", "1", "2", "3"], 0, stamps)
    moment = datetime.fromtimestamp(1_700_000_002, UTC)
    for start, wanted in (
        ("earliest", [0, 1, 2, 3]),
        ("latest", []),
        (3, [3]),
        ({0: 1}, [1, 2, 3]),
        ({(topic, 0): 2}, [2, 3]),
        (Timestamp(1_700_000_001_000), [1, 2, 3]),
        (moment, [2, 3]),
    ):
        found = HttpConsumer(topic, url, start=start, until="end")
        assert [event.value for event in found] == wanted
    for wrong in ("first", -1, 1.5):
        with pytest.raises(ValueError):
            HttpConsumer(topic, url, start=wrong)  # type: ignore[arg-type]


def test_the_gateway_chooses_events(url: str, topic: str) -> None:
    with HttpProducer(url, topic) as producer:
        for key, price in (("AMZN", 99), ("AMZN", 101), ("GOOG", 150)):
            producer.send(value={"price": price}, key=key)
    found = HttpConsumer(topic, url, until="end", where="value.price > 100", prefix="A")
    assert [event.value["price"] for event in found] == [101]
    found = HttpConsumer(topic, url, until="end", keys=["GOOG"])
    assert [event.key for event in found] == ["GOOG"]


def test_silence_ends_a_consumer_that_has_a_timeout(url: str, topic: str) -> None:
    assert list(HttpConsumer(topic, url, timeout=0.5)) == []


def test_what_cannot_be_decoded_is_raised_or_passed_over(url: str, topic: str) -> None:
    with HttpProducer(url, topic, value="bytes") as producer:
        producer.send_many(None, [b"1", b"\xff", b"2"], key="k")
    with pytest.raises(DecodeEventError, match="is not json"):
        list(HttpConsumer(topic, url, until="end"))
    found = HttpConsumer(topic, url, until="end", on_error="skip")
    assert [event.value for event in found] == [1, 2]
    raw = HttpConsumer(topic, url, until="end", value="bytes")
    assert [event.value for event in raw] == [b"1", b"\xff", b"2"]


def test_a_gap_is_told(url: str, bootstrap: str, caplog: pytest.LogCaptureFixture) -> None:
    topic = foreign.create_topic(bootstrap)
    foreign.produce(bootstrap, topic, ["0", "1", "2"])
    place = TopicPartition(topic, 0, 2)
    foreign.admin(bootstrap).delete_records([place])[place].result(60)
    gaps: list[Gap] = []
    found = HttpConsumer(topic, url, start=1, until="end", on_gap=gaps.append)
    assert [event.value for event in found] == [2]
    assert gaps == [Gap(topic, 0, 1, 1, "expired")]
    list(HttpConsumer(topic, url, start=1, until="end"))
    assert f"offsets 1 to 1 of {topic}-0 are missing" in caplog.text


def test_what_is_refused_is_a_kafka_error(url: str, topic: str) -> None:
    with HttpProducer(url) as producer:
        with pytest.raises(KafkaError, match="there is no topic nobody") as caught:
            producer.send("nobody", 1)
        assert caught.value.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        with pytest.raises(KafkaError, match="partition"):
            producer.send(topic, 1, partition=9)
        with pytest.raises(TypeError, match="send where"):
            producer.send(value=1)
    with pytest.raises(KafkaError, match="there is no topic nobody"):
        list(HttpConsumer("nobody", url))
    with pytest.raises(KafkaError, match="where: "):
        list(HttpConsumer(topic, url, where="value.price >"))


def test_of_many_each_has_its_result(url: str, bootstrap: str) -> None:
    configs = {"max.message.bytes": "1000"}
    topic = foreign.create_topic(bootstrap, partitions=3, configs=configs)
    with HttpProducer(url) as producer, pytest.raises(NotAllWrittenError) as caught:
        # In partitions of their own: what is too large takes its batch with it.
        producer.send_many(
            topic, ["a", "x" * 5000, "b"], key=lambda value: "key1" if len(value) > 1 else "kk"
        )
    first, refused, last = caught.value.results
    assert (first, last) == ((0, 0), (0, 1))
    assert isinstance(refused, KafkaError)
    assert refused.code is ErrorCode.MESSAGE_TOO_LARGE


def test_a_gateway_that_is_away_is_waited_for(bootstrap: str, topic: str, tmp_path: Path) -> None:
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with HttpProducer(url, timeout=0.2) as hasty, pytest.raises(KafkaError) as caught:
        hasty.send(topic, 0)
    assert caught.value.code is ErrorCode.NETWORK_EXCEPTION
    found: list[Event] = []

    def work() -> None:
        with HttpProducer(url) as producer:
            producer.send(topic, 1)
        found.extend(HttpConsumer(topic, url, until="end"))

    working = threading.Thread(target=work)
    working.start()
    with GatewayProcess(bootstrap, tmp_path / "log", port=port):
        working.join(60)
    assert [event.value for event in found] == [1]


def test_none_of_it_loads_librdkafka(url: str, topic: str) -> None:
    program = f"""
import json, sys
from kafkaesque.client.http import HttpConsumer, HttpProducer
with HttpProducer({url!r}) as producer:
    producer.send({topic!r}, 1).result()
assert [event.value for event in HttpConsumer({topic!r}, {url!r}, until="end")] == [1]
print(json.dumps(list(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)
    loaded = set(json.loads(done.stdout))
    assert "httpx_sse" in loaded
    assert loaded.isdisjoint({"confluent_kafka", "fastapi", "kafkaesque.broker"})
