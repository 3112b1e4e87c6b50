"""`Kafkaesque` and Kafka clients on one log: each sees what the other wrote."""

import socket

import pytest
from confluent_kafka import Producer, TopicPartition
from tests import foreign

from kafkaesque import Kafkaesque
from kafkaesque.errors import StartError


def test_a_client_sees_what_was_put() -> None:
    with Kafkaesque() as k:
        k.extend("t", ["text", b"\xff", None, {"a": 1}], key="k")
        messages = foreign.read(k.bootstrap_servers, "t", 4)
    assert [m.value() for m in messages] == [b"text", b"\xff", None, b'{"a": 1}']
    assert {m.key() for m in messages} == {b"k"}
    assert [m.headers() for m in messages] == [
        None,
        [("content-type", b"application/octet-stream")],
        None,
        [("content-type", b"application/json")],
    ]


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_get_sees_what_a_client_produced(codec: str) -> None:
    with Kafkaesque() as k:
        values: list[bytes | str] = [f"v{n}" for n in range(200)]
        foreign.produce(k.bootstrap_servers, "t", [*values, b"\xff"], compression_type=codec)
        assert list(k.topic("t")) == [*values, b"\xff"]
        assert (k.get("t", 17), k.latest("t")) == ("v17", (200, b"\xff"))


def test_both_write_to_one_partition_in_turns() -> None:
    with Kafkaesque() as k:
        for n in range(0, 6, 2):
            assert k.put("t", f"v{n}") == n
            assert foreign.produce(k.bootstrap_servers, "t", [f"v{n + 1}"]) == [n + 1]
        assert list(k.topic("t")) == [f"v{n}" for n in range(6)]


def test_a_key_lies_where_other_clients_put_it() -> None:
    with Kafkaesque() as k:
        k.create("t", 3)
        producer = Producer(
            {
                "bootstrap.servers": k.bootstrap_servers,
                "log_level": 0,
                "partitioner": "murmur2_random",
            }
        )
        for n in range(30):
            k.put("t", n, key=f"key{n}")
            producer.produce("t", str(n), key=f"key{n}")
        assert producer.flush(foreign.TIMEOUT_S) == 0
        places: dict[bytes | str | None, set[int | None]] = {}
        for partition in range(3):
            count = len(k.topic("t")[partition, :])
            for message in foreign.read(k.bootstrap_servers, "t", count, partition=partition):
                places.setdefault(message.key(), set()).add(message.partition())
    assert len(places) == 30
    assert {len(partitions) for partitions in places.values()} == {1}
    assert places[b"key1"] == {2}


def test_a_client_goes_on_where_a_position_was_committed() -> None:
    with Kafkaesque() as k:
        k.extend("t", "abc")
        k.commit("g", "t", 2)
        assert foreign.committed(k.bootstrap_servers, "g", "t").offset == 2
        foreign.commit(k.bootstrap_servers, "h", TopicPartition("t", 0, 1))
        assert k.committed("h", "t") == 1


def test_it_serves_on_as_many_ports_as_it_is_told_to() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        k = Kafkaesque()
        with pytest.raises(RuntimeError, match=r"does not serve yet: use it in a `with`"):
            _ = k.bootstrap_servers
        with pytest.raises(StartError, match="is in use"):
            k.serve(port=taken.getsockname()[1])
    first = k.serve()
    both = k.serve("localhost")
    assert both.split(",")[0] == first
    assert k.bootstrap_servers == both
    k.put("t", "x")
    with k:
        assert k.bootstrap_servers == both
        for server in both.split(","):
            assert foreign.values(foreign.read(server, "t", 1)) == [b"x"]


def _has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


@pytest.mark.skipif(not _has_ipv6(), reason="this machine has no IPv6 loopback")
def test_an_ipv6_address_is_one_that_clients_can_read() -> None:
    k = Kafkaesque()
    server = k.serve("::1")
    k.put("t", "x")
    assert server.startswith("[::1]:")
    assert foreign.values(foreign.read(server, "t", 1)) == [b"x"]
    k.close()


def test_settings_are_the_brokers_by_kafkas_names() -> None:
    with Kafkaesque(settings={"num.partitions": "3"}) as k:
        foreign.produce(k.bootstrap_servers, "t", ["x"], partition=2)
        assert k.topic("t").partitions == 3


@pytest.mark.parametrize("kind", ["create", "append"])
def test_an_event_has_its_headers_and_says_who_gave_its_time(kind: str) -> None:
    by_broker = "LogAppendTime" if kind == "append" else "CreateTime"
    with Kafkaesque() as k:
        topic = foreign.create_topic(
            k.bootstrap_servers, configs={"message.timestamp.type": by_broker}
        )
        producer = Producer({"bootstrap.servers": k.bootstrap_servers, "log_level": 0})
        producer.produce(topic, b"v", headers=[("a", b"1"), ("a", None)], timestamp=99)
        producer.flush(foreign.TIMEOUT_S)
        group = k.group("g")
        group.join("reader")
        event = group.next("reader", foreign.TIMEOUT_S)
    assert event is not None
    assert (event.headers, event.timestamp_type) == ([("a", b"1"), ("a", None)], kind)
    assert (event.timestamp == 99) == (kind == "create")
