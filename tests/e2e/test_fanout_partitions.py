"""Only the partitions that can match are fetched, whoever writes; and nothing is lost by that.

What is fetched is told by the server, and counted by a proxy between it and the broker.
"""

import json
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.request import urlopen

import pytest
from confluent_kafka.admin import NewPartitions
from tests import foreign
from tests.broker_process import BrokerProcess
from tests.counting_proxy import CountingProxy
from tests.fanout_lives import Life, Wish
from tests.fanout_process import FanoutProcess
from tests.keyed_writers import CRC32, MURMUR2, WRITERS, Write
from tests.plain_log import plain_log
from websockets.sync.client import ClientConnection, connect

pytestmark = pytest.mark.slow

PARTITIONS = 12
KEYS = [f"key-{number}" for number in range(400)]
KEYS_PER_PARTITION = 5
ROUNDS = 60
VALUE = "v" * 512
FETCH, OFFSET_COMMIT, JOIN_GROUP = 1, 8, 11


@dataclass(frozen=True)
class Counted:
    """A fan-out, and the proxy that it reads through."""

    bootstrap: str
    proxy: CountingProxy
    fanout: FanoutProcess

    def stats(self) -> dict[str, Any]:
        with urlopen(f"{self.fanout.url}/stats", timeout=foreign.TIMEOUT_S) as answer:
            found: dict[str, Any] = json.load(answer)
            return found

    def partitions_read(self, topic: str) -> int:
        found: int = self.stats()["topics"][topic]["partitions_read"]
        return found

    def fetched(self) -> tuple[int, int]:
        """As the server tells, and as the proxy has counted."""
        return self.stats()["bytes_fetched"], self.proxy.answered_bytes[FETCH]


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Counted]:
    directory = tmp_path_factory.mktemp("partitions")
    with (
        CountingProxy() as proxy,
        BrokerProcess(directory / "data", "--advertise", proxy.address) as broker,
    ):
        proxy.forward_to(broker.port)
        with FanoutProcess(
            proxy.address, directory / "fanout.log", "--metadata-interval", "0.5"
        ) as fanout:
            yield Counted(broker.bootstrap, proxy, fanout)
            assert "Traceback" not in fanout.log


@contextmanager
def subscribed(counted: Counted, life: Life) -> Iterator[ClientConnection]:
    url = counted.fanout.url.replace("http", "ws") + "/v1"
    with connect(url, compression=None, open_timeout=60) as connection:
        connection.send(life.request)
        assert life.take(connection.recv(foreign.TIMEOUT_S)) == "subscribed"
        yield connection


def life_of(key: str, topic: str) -> Life:
    return Life(Wish({"key": key}, lambda message: message.key() == key.encode()), topic, "pause")


def receive(life: Life, connection: ClientConnection, count: int) -> None:
    while len(life.delivered) < count:
        life.take(connection.recv(foreign.TIMEOUT_S))


def leave(life: Life, connection: ClientConnection) -> None:
    connection.send('{"type":"unsubscribe","id":1}')
    while life.take(connection.recv(foreign.TIMEOUT_S)) != "unsubscribed":
        pass


def check(life: Life, counted: Counted, partitions: int = PARTITIONS) -> None:
    """It got all of its key that a plain consumer finds since it came."""
    log = plain_log(counted.bootstrap, life.topic, partitions)
    life.check(log)
    wanted = {
        place
        for place, message in log.items()
        if life.wish.matches(message) and place[1] >= life.start.get(place[0], 0)
    }
    assert set(life.delivered) == wanted


def learned(counted: Counted, topic: str, write: Write) -> dict[str, int]:
    """Let the fan-out see where keys are put: where they are."""
    placed = write(counted.bootstrap, topic, [(key, "first") for key in KEYS])
    foreign.until(lambda: counted.partitions_read(topic) == 1)
    return placed


