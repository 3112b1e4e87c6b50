"""Transactions with confluent-kafka: what is committed is seen whole, what is aborted is not.

And an open one survives whatever happens to the broker.
"""

from collections.abc import Sequence

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from tests import foreign
from tests.broker_process import BrokerProcess
from tests.foreign import TIMEOUT_S


def transactional(bootstrap: str, name: str = "copier", **settings: object) -> Producer:
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "transactional.id": name,
            "reconnect.backoff.max.ms": 100,
            "log_level": 0,
            **{key.replace("_", "."): value for key, value in settings.items()},
        }
    )
    producer.init_transactions(TIMEOUT_S)
    return producer


def send(producer: Producer, topic: str, values: Sequence[str], partition: int = 0) -> None:
    """Acknowledged when it returns; neither committed nor aborted."""
    for value in values:
        producer.produce(topic, value.encode(), partition=partition)
    assert producer.flush(TIMEOUT_S) == 0


def read(bootstrap: str, topic: str, isolation: str, partition: int = 0) -> list[str]:
    """All there is to see, up to the end that this reader is shown."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": foreign.name("readers"),
            "isolation.level": isolation,
            "enable.partition.eof": True,
            "log_level": 0,
        }
    )
    consumer.assign([TopicPartition(topic, partition, 0)])
    values: list[str] = []
    while True:
        message = consumer.poll(TIMEOUT_S)
        assert message is not None, "neither a record nor the end"
        if error := message.error():
            assert error.code() == KafkaError._PARTITION_EOF, error
            consumer.close()
            return values
        values.append((message.value() or b"").decode())


def committed(bootstrap: str, topic: str, partition: int = 0) -> list[str]:
    return read(bootstrap, topic, "read_committed", partition)


def test_what_is_committed_is_seen_whole_when_the_commit_returns(broker: BrokerProcess) -> None:
    topic = foreign.create_topic(broker.bootstrap, partitions=2)
    producer = transactional(broker.bootstrap)
    producer.begin_transaction()
    send(producer, topic, ["a", "b"])
    send(producer, topic, ["c"], partition=1)
    assert committed(broker.bootstrap, topic) == []
    assert read(broker.bootstrap, topic, "read_uncommitted") == ["a", "b"]
    producer.commit_transaction(TIMEOUT_S)
    assert committed(broker.bootstrap, topic) == ["a", "b"]
    assert committed(broker.bootstrap, topic, partition=1) == ["c"]


def test_what_is_aborted_is_never_seen(broker: BrokerProcess) -> None:
    topic = foreign.create_topic(broker.bootstrap)
    producer = transactional(broker.bootstrap)
    for number in range(6):
        producer.begin_transaction()
        send(producer, topic, [f"{number}-1", f"{number}-2"])
        if number % 2:
            producer.abort_transaction(TIMEOUT_S)
        else:
            producer.commit_transaction(TIMEOUT_S)
    kept = [f"{number}-{part}" for number in (0, 2, 4) for part in (1, 2)]
    assert committed(broker.bootstrap, topic) == kept
    assert len(read(broker.bootstrap, topic, "read_uncommitted")) == 12


@pytest.mark.slow
def test_plain_records_behind_an_open_transaction_wait_for_its_end(broker: BrokerProcess) -> None:
    topic = foreign.create_topic(broker.bootstrap)
    producer = transactional(broker.bootstrap)
    foreign.produce(broker.bootstrap, topic, ["before"])
    producer.begin_transaction()
    send(producer, topic, ["open"])
    foreign.produce(broker.bootstrap, topic, ["behind"])
    assert committed(broker.bootstrap, topic) == ["before"]
    producer.abort_transaction(TIMEOUT_S)
    assert committed(broker.bootstrap, topic) == ["before", "behind"]


@pytest.mark.slow
def test_a_second_producer_of_the_same_name_fences_the_first(broker: BrokerProcess) -> None:
    topic = foreign.create_topic(broker.bootstrap)
    first = transactional(broker.bootstrap)
    first.begin_transaction()
    send(first, topic, ["of the first"])
    second = transactional(broker.bootstrap)
    with pytest.raises(KafkaException) as refused:
        first.commit_transaction(TIMEOUT_S)
    assert refused.value.args[0].fatal()
    second.begin_transaction()
    send(second, topic, ["of the second"])
    second.commit_transaction(TIMEOUT_S)
    assert committed(broker.bootstrap, topic) == ["of the second"]


@pytest.mark.slow
def test_offsets_are_committed_with_the_records_or_not_at_all(broker: BrokerProcess) -> None:
    source = foreign.create_topic(broker.bootstrap)
    target = foreign.create_topic(broker.bootstrap)
    foreign.produce(broker.bootstrap, source, [str(number) for number in range(10)])
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "group.id": "copiers",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "log_level": 0,
        }
    )
    consumer.subscribe([source])
    producer = transactional(broker.bootstrap)
    for ends in (producer.abort_transaction, producer.commit_transaction):
        messages = consumer.consume(10, TIMEOUT_S)
        producer.begin_transaction()
        send(producer, target, [(message.value() or b"").decode() for message in messages])
        positions = consumer.position(consumer.assignment())
        group = consumer.consumer_group_metadata()
        producer.send_offsets_to_transaction(positions, group, TIMEOUT_S)
        ends(TIMEOUT_S)
        (at,) = consumer.committed(consumer.assignment(), TIMEOUT_S)
        if ends == producer.abort_transaction:
            assert at.offset < 0
            consumer.seek(TopicPartition(source, 0, 0))
        else:
            assert at.offset == 10
    consumer.close()
    assert committed(broker.bootstrap, target) == [str(number) for number in range(10)]


@pytest.mark.slow
def test_an_open_transaction_goes_on_after_a_kill(broker: BrokerProcess) -> None:
    topic = foreign.create_topic(broker.bootstrap, partitions=2)
    producer = transactional(broker.bootstrap)
    producer.begin_transaction()
    send(producer, topic, ["a"])
    send(producer, topic, ["b"], partition=1)
    broker.kill()
    broker.start()
    assert committed(broker.bootstrap, topic) == []
    send(producer, topic, ["c"])
    producer.commit_transaction(TIMEOUT_S)
    assert committed(broker.bootstrap, topic) == ["a", "c"]
    assert committed(broker.bootstrap, topic, partition=1) == ["b"]


@pytest.mark.slow
@pytest.mark.parametrize("stops", ["stop", "kill"])
def test_what_was_aborted_stays_so_after_a_restart(broker: BrokerProcess, stops: str) -> None:
    topic = foreign.create_topic(broker.bootstrap)
    producer = transactional(broker.bootstrap)
    for value, end in (("no", producer.abort_transaction), ("yes", producer.commit_transaction)):
        producer.begin_transaction()
        send(producer, topic, [value])
        end(TIMEOUT_S)
    getattr(broker, stops)()
    broker.start()
    assert committed(broker.bootstrap, topic) == ["yes"]
    again = transactional(broker.bootstrap)
    again.begin_transaction()
    send(again, topic, ["more"])
    again.commit_transaction(TIMEOUT_S)
    assert committed(broker.bootstrap, topic) == ["yes", "more"]


@pytest.mark.slow
def test_a_transaction_that_is_open_for_too_long_is_aborted(broker: BrokerProcess) -> None:
    topic = foreign.create_topic(broker.bootstrap)
    producer = transactional(broker.bootstrap, transaction_timeout_ms=1000)
    producer.begin_transaction()
    send(producer, topic, ["late"])
    foreign.produce(broker.bootstrap, topic, ["behind"])
    foreign.until(lambda: committed(broker.bootstrap, topic))
    with pytest.raises(KafkaException):
        producer.commit_transaction(TIMEOUT_S)
    assert committed(broker.bootstrap, topic) == ["behind"]


@pytest.mark.slow
def test_a_topic_that_is_deleted_does_not_keep_its_transaction_from_ending(
    broker: BrokerProcess,
) -> None:
    kept = foreign.create_topic(broker.bootstrap)
    doomed = foreign.create_topic(broker.bootstrap)
    producer = transactional(broker.bootstrap)
    producer.begin_transaction()
    send(producer, kept, ["kept"])
    send(producer, doomed, ["gone"])
    foreign.delete_topic(broker.bootstrap, doomed)
    producer.commit_transaction(TIMEOUT_S)
    assert committed(broker.bootstrap, kept) == ["kept"]
