"""What the console stands on: the tail of a topic, and the sizes of partitions."""

import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest
from tests import foreign
from tests.broker_process import BrokerProcess

from kafkaesque.client.connection import Address, ClusterError, Connection
from kafkaesque.client.log_dirs import partition_sizes
from kafkaesque.client.record import Record
from kafkaesque.client.tail import Tail
from kafkaesque.types import TopicPartition

pytestmark = pytest.mark.slow


class Heard:
    """What a tail has said so far."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.problems: list[str] = []

    def deliver(self, records: Sequence[Record]) -> None:
        self.records += records

    @property
    def values(self) -> list[bytes | None]:
        return [record.value for record in self.records]


@contextmanager
def tailing(broker: BrokerProcess, topic: str, last: int) -> Iterator[tuple[Tail, Heard]]:
    heard = Heard()
    connection = Connection(brokers=(Address("127.0.0.1", broker.port),))
    tail = Tail(connection, topic, last, heard.deliver, heard.problems.append)
    tail.start()
    try:
        yield tail, heard
    finally:
        tail.stop()
        tail.join(foreign.TIMEOUT_S)


def test_the_last_records_of_all_partitions_come_in_the_order_of_time(
    broker: BrokerProcess,
) -> None:
    topic = foreign.create_topic(broker.bootstrap, partitions=2)
    foreign.produce(broker.bootstrap, topic, ["a", "c", "e"], 0, timestamps=[1000, 3000, 5000])
    foreign.produce(broker.bootstrap, topic, ["b", "d", "f"], 1, timestamps=[2000, 4000, 6000])
    with tailing(broker, topic, last=4) as (_, heard):
        foreign.until(lambda: heard.records)
        assert heard.values == [b"c", b"d", b"e", b"f"]
        foreign.produce(broker.bootstrap, topic, ["g"])
        foreign.until(lambda: heard.values[-1] == b"g")


def test_from_now_on_nothing_old_comes(broker: BrokerProcess) -> None:
    topic = foreign.create_topic(broker.bootstrap)
    foreign.produce(broker.bootstrap, topic, ["old"])

    def is_heard() -> bool:
        foreign.produce(broker.bootstrap, topic, ["new"])
        return bool(heard.records)

    with tailing(broker, topic, last=0) as (_, heard):
        foreign.until(is_heard)
        assert set(heard.values) == {b"new"}


def test_a_stopped_tail_says_nothing_more_and_leaves_no_group(broker: BrokerProcess) -> None:
    topic = foreign.create_topic(broker.bootstrap)
    foreign.produce(broker.bootstrap, topic, ["a"])
    with tailing(broker, topic, last=1) as (tail, heard):
        foreign.until(lambda: heard.records)
        tail.stop()
        foreign.produce(broker.bootstrap, topic, ["b"])
        tail.join(foreign.TIMEOUT_S)
        assert heard.values == [b"a"]
    assert foreign.admin(broker.bootstrap).list_consumer_groups().result().valid == []
    assert [thread for thread in threading.enumerate() if topic in thread.name] == []


def test_a_topic_that_is_not_there_is_a_problem_and_is_not_made(broker: BrokerProcess) -> None:
    with tailing(broker, "nothing", last=1) as (_, heard):
        foreign.until(lambda: heard.problems)
    assert heard.problems[0].startswith("nothing cannot be read (")
    assert "nothing" not in foreign.admin(broker.bootstrap).list_topics().topics


def test_a_broker_that_is_away_is_waited_for(broker: BrokerProcess) -> None:
    topic = foreign.create_topic(broker.bootstrap)
    foreign.produce(broker.bootstrap, topic, ["before"])
    broker.kill()
    with tailing(broker, topic, last=1) as (_, heard):
        broker.start()
        foreign.until(lambda: heard.values == [b"before"])
        broker.kill()
        broker.start()
        foreign.produce(broker.bootstrap, topic, ["after"])
        foreign.until(lambda: heard.values == [b"before", b"after"])
        assert heard.problems == []


def test_sizes_are_those_of_the_files(broker: BrokerProcess) -> None:
    topic = foreign.create_topic(broker.bootstrap)
    foreign.produce(broker.bootstrap, topic, ["x" * 1000])
    sizes = partition_sizes([Address("127.0.0.1", broker.port)], Connection(timeout_s=60))
    (segment,) = broker.segments(topic)
    assert sizes[TopicPartition(topic, 0)] == segment.stat().st_size > 1000


def test_one_who_does_not_speak_kafka_tells_no_sizes() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = Address(*listener.getsockname())

        def hang_up() -> None:
            connection, _ = listener.accept()
            connection.close()

        thread = threading.Thread(target=hang_up)
        thread.start()
        with pytest.raises(ClusterError, match="does not answer ApiVersions"):
            partition_sizes([address], Connection(timeout_s=60))
        thread.join()