@pytest.mark.parametrize("writer", WRITERS)
def test_one_key_of_twelve_partitions_costs_a_twelfth(counted: Counted, writer: str) -> None:
    write = WRITERS[writer]
    topic = foreign.create_topic(counted.bootstrap, partitions=PARTITIONS)
    life = life_of(KEYS[0], topic)
    with subscribed(counted, life) as connection:
        placed = learned(counted, topic, write)
        receive(life, connection, 1)
        keys_of: dict[int, list[str]] = defaultdict(list)
        for key, partition in placed.items():
            keys_of[partition].append(key)
        # Every partition gets the same, so that a twelfth is a twelfth.
        keys = [key for each in keys_of.values() for key in each[:KEYS_PER_PARTITION]]
        assert len(keys) == PARTITIONS * KEYS_PER_PARTITION
        before = counted.fetched()
        assert write(counted.bootstrap, topic, [(key, VALUE) for key in keys * ROUNDS]) == {
            key: placed[key] for key in keys
        }
        produced = sum(len(key) + len(VALUE) for key in keys) * ROUNDS
        receive(life, connection, 1 + ROUNDS)
        foreign.until(
            lambda: (
                counted.stats()["topics"][topic]["lag"] == 0
                and counted.fetched()[0] - before[0] >= produced / PARTITIONS
            )
        )
        told, passed = (now - then for now, then in zip(counted.fetched(), before, strict=True))
        assert produced / PARTITIONS <= told <= produced / PARTITIONS * 1.1
        assert told <= passed <= produced / PARTITIONS * 1.1
        leave(life, connection)
    check(life, counted)
    assert_no_group(counted)


@pytest.mark.parametrize("order", [("murmur2", "crc32"), ("crc32", "kafka-python")])
def test_a_contradiction_leads_to_all_partitions(counted: Counted, order: tuple[str, str]) -> None:
    """A second producer that places keys elsewhere: its records are not lost, however late that
    is noticed."""
    first, second = (WRITERS[name] for name in order)
    topic, other = (
        foreign.create_topic(counted.bootstrap, partitions=PARTITIONS) for _ in range(2)
    )
    elsewhere = second(counted.bootstrap, other, [(key, "where?") for key in KEYS])
    life = life_of(KEYS[0], topic)
    with subscribed(counted, life) as connection:
        placed = learned(counted, topic, first)
        receive(life, connection, 1)
        home = placed[life.wish.request["key"]]
        assert elsewhere[KEYS[0]] != home
        # None of these lands in the partition that is read: nobody notices.
        unseen = [key for key in KEYS if elsewhere[key] != home]
        second(counted.bootstrap, topic, [(key, "unseen") for key in unseen])
        assert counted.partitions_read(topic) == 1
        revealing = [key for key in KEYS if elsewhere[key] == home != placed[key]]
        second(counted.bootstrap, topic, [(revealing[0], "here I am")])
        receive(life, connection, 2)
        foreign.until(lambda: counted.partitions_read(topic) == PARTITIONS)
        for write in (first, second):
            write(counted.bootstrap, topic, [(key, "after") for key in KEYS])
        receive(life, connection, 4)
        leave(life, connection)
    check(life, counted)


def test_a_topic_that_grows_is_learned_anew(counted: Counted) -> None:
    """Keys move to other partitions, and new partitions are read from their first record on."""
    topic = foreign.create_topic(counted.bootstrap, partitions=PARTITIONS)
    life = life_of(KEYS[0], topic)
    with subscribed(counted, life) as connection:
        learned(counted, topic, MURMUR2)
        grown = PARTITIONS + 5
        made = foreign.admin(counted.bootstrap).create_partitions([NewPartitions(topic, grown)])
        made[topic].result(foreign.TIMEOUT_S)
        # Into partitions that the fan-out does not know yet.
        placed = MURMUR2(counted.bootstrap, topic, [(key, "grown") for key in KEYS])
        assert max(placed.values()) == grown - 1
        receive(life, connection, 2)
        foreign.until(lambda: counted.stats()["topics"][topic]["partitions"] == grown)
        MURMUR2(counted.bootstrap, topic, [(key, "again") for key in KEYS])
        receive(life, connection, 3)
        foreign.until(lambda: counted.partitions_read(topic) == 1)
        leave(life, connection)
    check(life, counted, grown)


def test_a_topic_that_is_made_later_is_found(counted: Counted) -> None:
    name = foreign.name("later")
    url = counted.fanout.url.replace("http", "ws") + "/v1"
    life = life_of(KEYS[0], name)
    with connect(url) as connection:
        connection.send(life.request)
        refused = json.loads(connection.recv(foreign.TIMEOUT_S))
        assert refused["type"] == "error"
        assert f"there is no topic '{name}'" in refused["message"]
    foreign.create_topic(counted.bootstrap, name, partitions=PARTITIONS)
    with subscribed(counted, life) as connection:
        CRC32(counted.bootstrap, name, [(key, "found") for key in KEYS])
        receive(life, connection, 1)
        leave(life, connection)
    check(life, counted)
    foreign.until(lambda: name in counted.fanout.log)


def assert_no_group(counted: Counted) -> None:
    listed = foreign.admin(counted.bootstrap).list_consumer_groups().result(foreign.TIMEOUT_S)
    assert (listed.valid, listed.errors) == ([], [])
    assert not any(counted.proxy.requests[api] for api in (OFFSET_COMMIT, JOIN_GROUP))
