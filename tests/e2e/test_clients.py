"""`Producer` and `Consumer` against our broker, with foreign clients on the other side."""

import asyncio
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aiokafka
import pytest
from tests.broker_process import BrokerProcess
from tests.foreign import TIMEOUT_S, admin, committed, create_topic, name, read, until, values
from tests.kafka_python import KafkaConsumer, KafkaProducer
from tests.kafka_python import TopicPartition as TheirPartition

from kafkaesque import Consumer, Event, KafkaError, Producer
from kafkaesque.client.connection import Address, Connection
from kafkaesque.client.moments import Timestamp
from kafkaesque.client.serde import DecodeEventError, Serde
from kafkaesque.records.murmur2 import partition_for_key
from kafkaesque.types import TopicPartition

HEADERS = [("a", b"1"), ("a", b"2"), ("null", None), ("empty", b"")]


@pytest.fixture(scope="module")
def bootstrap(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with BrokerProcess(tmp_path_factory.mktemp("clients") / "data") as process:
        yield process.bootstrap


def read_all(topic: str, bootstrap: str, **options: Any) -> list[Event]:
    with Consumer(topic, bootstrap, until="end", **options) as consumer:
        return list(consumer)


@pytest.mark.slow
def test_keys_go_where_javas_clients_put_them(bootstrap: str) -> None:
    topic = create_topic(bootstrap, partitions=3)
    keys = ["key1", *(f"k{n}" for n in range(50))]
    with Producer(bootstrap, topic) as producer:
        sent = producer.send_many(None, keys, key=lambda value: value).result()
    assert [place.partition for place in sent] == [partition_for_key(k.encode(), 3) for k in keys]
    assert sent[0] == (2, 0)


@pytest.mark.slow
def test_kafka_python_reads_what_we_wrote(bootstrap: str) -> None:
    topic = create_topic(bootstrap)
    with Producer(bootstrap) as producer:
        delivery = producer.send(topic, {"n": 1}, key="k", headers=HEADERS, timestamp=1234567)
        assert delivery.result(TIMEOUT_S) == (0, 0)
        producer.send(topic, None, key="k", headers={"text": "ü"})
    consumer = KafkaConsumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest")
    consumer.assign([TheirPartition(topic, 0)])
    first, second = next(consumer), next(consumer)
    consumer.close()
    assert (first.key, first.value, first.timestamp) == (b"k", b'{"n":1}', 1234567)
    assert [tuple(header) for header in first.headers] == HEADERS
    assert (second.value, [tuple(h) for h in second.headers]) == (None, [("text", "ü".encode())])


@pytest.mark.slow
def test_we_read_what_kafka_python_and_aiokafka_wrote(bootstrap: str) -> None:
    topic = create_topic(bootstrap)
    theirs = KafkaProducer(bootstrap_servers=bootstrap)
    theirs.send(topic, b"1.5", key=b"k", headers=HEADERS[:2], timestamp_ms=99)
    theirs.close()

    async def write() -> None:
        async with aiokafka.AIOKafkaProducer(bootstrap_servers=bootstrap) as other:
            await other.send_and_wait(topic, None, key=b"k", headers=[("b", b"2")])

    asyncio.run(write())
    first, second = read_all(topic, bootstrap)
    assert first == Event(topic, 0, 0, 99, "k", 1.5, HEADERS[:2], "create")
    assert (second.offset, second.value, second.headers) == (1, None, [("b", b"2")])


def test_a_program_that_awaits_sends_and_reads(bootstrap: str) -> None:
    topic = create_topic(bootstrap)

    async def run() -> tuple[list[Any], list[Any]]:
        async with Producer(bootstrap, topic, queue_buffering_max_messages=100) as producer:
            assert await producer.send(value="first") == (0, 0)
            places = await producer.send_many(None, range(1000))
            for n in range(1000):
                producer.send(value=n)  # More than the queue holds: they line up.
            await producer.flush()
            assert len(producer) == 0
        async with Consumer(topic, bootstrap, until="end") as consumer:
            return places, [event.value async for event in consumer]

    places, read_values = asyncio.run(run())
    assert [place.offset for place in places] == list(range(1, 1001))
    assert read_values == ["first", *range(1000), *range(1000)]


@pytest.mark.slow
def test_a_full_queue_holds_up_a_program_that_waits(bootstrap: str) -> None:
    topic = create_topic(bootstrap)
    with Producer(bootstrap, topic, queue_buffering_max_messages=10) as producer:
        producer.send_many(None, range(500))
    assert [event.value for event in read_all(topic, bootstrap)] == list(range(500))


@pytest.mark.slow
def test_the_loop_turns_while_a_consumer_waits(bootstrap: str) -> None:
    topic = create_topic(bootstrap)

    async def run() -> list[Any]:
        async with (
            Producer(bootstrap, topic) as producer,
            Consumer(topic, bootstrap, timeout=TIMEOUT_S) as consumer,
        ):

            async def write_after_ten_turns() -> None:
                for _ in range(10):
                    await asyncio.sleep(0.01)
                await producer.send(value="turned")

            writing = asyncio.create_task(write_after_ten_turns())
            async for event in consumer:
                await writing
                return [event.value]
        return []

    assert asyncio.run(run()) == ["turned"]


@pytest.mark.slow
def test_a_cancelled_consumer_loses_nothing(bootstrap: str) -> None:
    topic = create_topic(bootstrap)

    async def run() -> list[Any]:
        got: list[Any] = []

        async def take() -> None:
            async for event in consumer:
                got.append(event.value)
                await asyncio.sleep(0)

        async with Producer(bootstrap, topic) as producer, Consumer(topic, bootstrap) as consumer:
            for n in range(20):
                taking = asyncio.create_task(take())
                await producer.send(value=n)
                await asyncio.sleep(0.01)
                taking.cancel()
            while len(got) < 20:
                taking = asyncio.create_task(take())
                await asyncio.sleep(0.3)
                taking.cancel()
        return got

    assert asyncio.run(asyncio.wait_for(run(), 60)) == list(range(20))


@pytest.mark.slow
def test_a_refused_event_is_a_kafka_error_with_its_cause(bootstrap: str) -> None:
    topic = create_topic(bootstrap, configs={"max.message.bytes": "1000"})
    producer = Producer(bootstrap, topic)
    delivery = producer.send(value="x" * 5000)
    with pytest.raises(KafkaError, match=r"max\.message\.bytes") as asked:
        delivery.result(TIMEOUT_S)
    assert asked.value.code.name == "MESSAGE_TOO_LARGE"
    assert asked.value.__cause__ is not None
    producer.flush()  # It was asked for: said once is enough.
    producer.send(value="y" * 5000)
    with pytest.raises(KafkaError, match="1 event was not delivered"):
        producer.close()
    assert "last error" in repr(producer)
    with pytest.raises(KafkaError, match="closed"):
        producer.send(value=1)


@pytest.mark.slow
def test_what_cannot_be_delivered_is_reported_when_it_closes(
    caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    with BrokerProcess(tmp_path / "data") as broker:
        topic = create_topic(broker.bootstrap)
        producer = Producer(broker.bootstrap, topic)
        producer.send(value=1).result(TIMEOUT_S)
        broker.kill()
        producer.send_many(None, [2, 3])
        with pytest.raises(KafkaError, match="2 events were not delivered"):
            producer.close(timeout=3)
    assert any("nothing answers" in message for message in caplog.messages)


@pytest.mark.slow
def test_events_wait_for_a_broker_that_restarts(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path / "data") as broker:
        topic = create_topic(broker.bootstrap)
        with (
            Producer(broker.bootstrap, topic) as producer,
            Consumer(topic, broker.bootstrap, group="g") as consumer,
        ):
            events = iter(consumer)
            producer.send(value=1).result(TIMEOUT_S)
            assert next(events).value == 1
            broker.stop()
            delivery = producer.send(value=2)
            broker.start()
            assert delivery.result(TIMEOUT_S).offset == 1
            assert next(events).value == 2


@pytest.mark.slow
def test_where_to_start(bootstrap: str) -> None:
    topic = create_topic(bootstrap, partitions=2)
    with Producer(bootstrap, topic) as producer:
        for n in range(4):
            for partition in (0, 1):
                producer.send(value=n, partition=partition, timestamp=1000 + n)

    def starting(start: Any) -> list[tuple[int, int]]:
        events = read_all(topic, bootstrap, start=start)
        return sorted((event.partition, event.value) for event in events)

    everything = [(partition, n) for partition in (0, 1) for n in range(4)]
    assert starting("earliest") == everything
    assert starting("latest") == []
    assert starting(2) == [(0, 2), (0, 3), (1, 2), (1, 3)]
    assert starting({0: 3}) == [(0, 3), *((1, n) for n in range(4))]
    assert starting({TopicPartition(topic, 1): 4}) == [(0, n) for n in range(4)]
    assert starting(Timestamp(1002)) == [(0, 2), (0, 3), (1, 2), (1, 3)]
    assert starting(datetime.fromtimestamp(1.003, UTC)) == [(0, 3), (1, 3)]
    assert starting(Timestamp(5000)) == []


@pytest.mark.slow
def test_latest_is_from_the_with_on(bootstrap: str) -> None:
    topic = create_topic(bootstrap)
    with Producer(bootstrap, topic) as producer:
        producer.send(value="old").result(TIMEOUT_S)
        with Consumer(topic, bootstrap, start="latest") as consumer:
            producer.send(value="new").result(TIMEOUT_S)
            assert next(iter(consumer)).value == "new"


def test_a_group_goes_on_where_it_committed(bootstrap: str) -> None:
    topic, group = create_topic(bootstrap), name("group")
    with Producer(bootstrap, topic) as producer:
        producer.send_many(None, range(6))
    with Consumer(topic, bootstrap, group=group, start=2) as consumer:
        for event in consumer:
            if event.value == 4:
                break  # Not finished with: 4 will be read again.
    assert committed(bootstrap, group, topic).offset == 4
    assert [e.value for e in read_all(topic, bootstrap, group=group, start=0)] == [4, 5]
    assert committed(bootstrap, group, topic).offset == 6


@pytest.mark.slow
def test_a_loop_without_a_with_commits_when_it_ends(bootstrap: str) -> None:
    topic, group = create_topic(bootstrap), name("group")
    with Producer(bootstrap, topic) as producer:
        producer.send_many(None, range(3))
    assert [e.value for e in Consumer(topic, bootstrap, group=group, until="end")] == [0, 1, 2]
    assert committed(bootstrap, group, topic).offset == 3


@pytest.mark.slow
def test_explicit_commits_only_what_it_is_told(bootstrap: str) -> None:
    topic, group = create_topic(bootstrap), name("group")
    with Producer(bootstrap, topic) as producer:
        producer.send_many(None, range(4))
    with Consumer(topic, bootstrap, group=group, commit="explicit", until="end") as consumer:
        for event in consumer:
            if event.value == 1:
                consumer.commit(event)
        assert committed(bootstrap, group, topic).offset == 2
    assert committed(bootstrap, group, topic).offset == 2
    with Consumer(topic, bootstrap, group=group, commit="explicit", until="end") as consumer:
        assert [event.value for event in consumer] == [2, 3]
        consumer.commit()
    assert committed(bootstrap, group, topic).offset == 4


@pytest.mark.slow
def test_a_program_that_awaits_commits_and_moves(bootstrap: str) -> None:
    topic, group = create_topic(bootstrap), name("group")

    async def run() -> list[Any]:
        async with Producer(bootstrap, topic) as producer:
            await producer.send_many(None, range(4))
        got = []
        async with Consumer(topic, bootstrap, group=group, commit="explicit") as consumer:
            async for event in consumer:
                got.append(event.value)
                if len(got) == 3:
                    await consumer.commit(event)
                    await consumer.seek(0, 1)
                if len(got) == 5:
                    break
        return got

    assert asyncio.run(asyncio.wait_for(run(), 60)) == [0, 1, 2, 1, 2]
    assert committed(bootstrap, group, topic).offset == 3


@pytest.mark.slow
def test_what_cannot_be_decoded_keeps_its_place(bootstrap: str) -> None:
    topic, group = create_topic(bootstrap), name("group")
    with Producer(bootstrap, topic, value="bytes") as producer:
        producer.send_many(None, [b"1", b"{", b"3"], key="k")
    with (
        pytest.raises(DecodeEventError, match=f"value of offset 1 of {topic}-0") as caught,
        Consumer(topic, bootstrap, group=group, until="end") as consumer,
    ):
        list(consumer)
    assert (caught.value.event.key, caught.value.event.value) == (b"k", b"{")
    assert committed(bootstrap, group, topic).offset == 1
    with Consumer(topic, bootstrap, group=group, until="end") as consumer:
        with pytest.raises(DecodeEventError):
            next(iter(consumer))
        assert [event.value for event in consumer] == [3]  # Who goes on has passed over it.
    assert committed(bootstrap, group, topic).offset == 3
    assert [e.value for e in read_all(topic, bootstrap, on_error="skip")] == [1, 3]
    noted: list[DecodeEventError] = []
    read_all(topic, bootstrap, on_error=noted.append)
    assert [error.part for error in noted] == ["value"]


@pytest.mark.slow
def test_models_and_pairs_of_functions(bootstrap: str) -> None:
    from pydantic import BaseModel

    class Tick(BaseModel):
        ticker: str
        price: float

    topic = create_topic(bootstrap)
    number = Serde(lambda n: str(n).encode(), int, "number")
    with Producer(bootstrap, topic, key=number, value=Tick) as producer:
        producer.send(value=Tick(ticker="AMZN", price=1.5), key=7)
        producer.send(value={"ticker": "IBM", "price": 2}, key=8)
        with pytest.raises(TypeError, match="Tick"):
            producer.send(value={"ticker": "IBM"})
    events = read_all(topic, bootstrap, key=number, value=Tick)
    assert [(event.key, event.value) for event in events] == [
        (7, Tick(ticker="AMZN", price=1.5)),
        (8, Tick(ticker="IBM", price=2)),
    ]


@pytest.mark.slow
def test_seek_pause_position_and_lag(bootstrap: str) -> None:
    topic = create_topic(bootstrap, partitions=2)
    with Producer(bootstrap, topic) as producer:
        for n in range(3):
            producer.send(value=n, partition=0)
            producer.send(value=n, partition=1)
    with Consumer(topic, bootstrap, timeout=3) as consumer:
        assert len(list(consumer)) == 6
        assert consumer.position == {(topic, 0): 3, (topic, 1): 3}
        assert consumer.lag == {(topic, 0): 0, (topic, 1): 0}
        consumer.pause(0)
        consumer.seek(1, 1)
        events = iter(consumer)
        assert (next(events).value, consumer.lag[TopicPartition(topic, 1)]) == (1, 1)
        consumer.seek(0, 2)
        assert [(event.partition, event.value) for event in events] == [(1, 2)]
        consumer.resume()
        assert [(event.partition, event.value) for event in consumer] == [(0, 2)]
        assert f"{topic}-0 at 3" in repr(consumer)


@pytest.mark.slow
def test_what_was_taken_in_of_a_paused_partition_waits(bootstrap: str) -> None:
    topic = create_topic(bootstrap)
    with Producer(bootstrap, topic) as producer:
        producer.send_many(None, range(5))
    with Consumer(topic, bootstrap, timeout=3) as consumer:
        assert next(iter(consumer)).value == 0
        consumer.pause()
        consumer.pause(0)
        assert list(consumer) == []
        consumer.resume()
        assert [event.value for event in consumer] == [1, 2, 3, 4]
        assert "5 events" in repr(consumer)


@pytest.mark.slow
def test_topics_by_list_and_by_pattern(bootstrap: str) -> None:
    stem = name("many")
    topics = [create_topic(bootstrap, f"{stem}.{n}") for n in range(2)]
    with Producer(bootstrap) as producer:
        for topic in topics:
            producer.send(topic, topic)
    for what in (topics, f"^{stem}"):
        for group in (None, name("group")):
            with Consumer(what, bootstrap, group=group, until="end") as consumer:
                assert sorted(event.value for event in consumer) == topics


@pytest.mark.slow
def test_new_partitions_are_picked_up(bootstrap: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from confluent_kafka.admin import NewPartitions

    monkeypatch.setattr("kafkaesque.client.assignment.LOOK_FOR_NEW_S", 0.1)
    topic = create_topic(bootstrap)
    with Consumer(topic, bootstrap) as consumer, Producer(bootstrap, topic) as producer:
        producer.send(value=1, partition=0).result(TIMEOUT_S)
        events = iter(consumer)
        assert next(events).partition == 0
        admin(bootstrap).create_partitions([NewPartitions(topic, 2)])[topic].result(TIMEOUT_S)

    with Consumer(topic, bootstrap, start={0: 1}) as consumer, Producer(bootstrap) as producer:
        producer.send(topic, 2, partition=1).result(TIMEOUT_S)
        assert next(iter(consumer)).partition == 1


@pytest.mark.slow
def test_a_partition_that_comes_later_is_read_from_its_beginning(
    bootstrap: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from confluent_kafka.admin import NewPartitions

    monkeypatch.setattr("kafkaesque.client.assignment.LOOK_FOR_NEW_S", 0.1)
    topic = create_topic(bootstrap)
    with Consumer(topic, bootstrap, start="latest") as consumer:
        admin(bootstrap).create_partitions([NewPartitions(topic, 2)])[topic].result(TIMEOUT_S)
        with Producer(bootstrap, topic) as producer:
            producer.send(value=2, partition=1)
        event = next(iter(consumer))
        assert (event.partition, event.offset) == (1, 0)
        assert len(consumer.assignment) == 2


def test_a_topic_that_is_not_there_is_said_so(bootstrap: str) -> None:
    for group in (None, name("group")):
        with pytest.raises(KafkaError, match="topic create") as caught:
            read_all("nowhere", bootstrap, group=group)
        assert caught.value.code.name == "UNKNOWN_TOPIC_OR_PARTITION"


@pytest.mark.slow
def test_stop_ends_the_loop_from_another_thread(bootstrap: str) -> None:
    topic = create_topic(bootstrap)
    with Consumer(topic, bootstrap) as consumer:
        threading.Timer(0.3, consumer.stop).start()
        assert list(consumer) == []


@pytest.mark.slow
def test_a_connection_and_settings_pass_through(bootstrap: str) -> None:
    host, port = bootstrap.split(":")
    connection = Connection(brokers=(Address(host, int(port)),))
    topic = create_topic(bootstrap)
    with Producer(connection, topic, settings={"linger.ms": 5}, acks=1) as producer:
        producer.send(value=1)
    assert values(read(bootstrap, topic, 1)) == [b"1"]
    for wrong in ({"lingerms": 5}, {"linger_ms": "soon"}):
        with pytest.raises(ValueError, match=r"lingerms|queue\.buffering\.max\.ms"):
            Producer(connection, **wrong)


@pytest.mark.slow
def test_an_open_transaction_does_not_keep_a_reader_from_the_end(bootstrap: str) -> None:
    import confluent_kafka

    topic = create_topic(bootstrap)
    with Producer(bootstrap, topic) as producer:
        producer.send(value=1)
    writer = confluent_kafka.Producer(
        {"bootstrap.servers": bootstrap, "log_level": 0, "transactional.id": name("txn")}
    )
    writer.init_transactions(TIMEOUT_S)
    writer.begin_transaction()
    writer.produce(topic, b"2")
    writer.flush(TIMEOUT_S)
    assert [event.value for event in read_all(topic, bootstrap)] == [1]
    writer.commit_transaction(TIMEOUT_S)
    assert [event.value for event in read_all(topic, bootstrap)] == [1, 2]


@pytest.mark.slow
def test_a_slow_reader_still_takes_part_in_rebalances(bootstrap: str) -> None:
    topic, group = create_topic(bootstrap, partitions=2), name("group")
    with Producer(bootstrap, topic) as producer:
        for n in range(100):
            producer.send(value=n, partition=n % 2)
    got: list[tuple[int, int]] = []
    ready = threading.Event()

    def read_slowly() -> None:
        with slow:
            for event in slow:
                got.append((event.partition, event.value))
                ready.set()
                time.sleep(0.05)

    slow = Consumer(topic, bootstrap, group=group, heartbeat_interval_ms=300)
    thread = threading.Thread(target=read_slowly)
    thread.start()
    assert ready.wait(TIMEOUT_S)
    other = KafkaConsumer(
        topic,
        bootstrap_servers=bootstrap,
        group_id=group,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        heartbeat_interval_ms=300,
        partition_assignment_strategy=_range(),
    )
    theirs: list[tuple[int, int]] = []

    def poll() -> bool:
        for records in other.poll(200).values():
            theirs.extend((record.partition, int(record.value)) for record in records)
        return len(theirs) > 0

    until(poll)
    assert len(other.assignment()) == 1
    until(lambda: (poll(), len({*got, *theirs}) == 100)[1])
    slow.stop()
    thread.join(TIMEOUT_S)
    assert not thread.is_alive()
    other.close()
    # Nothing is skipped; at most what was in the slow one's hands is read twice.
    assert len(got) + len(theirs) <= 101


def _range() -> list[Any]:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        from kafka.coordinator.assignors.range import RangePartitionAssignor
    return [RangePartitionAssignor]
